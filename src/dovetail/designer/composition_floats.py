"""Figures of many uses in floats, with their derivatives: what the search turns on.

The loss of one use takes the values ±rate. They are put on a fine grid, tilted towards the region of interest
and convolved by one Fourier transform; the derivatives come from a second one. No bound is kept: what a
search finds is checked by exact means.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from dovetail.privacy.spectrum import power

Floats = NDArray[np.float64]

_LARGEST_TILT = 600.0
_DEVIATIONS = 12
_TILT_STEPS = 50
# How near the mean must come to its goal, in squared deviations of one loss.
_TILT_CLOSE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """The log of a figure and its derivatives by the values and masses of the loss, and by epsilon."""

    log: float
    by_values: Floats
    by_masses: Floats
    by_epsilon: float = 0.0


class TiltedSum:
    """The sum of `uses` independent losses under weights exp(tilt·sum)."""

    def __init__(self, values: Floats, masses: Floats, uses: int, tilt: float, grid: float) -> None:
        self.values, self.uses, self.tilt, self.grid = values, uses, tilt, grid
        growth = np.exp(tilt * values)
        self.scale = float((masses * growth).sum())
        self.growth, self.weights = growth / self.scale, masses * growth / self.scale
        self.first, self.size = self._window()
        # Connect the dots: a value becomes its two neighbours on the grid, with the same mass under P and Q.
        above = np.ceil(values / grid)
        self.gap = above * grid - values
        self.share = np.expm1(self.gap) / np.expm1(grid)
        places = above.astype(np.int64)
        self.ends = np.concatenate([places - 1, places]) % self.size
        self.lift = np.exp(tilt * np.concatenate([self.gap - grid, self.gap]))
        parts = np.concatenate([self.weights * self.share, self.weights * (1 - self.share)]) * self.lift
        self.vector = np.bincount(self.ends, parts, self.size)
        self.one = np.fft.rfft(self.vector)
        self.steps = self.first + np.arange(self.size)
        self.sums = self.steps * grid

    def _window(self) -> tuple[int, int]:
        """Return the first step of a window that holds the sum, and its size as a power of two."""
        mean = float((self.weights * self.values).sum())
        variance = float((self.weights * (self.values - mean) ** 2).sum())
        reach = _DEVIATIONS * sqrt(max(variance, 1e-300) * self.uses) + 4 * self.grid
        # Each use may be moved by a step on its way to the grid.
        low = max(self.uses * (float(self.values.min()) - self.grid), self.uses * mean - reach)
        high = min(self.uses * (float(self.values.max()) + self.grid), self.uses * mean + reach)
        first = int(low // self.grid)
        return first, 1 << max(ceil(high / self.grid) - first + 1, 8).bit_length()

    def mean_of(self, kernel: Floats, offset: float = 0.0) -> Figure:
        """Return ln of exp(offset)·E[f(sum)], where `kernel` is f·exp(-tilt·sum) at each of `sums`."""
        turned = np.empty(self.size)
        turned[self.steps % self.size] = kernel
        rest = power(self.one, self.uses - 1)
        reply = np.fft.irfft(np.conj(rest) * np.fft.rfft(turned), self.size)
        total = max(float((self.vector * reply).sum()), 1e-300)
        at = reply[self.ends] * self.lift
        low, high = at[: len(self.values)], at[len(self.values) :]
        by_masses = self.uses / total * self.growth * (self.share * low + (1 - self.share) * high)
        # The share of the lower end moves with the value; the ends stay, and so do the tilts at them.
        by_values = self.uses / total * self.weights * (high - low) * np.exp(self.gap) / np.expm1(self.grid)
        return Figure(log(total) + self.uses * log(self.scale) + offset, by_values, by_masses)

    def log_mean_of(self, kernel: Floats, offset: float = 0.0) -> float:
        """Return what `mean_of` does, without its derivatives."""
        whole = np.fft.irfft(power(self.one, self.uses), self.size)
        total = max(float((whole[self.steps % self.size] * kernel).sum()), 1e-300)
        return log(total) + self.uses * log(self.scale) + offset


def log_delta_alone(values: Floats, masses: Floats, uses: int, epsilon: float, grid: float) -> float:
    """Return what `log_delta` does, without its derivatives and in a third of the time."""
    if uses == 1:
        return _one_delta(values, masses, epsilon).log
    tilt = _tilt(values, masses, epsilon / uses)
    tilted = TiltedSum(values, masses, uses, tilt, grid)
    past = np.maximum(tilted.sums - epsilon, 0.0)
    return tilted.log_mean_of(-np.expm1(-past) * np.exp(-tilt * past), -tilt * epsilon)


def log_delta(values: Floats, masses: Floats, uses: int, epsilon: float, grid: float) -> Figure:
    """Return ln delta(epsilon) of `uses` independent losses; `grid` is the spacing of the grid."""
    if uses == 1:
        return _one_delta(values, masses, epsilon)
    tilt = _tilt(values, masses, epsilon / uses)
    tilted = TiltedSum(values, masses, uses, tilt, grid)
    past = np.maximum(tilted.sums - epsilon, 0.0)
    found = tilted.mean_of(-np.expm1(-past) * np.exp(-tilt * past), -tilt * epsilon)
    # delta falls by the mass that Q has above epsilon, times exp(epsilon).
    falls = tilted.log_mean_of(np.where(past > 0, np.exp(-(1 + tilt) * past), 0.0), -tilt * epsilon)
    return Figure(found.log, found.by_values, found.by_masses, -exp(min(falls - found.log, 700.0)))


def zeta_of(values: Floats, masses: Floats, uses: int, grid: float) -> Figure:
    """Return ln zeta of `uses` independent losses together.

    exp(zeta) = E[exp S; S > 0] + P(S >= 0): where S <= 0, exp(-S)·P is Q, which is P mirrored.
    """
    upper = TiltedSum(values, masses, uses, 1.0, grid)
    right = upper.mean_of((upper.steps > 0).astype(np.float64))
    plain = TiltedSum(values, masses, uses, 0.0, grid)
    left = plain.mean_of((plain.steps >= 0).astype(np.float64))
    top = max(right.log, left.log)
    shares = exp(right.log - top), exp(left.log - top)
    zeta = top + log(sum(shares))
    first, second = (share / sum(shares) / max(zeta, 1e-300) for share in shares)
    return Figure(
        log(max(zeta, 1e-300)),
        first * right.by_values + second * left.by_values,
        first * right.by_masses + second * left.by_masses,
    )


def _tilt(values: Floats, masses: Floats, goal: float) -> float:
    """Return about the tilt that brings the mean of one loss to `goal`, within limits.

    Any tilt gives the same figures but for rounding, so a few steps of Newton's method are enough.
    """
    top = float(values.max())
    if goal >= top:
        return _LARGEST_TILT / top / 4
    low, high, tilt = 0.0, _LARGEST_TILT / top, 0.0
    for _ in range(_TILT_STEPS):
        weights = masses * np.exp(tilt * (values - top))
        weights /= weights.sum()
        mean = float((weights * values).sum())
        variance = float((weights * (values - mean) ** 2).sum())
        low, high = (tilt, high) if mean < goal else (low, tilt)
        off = goal - mean
        if off * off <= _TILT_CLOSE * variance or high <= low:
            break
        tilt += off / max(variance, 1e-300)
        if not low < tilt < high:
            tilt = (low + high) / 2
    return tilt


def _one_delta(values: Floats, masses: Floats, epsilon: float) -> Figure:
    beyond = values > epsilon
    parts = np.where(beyond, -np.expm1(np.minimum(epsilon - values, 0)), 0.0)
    total = max(float((masses * parts).sum()), exp(-700))
    tail = np.where(beyond, masses * np.exp(np.minimum(epsilon - values, 0)), 0.0)
    return Figure(log(total), tail / total, parts / total, -float(tail.sum()) / total)
