"""From a distribution of the loss to delta(epsilon) and back, and to the chance of a loss above a limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, inf, log, log1p, nextafter

import numpy as np

from .atoms import LEAST_MASS, ROUNDING, Floats


@dataclass(frozen=True, eq=False)
class Curve:
    """delta(epsilon) = constant + sum of mass·(1 - exp(epsilon - value)) over the values above epsilon.

    Values ascend; masses (as logs) and the constant are upper bounds, so delta is one too. The curve holds
    from `start` on: below it there are values that were left out.
    """

    values: Floats
    log_masses: Floats
    constant: float = 0.0
    start: float = -inf

    @cached_property
    def _log_slopes(self) -> Floats:
        """ln of the sum of mass·exp(value_j - value) over the values from value_j on, for each j."""
        weights = self.log_masses - self.values
        return np.logaddexp.accumulate(weights[::-1])[::-1] + self.values

    @cached_property
    def _log_deltas(self) -> Floats:
        """ln of the sum at epsilon = value_j, without the constant: a sum of positive terms only."""
        with np.errstate(divide="ignore"):  # losses closer than floats are
            steps = np.log(-np.expm1(-np.diff(self.values)))
        gains = self._log_slopes[1:] + steps
        return np.append(np.logaddexp.accumulate(gains[::-1])[::-1], -inf)

    @cached_property
    def _excess(self) -> float:
        """By how much, relatively, sums of logs of this length and size may be too small."""
        sizes = np.abs(self._log_slopes - self.values)
        worst = float(sizes.max() + np.abs(self.log_masses).max() + np.abs(self.values).max()) + 16
        blur = (len(self.values) + 8) * worst * 2.0**-52
        return expm1(blur) if blur < 1 else inf

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at `epsilon`."""
        return float(self.deltas(np.array([epsilon]))[0])

    def deltas(self, epsilons: Floats) -> Floats:
        """Return an upper bound on delta at each epsilon."""
        if not len(self.values):
            return np.full(len(epsilons), min(self.constant, 1.0))
        place = np.searchsorted(self.values, epsilons, side="right")
        beyond = place == len(self.values)
        at = np.where(beyond, 0, place)
        slope = np.exp(np.minimum(self._log_slopes[at], 700.0))
        rest = np.expm1(np.minimum(epsilons - self.values[at], 0.0))
        tail = np.exp(np.minimum(self._log_deltas[at], 700.0)) - slope * rest
        found = np.nextafter((tail + LEAST_MASS) * (1 + self._excess) + self.constant, inf)
        return np.minimum(np.where(beyond, self.constant, found), 1.0)

    def least_deltas(self, epsilons: Floats) -> Floats:
        """Return a lower bound on delta at each epsilon, of masses and values that err by rounding alone."""
        return self.deltas(epsilons) * (1 - 2 * self._excess)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the least epsilon from `start` on with at most `delta`, never below 0.

        Every step of the computation is monotone, so a larger delta never has a larger epsilon.
        """
        if delta >= 1:
            return max(self.start, 0.0)
        if not len(self.values):
            return max(self.start, 0.0) if delta >= self.constant else inf
        target = (delta - self.constant) / (1 + self._excess)
        if target <= 0:
            return inf
        place = int(np.searchsorted(-self._log_deltas, -log(target), side="left"))
        # Far to the left of the curve the slope is nothing beside the target; no float holds the ratio.
        below, there = (
            min(figure - self._log_slopes[place], 700.0) for figure in (log(target), self._log_deltas[place])
        )
        share = exp(below) - exp(there)
        value = float(self.values[place])
        guess = value + (log1p(-share) if share < 1 else -inf)
        # Between this value and the one before it lies all that other targets of this place can have.
        least = float(self.values[place - 1]) if place else -inf
        guess = min(max(guess, least, self.start, 0.0), max(value, self.start, 0.0))
        step = max(guess, 1e-3) * ROUNDING
        guess = guess + 4 * step if guess > max(self.start, 0.0) else guess
        while self.delta(guess) > delta:
            guess, step = guess + step, 2 * step
        return guess

    def above(self, limit: float) -> float:
        """Return an upper bound on the mass of the values above `limit`."""
        masses = self.log_masses[np.searchsorted(self.values, limit, side="right") :]
        total = float(np.sum(np.exp(np.minimum(masses, 700.0))))
        if not total:
            return min(self.constant, 1.0)
        return min(nextafter(total * (1 + (len(masses) + 64) * ROUNDING) + self.constant, inf), 1.0)
