"""Noise on the reals, made of a few stretches of exponential decay: for study, never released as it is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dovetail.exact.bisection import least_float
from dovetail.sampling import Law, sample

from .arrays import Floats, blockwise, one_minus
from .decaying import WithDecay
from .expectation import expect_real


class RealNoise(WithDecay):
    """A symmetric noise with a density of constant decay over a few stretches."""

    def pdf(self, x: ArrayLike) -> float | Floats:
        """Return the density at x."""
        return blockwise(self._pdf, x)

    def log_pdf(self, x: ArrayLike) -> float | Floats:
        """Return the log of the density at x, also where the density is too small for a float."""
        return blockwise(lambda block: self._log_density(np.abs(block)), x)

    def _pdf(self, x: Floats) -> Floats:
        return np.exp(self._log_density(np.abs(x, out=x)), out=x)

    def _cdf(self, x: Floats) -> Floats:
        right = x >= 0
        return one_minus(self._table.tail(np.abs(x, out=x)), right, out=x)

    def _sf(self, x: Floats) -> Floats:
        left = x < 0
        return one_minus(self._table.tail(np.abs(x, out=x)), left, out=x)

    def _log_sf(self, x: Floats) -> Floats:
        result = self._table.log_tail(np.abs(x))
        left = x < 0
        return np.where(left, np.log1p(-np.exp(np.where(left, result, -1))), result)

    def _ppf(self, p: Floats) -> Floats:
        result = np.full(p.shape, np.nan)
        inside = (p > 0) & (p < 1)
        side = p[inside]
        size = self._table.inverse_tail(np.minimum(side, 1 - side))
        result[inside] = np.where(side < 0.5, -size, size)
        result[p == 0.5] = 0.0
        result[p == 0] = -self._table.end[-1]
        result[p == 1] = self._table.end[-1]
        return result

    def _within(self, t: Floats) -> Floats:
        return np.where(t < 0, 0.0, self._table.inner(np.maximum(t, 0)))

    def _outside(self, t: Fraction) -> arb:
        return 2 * self.decay.tail(t)

    def _least(self, start: float, holds: Callable[[Fraction], bool]) -> float:
        return least_float(start, lambda point: holds(Fraction(point)))

    def expect(self, cost: Callable[[Any], Any]) -> float:
        """Return E cost(Y) for any cost that takes an array of floats.

        It is good to about 1e-12, unless the cost has spikes far narrower than the noise.

        >>> from dovetail.noise import Laplace
        >>> round(Laplace(2).expect(abs), 12)
        0.5
        """
        return expect_real(self.decay, self._log_sf, self._log_density, cost)


def lattice_draws(whole: Law, step: Fraction, size: int | tuple[int, ...] | None, out: Any) -> float | Floats:
    """Draw an integer noise, as multiples of `step`; without a size, as many as `out` holds."""
    if size is None and out is not None:
        size = out.shape
    if size is None:
        return sample(whole) * float(step)
    drawn: Floats = np.multiply(sample(whole, size), float(step), out=out)
    return drawn
