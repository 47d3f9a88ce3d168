"""Noise on the integers: the only kind that is released."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, inf
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from dovetail.exact import precision
from dovetail.exact.bisection import least_whole
from dovetail.sampling import GeometricRun
from dovetail.sampling.ready_draws import sample_ready

from .arrays import Floats, blockwise, lookup, one_minus
from .expectation import expect_integer
from .symmetric import Noise


class IntegerNoise(Noise):
    """A symmetric noise on all of Z; subclasses supply tails as floats and as balls."""

    @abstractmethod
    def _tail(self, k: Floats) -> Floats:
        """Return P(Y >= k) for whole k >= 1."""

    @abstractmethod
    def _log_tail(self, k: Floats) -> Floats:
        """Return ln P(Y >= k) for whole k >= 1."""

    @abstractmethod
    def _inverse_tail(self, tail: Floats) -> Floats:
        """Return a real number near which P(Y >= k) passes `tail`."""

    @abstractmethod
    def _tail_here(self, k: int) -> arb:
        """Return P(Y >= k), k >= 1, as a ball at the working precision."""

    @property
    def _farthest(self) -> float:
        """The largest size that can occur."""
        return inf

    @property
    def runs(self) -> tuple[GeometricRun, ...] | None:
        """The stretches of constant decay of |Y|, or None where there are none; the sampler uses them."""
        return None

    def tail_ball(self, k: int, bits: int) -> arb:
        """Return P(Y >= k), k >= 1, as a ball of about `bits` relative bits."""
        with precision(bits + 32):
            return self._tail_here(k)

    def tail_balls(self, points: Sequence[int], bits: int) -> list[arb]:
        """Return P(Y >= k) for many k >= 1, as `tail_ball` does for one."""
        with precision(bits + 32):
            return self._tails_here(points)

    def _tails_here(self, points: Sequence[int]) -> list[arb]:
        return [self._tail_here(k) for k in points]

    def cdf_ball(self, k: int, bits: int) -> arb:
        """Return P(Y <= k) as a ball of about `bits` relative bits.

        >>> from dovetail.noise import Geometric
        >>> Geometric(1).cdf_ball(0, 20).contains(Geometric(1).cdf(0))
        True
        """
        with precision(bits + 32):
            return self._tail_here(-k) if k < 0 else 1 - self._tail_here(k + 1)

    def cdf(self, x: ArrayLike) -> float | Floats:
        """Return P(Y <= x)."""
        return lookup(self._cdf, x)

    def sf(self, x: ArrayLike) -> float | Floats:
        """Return P(Y > x), to full relative accuracy in the right tail."""
        return lookup(self._sf, x)

    def pmf(self, k: ArrayLike) -> float | Floats:
        """Return P(Y = k); between the integers it is 0."""
        return lookup(self._pmf, k, "k")

    def log_pmf(self, k: ArrayLike) -> float | Floats:
        """Return ln P(Y = k), also where P(Y = k) is too small for a float."""
        return blockwise(self._log_pmf, k, "k")

    def _log_pmf(self, x: Floats) -> Floats:
        between = x != np.floor(x)
        result = self._log_density(np.abs(x, out=x))
        if between.any():
            result[between] = -np.inf
        return result

    def _pmf(self, x: Floats) -> Floats:
        return np.exp(self._log_pmf(x), out=x)

    def _cdf(self, x: Floats) -> Floats:
        right = x >= 0
        return one_minus(self._tail(_nearer_tail(x)), right, out=x)

    def _sf(self, x: Floats) -> Floats:
        left = x < 0
        return one_minus(self._tail(_nearer_tail(x)), left, out=x)

    def _log_sf(self, x: Floats) -> Floats:
        left = x < 0
        result = self._log_tail(_nearer_tail(x))
        with np.errstate(over="ignore"):
            return np.where(left, np.log1p(-np.exp(np.where(left, result, -1))), result)

    def _ppf(self, p: Floats) -> Floats:
        result = np.full(p.shape, np.nan)
        left = (p >= 0) & (p <= 0.5)
        right = (p > 0.5) & (p <= 1)
        result[left] = 0 - self._deepest(p[left])
        # P(Y <= k) >= p where P(Y >= k + 1) <= 1 - p: k is the deepest point whose tail exceeds 1 - p. As our
        # cdf is rounded to 2^-53 there, half of that is allowed, so that ppf(cdf(k)) is k.
        result[right] = self._deepest(np.nextafter(1 - p[right] + 2.0**-54, 1.0))
        result[p == 0.5] = 0  # by symmetry, however wide the noise
        result[p == 0] = -self._farthest
        result[p == 1] = self._farthest
        return result

    def _deepest(self, tail: Floats) -> Floats:
        """Return the largest whole k >= 0 with P(Y >= k) >= tail (0 where even k = 1 has less)."""
        guess = np.floor(self._inverse_tail(np.clip(tail, 5e-324, 0.5)))
        for step in (1, 1, -1, -1):
            beyond = np.maximum(guess + (step > 0), 1)
            enough = self._tail(beyond) >= tail
            guess = np.where(enough if step > 0 else (~enough & (guess >= 1)), guess + step, guess)
        return np.maximum(guess, 0)

    def _outside(self, t: Fraction) -> arb:
        return 2 * self._tail_here(int(t // 1) + 1)

    def _least(self, start: float, holds: Callable[[Fraction], bool]) -> float:
        return least_whole(ceil(start), lambda point: holds(Fraction(point)))

    def expect(self, cost: Callable[[Any], Any]) -> float:
        """Return E cost(Y) for any cost that takes an array of integers.

        >>> from dovetail.noise import Geometric
        >>> round(Geometric(1).expect(lambda k: k * k) - Geometric(1).variance(), 12)
        0.0
        """
        return expect_integer(self._log_tail, self._log_density, cost)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, out: Any = None
    ) -> int | NDArray[np.int64]:
        """Draw exactly this distribution from the operating system's randomness.

        Small arrays come from a block of draws that this process keeps ready; `sampling.sample` keeps none.
        """
        return sample_ready(self, size, out=out)


def _nearer_tail(x: Floats) -> Floats:
    """Make x the k >= 1 of the tail that it cuts off: -floor(x) on the left, floor(x) + 1 on the right."""
    np.floor(x, out=x)
    x += 0.5
    np.abs(x, out=x)
    x += 0.5
    return x
