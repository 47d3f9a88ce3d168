"""Piecewise noise in mpmath, straight from its definition: no code and no formula is shared with the package.

Everything is a difference of two infinite tails, in 200 digits; what cancels (at most some 60 digits within
the ranges that the tests use) leaves far more than the 50 digits that a comparison needs.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import mpmath

mp = mpmath.MPContext()
mp.dps = 200


def number(value: Any) -> Any:
    """Return an exact number (a float counts as the binary number it is) in 200 digits."""
    exact = Fraction(value)
    return mp.mpf(exact.numerator) / exact.denominator


def relative_error(found: float, truth: Any) -> float:
    """Return |found - truth| / |truth|; what no normal float can hold counts as right if it is tiny, too."""
    if abs(truth) < mp.mpf("1e-300"):
        return 0.0 if abs(found) < 1e-299 else float("inf")
    return float(abs(mp.mpf(found) - truth) / abs(truth))


class PieceOracle:
    """exp(-phi(|x|)) on the integers (`whole`) or on the reals, piece by piece."""

    def __init__(self, rates: Any, breaks: Any, *, whole: bool) -> None:
        self.whole = whole
        self.rates = [number(rate) for rate in rates]
        self.starts = [mp.mpf(0), *(number(point) for point in breaks)]
        self.levels = [mp.mpf(0)]
        for i in range(1, len(self.rates)):
            self.levels.append(self.levels[-1] + self.rates[i - 1] * (self.starts[i] - self.starts[i - 1]))
        self.half = [self._from(mp.mpf(0), power) for power in (0, 1, 2)]
        self.total = 2 * self.half[0] - (1 if whole else 0)
        # Both sides of zero, and every figure at one point, ask for the same tails.
        self.tail = cache(self._tail)

    def phi(self, x: Any) -> Any:
        """Return the potential at x >= 0."""
        i = max(j for j, start in enumerate(self.starts) if j == 0 or start <= x)
        return self.levels[i] + self.rates[i] * (x - self.starts[i])

    def _endless(self, i: int, x: Any, power: int) -> Any:
        """Return the sum or integral of y^power · exp(-rate·(y - start)) over y >= x."""
        rate = self.rates[i]
        front = mp.exp(-rate * (x - self.starts[i]))
        if not self.whole:
            return (
                front * [1 / rate, x / rate + 1 / rate**2, x**2 / rate + 2 * x / rate**2 + 2 / rate**3][power]
            )
        q = mp.exp(-rate)
        p = 1 - q
        return (
            front
            * [
                1 / p,
                (x * p + q) / p**2,
                (x * x * p * p + 2 * x * q * p + q * (1 + q)) / p**3,
            ][power]
        )

    def _from(self, x: Any, power: int) -> Any:
        """Return the unnormalised sum or integral of y^power over y >= x >= 0."""
        total = mp.mpf(0)
        for i in range(len(self.rates)):
            end = self.starts[i + 1] if i + 1 < len(self.rates) else None
            if end is not None and end <= x:
                continue
            part = self._endless(i, max(x, self.starts[i]), power)
            if end is not None:
                part -= self._endless(i, end, power)
            total += mp.exp(-self.levels[i]) * part
        return total

    def density(self, x: Any) -> Any:
        """Return the probability or density at x."""
        return mp.exp(-self.phi(abs(number(x)))) / self.total

    def _tail(self, x: Any) -> Any:
        """Return P(Y >= x) for x >= 0 (on the integers: for whole x >= 1)."""
        return self._from(number(x), 0) / self.total

    def sf(self, x: Any) -> Any:
        """Return P(Y > x)."""
        if self.whole:
            k = int(Fraction(x) // 1)
            return self.tail(k + 1) if k >= 0 else 1 - self.tail(-k)
        return self.tail(x) if x >= 0 else 1 - self.tail(-Fraction(x))

    def cdf(self, x: Any) -> Any:
        """Return P(Y <= x)."""
        if self.whole:
            k = int(Fraction(x) // 1)
            return self.tail(-k) if k < 0 else 1 - self.tail(k + 1)
        return self.tail(-Fraction(x)) if x < 0 else 1 - self.tail(x)

    def within(self, t: Any) -> Any:
        """Return P(|Y| <= t) for t >= 0."""
        return 1 - 2 * (self.tail(int(Fraction(t) // 1) + 1) if self.whole else self.tail(t))

    def mean_abs(self) -> Any:
        """Return E|Y|."""
        return 2 * self.half[1] / self.total

    def variance(self) -> Any:
        """Return E Y²."""
        return 2 * self.half[2] / self.total

    def entropy(self) -> Any:
        """Return ln Z + E phi(|Y|)."""
        expected = mp.mpf(0)
        for i, (start, level, rate) in enumerate(zip(self.starts, self.levels, self.rates, strict=True)):
            end = self.starts[i + 1] if i + 1 < len(self.rates) else None
            sums = []
            for power in (0, 1):
                part = self._endless(i, start, power)
                sums.append(mp.exp(-level) * (part if end is None else part - self._endless(i, end, power)))
            expected += (level - rate * start) * sums[0] + rate * sums[1]
        return mp.log(self.total) + 2 * expected / self.total


class RoundedOracle:
    """The integer nearest to the noise of a real `PieceOracle`."""

    def __init__(self, rates: Any, breaks: Any) -> None:
        self.real = PieceOracle(rates, breaks, whole=False)

    def tail(self, k: int) -> Any:
        """Return P(Y >= k) for k >= 1."""
        return self.real.tail(k - Fraction(1, 2))

    def density(self, k: int) -> Any:
        """Return P(Y = k)."""
        k = abs(int(k))
        return 1 - 2 * self.tail(1) if k == 0 else self.tail(k) - self.tail(k + 1)

    def sf(self, x: Any) -> Any:
        """Return P(Y > x)."""
        k = int(Fraction(x) // 1)
        return self.tail(k + 1) if k >= 0 else 1 - self.tail(-k)

    def cdf(self, x: Any) -> Any:
        """Return P(Y <= x)."""
        k = int(Fraction(x) // 1)
        return self.tail(-k) if k < 0 else 1 - self.tail(k + 1)

    def within(self, t: Any) -> Any:
        """Return P(|Y| <= t) for t >= 0."""
        return 1 - 2 * self.tail(int(Fraction(t) // 1) + 1)


def oracle(noise: Any) -> Any:
    """Return the oracle of a noise, from its rates, breaks and kind alone."""
    return _oracle(noise.kind, tuple(noise.rates), tuple(noise.breaks))


@lru_cache(maxsize=8)
def _oracle(kind: str, rates: tuple[Any, ...], breaks: tuple[Any, ...]) -> Any:
    if kind == "rounded-laplace":
        return RoundedOracle(rates, breaks)
    return PieceOracle(rates, breaks, whole=kind == "piecewise-geometric")
