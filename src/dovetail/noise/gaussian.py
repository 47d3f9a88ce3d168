"""The discrete Gaussian, p(k) ~ exp(-k²/(2·sigma²)): the comparator that has no pure guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np
from flint import arb

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.errors.values import exact_text
from dovetail.exact import ball, nearest
from dovetail.exact.gaussian_sums import GaussianSums

from .arrays import Floats
from .geometric import PiecewiseGeometric
from .integer import IntegerNoise
from .piecewise import literal

_FIX = "Give the scale of the noise, for example 5."
_LEAST, _MOST = Fraction(1, 1000), Fraction(10**15)
# Below this scale a table of tails is short; above it the Euler-Maclaurin formula has converged.
_NARROW = 64
# B_2m / (2m)! for the corrections to an integral.
_CORRECTIONS = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)
# Where the weights fall faster than this a step, few of them make the whole tail.
_STEEP = 0.125
_DEEPEST = 40
_CHORDS = 9
# A draw that is rejected all but surely is left to exact arithmetic.
_SURE = 64.0


@dataclass(frozen=True, repr=False)
class DiscreteGaussian(IntegerNoise):
    """Noise on the integers with p(k) ~ exp(-k²/(2·sigma²)).

    Its loss has no upper end, so only a budget with a delta can pay for it.

    >>> DiscreteGaussian(2)
    DiscreteGaussian(sigma=2)
    >>> round(DiscreteGaussian(2).variance(), 9)
    4.0
    """

    sigma: Fraction
    kind: ClassVar[str] = "discrete-gaussian"

    def __init__(self, sigma: Real) -> None:
        scale = check.positive("sigma", sigma, _FIX)
        if not _LEAST <= scale <= _MOST:
            raise InvalidParameter("sigma", sigma, "a number from 0.001 to 1e15", _FIX)
        object.__setattr__(self, "sigma", scale)

    def __repr__(self) -> str:
        return f"DiscreteGaussian(sigma={literal(self.sigma)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return DiscreteGaussian, (self.sigma,)

    @cached_property
    def _exact(self) -> GaussianSums:
        return GaussianSums(self.sigma)

    @cached_property
    def _scale(self) -> float:
        return float(self.sigma)

    @cached_property
    def _log_total(self) -> float:
        return nearest(lambda: self._exact.total().log())

    @property
    def exponent(self) -> Fraction:
        """1 / (2·sigma²): p(k) ~ exp(-exponent·k²)."""
        return 1 / (2 * self._exact.square)

    @cached_property
    def _ratios(self) -> Floats:
        """P(Y >= k) / P(Y = k) for k = 0, 1, …, of a narrow noise; each from the next, so errors shrink."""
        last = ceil(_DEEPEST * self._scale) + 2
        ratios = np.empty(last + 1)
        ratios[last] = self._summed(np.array([float(last)]))[0]
        falls = np.exp(-(2 * np.arange(last) + 1.0) * float(self.exponent))
        for k in range(last - 1, -1, -1):
            ratios[k] = 1 + falls[k] * ratios[k + 1]
        return ratios

    def _summed(self, k: Floats) -> Floats:
        """Return P(Y >= k) / P(Y = k) by adding the few terms of a steep tail."""
        exponent = float(self.exponent)
        total, j = np.ones(k.shape), 1
        while True:
            with np.errstate(over="ignore"):
                term = np.exp(-(2 * k + j) * j * exponent)
            total += term
            if np.all(term < 1e-18):
                return total
            j += 1

    def _ratio(self, k: Floats) -> Floats:
        """Return P(Y >= k) / P(Y = k)."""
        if self._scale < _NARROW:
            inside = k < len(self._ratios)
            result = self._ratios[np.where(inside, k, 0).astype(np.intp)]
            if not inside.all():
                result[~inside] = self._summed(k[~inside])
            return result
        from scipy.special import erfcx

        steep = k > _STEEP * self._scale**2
        t = np.where(steep, 1.0, k / self._scale)
        result = self._scale * sqrt(np.pi / 2) * erfcx(t / sqrt(2)) + 0.5 + self._corrections(t)
        if steep.any():
            result[steep] = self._summed(k[steep])
        return np.asarray(result)

    def _corrections(self, t: Floats) -> Floats:
        """Return what Euler and Maclaurin add to the integral, in units of the weight at t·sigma."""
        total, odd, even = np.zeros(t.shape), t, t * t - 1
        for m, factor in enumerate(_CORRECTIONS, start=1):
            total += factor * odd / self._scale ** (2 * m - 1)
            odd = t * even - 2 * m * odd
            even = t * odd - (2 * m + 1) * even
        return total

    def _log_density(self, y: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(-((y / self._scale) ** 2) / 2 - self._log_total)

    def _tail(self, k: Floats) -> Floats:
        return np.asarray(np.exp(self._log_density(k)) * self._ratio(k))

    def _log_tail(self, k: Floats) -> Floats:
        return np.asarray(self._log_density(k) + np.log(self._ratio(k)))

    def _inverse_tail(self, tail: Floats) -> Floats:
        if self._scale < _NARROW:
            tails = self._tail(np.arange(1.0, len(self._ratios)))
            return np.searchsorted(-tails, -tail, side="right").astype(np.float64)
        from scipy.special import ndtri

        return np.asarray(np.maximum(0.5 - self._scale * ndtri(tail), 0))

    def _within(self, t: Floats) -> Floats:
        whole = np.floor(t)
        if self._scale < _NARROW:
            sums = self._sums
            return np.where(t < 0, 0.0, sums[np.clip(whole, 0, len(sums) - 1).astype(np.intp)])
        from scipy.special import erf

        far = 2 * _DEEPEST * self._scale
        at = np.clip(whole, 0, far) / self._scale
        integral = self._scale * sqrt(2 * np.pi) * erf(at / sqrt(2))
        inside = integral + np.exp(-at * at / 2) * (1 - 2 * self._corrections(at))
        return np.where(t < 0, 0.0, np.minimum(inside / np.exp(self._log_total), 1.0))

    @cached_property
    def _sums(self) -> Floats:
        """P(|Y| <= t) for t = 0, 1, …, of a narrow noise."""
        masses = np.exp(self._log_density(np.arange(len(self._ratios), dtype=np.float64)))
        masses[1:] *= 2
        return np.asarray(np.minimum(np.cumsum(masses), 1.0))

    def _tail_here(self, k: int) -> arb:
        return self._exact.tail(k) / self._exact.total()

    def _tails_here(self, points: Sequence[int]) -> list[arb]:
        total = self._exact.total()
        return [tail / total for tail in self._exact.tails(points)]

    def _moment(self, order: int) -> arb:
        return self._exact.moment(order) / self._exact.total()

    def _entropy(self) -> arb:
        return self._exact.total().log() + self._moment(2) * ball(self.exponent)

    # What the sampler asks for where this is wide. The proposal's potential is the polygon through the points
    # (i·step, parabola); above the parabola by (k - a)(a + step - k)·exponent between a and a + step.

    @property
    def _step(self) -> int:
        return max(1, int(self.sigma / 2))

    @cached_property
    def proposal(self) -> PiecewiseGeometric:
        """A piecewise noise close to this one, from which a wide one is drawn by rejection."""
        points = tuple(self._step * i for i in range(1, _CHORDS))
        rates = [(2 * edge + self._step) * self.exponent for edge in (0, *points)]
        return PiecewiseGeometric(rates, points)

    def rejection_exponent(self, k: int) -> Fraction:
        """Return g >= 0 such that a draw k of the proposal is kept with probability exp(-g)."""
        step = self._step
        past = abs(k) - min(abs(k) // step, _CHORDS - 1) * step
        return (step * step // 4 - past * (step - past)) * self.exponent

    def rejection_exponents(self, k: Any) -> Floats:
        """Return `rejection_exponent` as floats off by less than 2^-40, NaN where that is not sure."""
        step, size = self._step, np.abs(k)
        past = (size - np.minimum(size // step, _CHORDS - 1) * step) / step
        result = (0.25 - past * (1 - past)) * float(step * step * self.exponent)
        if step % 2:
            result -= float(self.exponent) / 4
        return np.where(result < _SURE, result, np.nan)

    def stretched(self, d: Real) -> DiscreteGaussian:
        """Return the noise for a query of sensitivity d: sigma · d."""
        return DiscreteGaussian(self.sigma * check.integer("d", d, low=1))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""
        return {"kind": self.kind, "sigma": exact_text(self.sigma)}
