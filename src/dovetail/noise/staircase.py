"""The staircase noise on the integers (Geng and Viswanath 2014), which equals the geometric for counts.

For sensitivity d its probability stays level over steps: of every d consecutive sizes the first `first` have
one weight and the others exp(-epsilon) of it; the next d have exp(-epsilon) of those. A shift of d then moves
the loss by at most epsilon. For d = 1 a step has room for one size only, and that is the geometric noise; so
for counts the staircase offers nothing new. Its worth shows for sums, through `stretched(d)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, expm1, floor
from typing import Any, ClassVar

import numpy as np
from flint import arb

from dovetail import check
from dovetail.check import Real
from dovetail.errors.values import exact_text
from dovetail.exact import ball, nearest
from dovetail.sampling import GeometricRun

from .arrays import Floats
from .geometric import PiecewiseGeometric
from .integer import IntegerNoise
from .piecewise import literal, read

_EPSILON = "Give the privacy parameter, for example 0.5."
_GAMMA = "Give the share of a step that is high, for example 0.4, or leave it out for the best."
# Beyond this many falls of the weight a float no longer decides anything.
_SURE = 64.0
# Infinity has no place within a period; the probabilities are 0 long before.
_FARTHEST = 1e308


@dataclass(frozen=True, repr=False)
class StaircaseNoise(IntegerNoise):
    """The staircase of pure epsilon for queries of an integer sensitivity.

    >>> StaircaseNoise(1, sensitivity=10)
    Staircase(epsilon=1).stretched(10)
    """

    epsilon: Fraction
    gamma: Fraction | None
    sensitivity: int
    kind: ClassVar[str] = "staircase"

    def __init__(self, epsilon: Real, gamma: Real | None = None, sensitivity: Real = 1) -> None:
        (rate,), _ = read((check.positive("epsilon", epsilon, _EPSILON),), (), whole=True)
        share = None if gamma is None else check.within("gamma", gamma, 0, 1, _GAMMA)
        object.__setattr__(self, "epsilon", rate)
        object.__setattr__(self, "gamma", share)
        object.__setattr__(self, "sensitivity", check.integer("sensitivity", sensitivity, 1, 10**15))

    def __repr__(self) -> str:
        share = "" if self.gamma is None else f", gamma={literal(self.gamma)}"
        wide = "" if self.sensitivity == 1 else f".stretched({self.sensitivity})"
        return f"Staircase(epsilon={literal(self.epsilon)}{share}){wide}"

    def __reduce__(self) -> tuple[Any, ...]:
        return StaircaseNoise, (self.epsilon, self.gamma, self.sensitivity)

    @cached_property
    def first(self) -> int:
        """How many of each d sizes are on the higher level: gamma·d rounded, or the best for E|Y|."""
        if self.gamma is not None:
            return max(1, floor(self.gamma * self.sensitivity + Fraction(1, 2)))
        best = self.sensitivity / (1 + exp(min(float(self.epsilon) / 2, 700)))
        near = {min(max(floor(best) + i, 1), self.sensitivity) for i in (0, 1)}
        return min(sorted(near), key=lambda first: nearest(lambda: self._moment_with(first, 1)))

    # Sums over one period of d sizes, and over all periods; `fall` is exp(-epsilon).

    def _period(self, first: int, fall: arb) -> tuple[arb, arb, arb]:
        """Return the sums of 1, j and j² times the weight over j = 0 … d - 1."""

        def powers(n: int) -> tuple[int, int, int]:
            return n, n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6

        inner, all_ = powers(first), powers(self.sensitivity)
        zero, one, two = (i + (n - i) * fall for i, n in zip(inner, all_, strict=True))
        return zero, one, two

    def _total(self, first: int) -> arb:
        fall = (-ball(self.epsilon)).exp()
        return 2 * self._period(first, fall)[0] / -(-ball(self.epsilon)).expm1() - 1

    def _moment_with(self, first: int, order: int) -> arb:
        fall, rest = (-ball(self.epsilon)).exp(), -(-ball(self.epsilon)).expm1()
        zero, one, two = self._period(first, fall)
        once, twice, thrice = 1 / rest, fall / rest**2, fall * (1 + fall) / rest**3
        d = self.sensitivity
        if order == 1:
            half = d * twice * zero + once * one
        else:
            half = d * d * thrice * zero + 2 * d * twice * one + once * two
        return 2 * half / self._total(first)

    def _moment(self, order: int) -> arb:
        return self._moment_with(self.first, order)

    def _entropy(self) -> arb:
        fall, rest = (-ball(self.epsilon)).exp(), -(-ball(self.epsilon)).expm1()
        zero = self._period(self.first, fall)[0]
        levels = fall / rest**2 * zero + (self.sensitivity - self.first) * fall / rest
        return self._total(self.first).log() + 2 * ball(self.epsilon) * levels / self._total(self.first)

    def _tail_here(self, k: int) -> arb:
        period, place = divmod(k, self.sensitivity)
        fall, rest = (-ball(self.epsilon)).exp(), -(-ball(self.epsilon)).expm1()
        higher, lower = max(self.first - place, 0), self.sensitivity - max(self.first, place)
        here = higher + lower * fall + fall * self._period(self.first, fall)[0] / rest
        return (-ball(self.epsilon * period)).exp() * here / self._total(self.first)

    # The same as floats.

    @cached_property
    def _log_total(self) -> float:
        return nearest(lambda: self._total(self.first).log())

    def _log_density(self, y: Floats) -> Floats:
        period, place = np.divmod(np.minimum(y, _FARTHEST), self.sensitivity)
        return np.asarray(-float(self.epsilon) * (period + (place >= self.first)) - self._log_total)

    def _here(self, k: Floats) -> tuple[Floats, Floats]:
        """Return the period of k, and the tail from k on in units of the period's highest weight."""
        epsilon = float(self.epsilon)
        period, place = np.divmod(np.minimum(k, _FARTHEST), self.sensitivity)
        whole = self.first + (self.sensitivity - self.first) * exp(-epsilon)
        higher, lower = np.maximum(self.first - place, 0), self.sensitivity - np.maximum(self.first, place)
        return period, higher + exp(-epsilon) * (lower + whole / -expm1(-epsilon))

    def _tail(self, k: Floats) -> Floats:
        return np.exp(self._log_tail(k))

    def _log_tail(self, k: Floats) -> Floats:
        period, here = self._here(k)
        return np.asarray(np.log(here) - float(self.epsilon) * period - self._log_total)

    def _inverse_tail(self, tail: Floats) -> Floats:
        epsilon = float(self.epsilon)
        fall = exp(-epsilon)
        after = (self.first + (self.sensitivity - self.first) * fall) / -expm1(-epsilon)
        log_tail = np.log(tail) + self._log_total
        period = np.maximum(np.floor((np.log(after) - log_tail) / epsilon), 0)
        left = np.exp(log_tail + epsilon * period) - fall * after
        low = (self.sensitivity - self.first) * fall
        place = np.where(left > low, self.first + low - left, self.sensitivity - left / fall)
        return np.asarray(np.maximum(period * self.sensitivity + place, 0))

    def _within(self, t: Floats) -> Floats:
        return np.where(t < 0, 0.0, 1 - 2 * self._tail(np.floor(np.maximum(t, 0)) + 1))

    # What the sampler asks for.

    @property
    def runs(self) -> tuple[GeometricRun, ...] | None:
        """One run for counts, where this is the geometric noise; none otherwise."""
        return (GeometricRun(0, None, self.epsilon),) if self.sensitivity == 1 else None

    @cached_property
    def proposal(self) -> PiecewiseGeometric:
        """The geometric noise of the same slope, from which a wide staircase is drawn by rejection."""
        return PiecewiseGeometric((self.epsilon / self.sensitivity,))

    def rejection_exponent(self, k: int) -> Fraction:
        """Return g >= 0 such that a draw k of the proposal is kept with probability exp(-g)."""
        place = abs(k) % self.sensitivity
        return self.epsilon * ((place >= self.first) - Fraction(place - self.first + 1, self.sensitivity))

    def rejection_exponents(self, k: Any) -> Floats:
        """Return `rejection_exponent` as floats off by less than 2^-40, NaN where that is not sure."""
        place = np.abs(k) % self.sensitivity
        gap = (place >= self.first) - (place - self.first + 1) / self.sensitivity
        result = float(self.epsilon) * gap
        return np.where(result < _SURE, result, np.nan)

    def stretched(self, d: Real) -> StaircaseNoise:
        """Return the staircase of the same epsilon for queries of sensitivity d times this one's.

        >>> StaircaseNoise(2).stretched(100).mean_abs() < StaircaseNoise(2).proposal.stretched(100).mean_abs()
        True
        """
        return StaircaseNoise(self.epsilon, self.gamma, self.sensitivity * check.integer("d", d, low=1))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""
        return {
            "kind": self.kind,
            "epsilon": exact_text(self.epsilon),
            "gamma": None if self.gamma is None else exact_text(self.gamma),
            "sensitivity": str(self.sensitivity),
        }
