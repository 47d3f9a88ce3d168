"""Exact sums of exp(-k²/(2·sigma²)) over the integers, as Arb balls.

The sum of all weights, and with k² before them, is that of their Fourier transform (Poisson summation), of
which hardly more than one term counts. A tail is summed by the Euler-Maclaurin formula: its derivatives are
Hermite polynomials, so the remainder has a bound (by Cramér's inequality |He_n(t)| <= 1.0865·sqrt(n!)·
exp(t²/4)). Where weights are narrow it is summed term by term, and a geometric series bounds what is left.
All of them give balls that certainly hold the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt

from flint import arb, ctx

from .balls import ball

# From this scale on the Euler-Maclaurin formula converges soon; up to the next, many tails have a table.
_WIDE, _TABLED = 16, 1024
# Farther out, in units of sigma, few terms make a tail, and the formula converges slowly.
_FAR = 40
# The table of narrow weights reaches to where the tail is about 2^-80; samplers ask for little beyond.
_TABLE_BITS = 80
_MOST_ORDERS = 512


@dataclass(frozen=True)
class GaussianSums:
    """The weights exp(-k²/(2·sigma²)) for all integers k."""

    sigma: Fraction

    @property
    def square(self) -> Fraction:
        """sigma², exactly."""
        return self.sigma * self.sigma

    def weight(self, k: int) -> arb:
        """Return the weight at k."""
        return (-ball(k * k / (2 * self.square))).exp()

    def tail(self, k: int) -> arb:
        """Return the sum of the weights from k >= 1 on."""
        if self.sigma < _WIDE:
            return self.tails([k])[0]
        found = self._by_derivatives(k) if k < _FAR * self.sigma else None
        return self._directly(k) if found is None else found

    def tails(self, points: Sequence[int]) -> list[arb]:
        """Return the sums of the weights from each of many points >= 1 on."""
        if self.sigma >= _TABLED:
            return [self.tail(k) for k in points]
        table = self._table_here()
        return [table[k] if k < len(table) else self._directly(k) for k in points]

    def total(self) -> arb:
        """Return the sum of all weights."""
        return self._by_poisson(0) if self.sigma >= 1 else 1 + 2 * self.tail(1)

    def moment(self, order: int) -> arb:
        """Return the sum of |k|^order · weight over all integers, for order 1 or 2."""
        if order == 2 and self.sigma >= 1:
            return self._by_poisson(2)
        return 2 * (self._moment_directly(order) if self.sigma < _WIDE else self._first_moment())

    def _by_poisson(self, order: int) -> arb:
        """Return the sum of k^order · weight over all integers, for order 0 or 2 and a sigma of at least 1.

        The transform of the weights is sigma·√(2π)·exp(-c·m²) with c = 2·π²·sigma²; k² multiplies it by
        sigma²·(1 - 2·c·m²).
        """
        fall = 2 * arb.pi() ** 2 * ball(self.square)
        negligible = arb(2) ** -(ctx.prec + 8)
        total, m = arb(1), 1
        while True:
            weight, growth = (-fall * m * m).exp(), 2 * fall * m * m
            # Each term is less than half of the one before.
            rest = 4 * weight * (1 + growth)
            if rest < negligible:
                total += rest.union(-rest)
                break
            total += 2 * weight * (1 - growth if order else 1)
            m += 1
        return total * ball(self.sigma) ** (1 + order) * (2 * arb.pi()).sqrt()

    @cached_property
    def _tables(self) -> dict[int, list[arb]]:
        """Tails by the precision they were made with: a sampler asks for many at one."""
        return {}

    def _table_here(self) -> list[arb]:
        known = self._tables.get(ctx.prec)
        if known is None:
            last = isqrt(ceil(2 * self.square * _TABLE_BITS)) + 2
            known = [self._directly(last)]
            for k in range(last - 1, 0, -1):
                known.append(known[-1] + self.weight(k))
            known.append(known[-1])  # for k = 0, which nobody asks for: it makes k the index
            known.reverse()
            self._tables[ctx.prec] = known
        return known

    def _directly(self, k: int) -> arb:
        """Sum from k on in units of the weight at k, until the rest is far below the working precision."""
        half = 1 / (2 * self.square)
        negligible = arb(2) ** -(ctx.prec + 8)
        total, j = arb(0), 0
        while True:
            term = (-ball((2 * k * j + j * j) * half)).exp()
            if term < negligible:
                ratio = (-ball((2 * (k + j) + 1) * half)).exp()
                rest = term / (1 - ratio)
                return self.weight(k) * (total + rest.union(arb(0)))
            total += term
            j += 1

    def _moment_directly(self, order: int) -> arb:
        negligible = arb(2) ** -(ctx.prec + 8)
        total, k = arb(0), 1
        while True:
            term: arb = k**order * self.weight(k)
            if term < negligible * total:
                # From here on each term is less than this part of the one before.
                ratio = (1 + arb(1) / k) ** order * (-ball((2 * k + 1) / (2 * self.square))).exp()
                if ratio < 1:
                    return total + (term / (1 - ratio)).union(arb(0))
            total += term
            k += 1

    def _by_derivatives(self, k: int) -> arb | None:
        """Return the tail by Euler-Maclaurin, or None where that formula does not converge."""
        sigma = ball(self.sigma)
        t = k / sigma
        weight = self.weight(k)
        main = sigma * (arb.pi() / 2).sqrt() * (t / arb(2).sqrt()).erfc() + weight / 2
        goal = main * arb(2) ** -ctx.prec
        bound = 4 * sigma * arb.pi().sqrt() * (t / 2).erfc()
        corrections, odd = arb(0), t
        even = t * t - 1  # He_1 = t and He_2 = t² - 1
        power = 2 * arb.pi() * sigma
        for m in range(1, _MOST_ORDERS):
            corrections += _bernoulli(2 * m) * odd / sigma ** (2 * m - 1)
            rest = bound * _cramer(2 * m) / power ** (2 * m)
            if rest < goal:
                return main + weight * corrections + rest.union(-rest)
            odd = t * even - 2 * m * odd
            even = t * odd - (2 * m + 1) * even
        return None

    def _first_moment(self) -> arb:
        """Return the sum of k·weight over k >= 1 by Euler-Maclaurin: k·f(k) = -sigma²·f'(k)."""
        sigma = ball(self.sigma)
        goal = arb(2) ** -ctx.prec
        total, hermite = arb(1), arb(1)
        for m in range(1, _MOST_ORDERS):
            hermite = -(2 * m - 1) * hermite  # He_2m(0)
            total += _bernoulli(2 * m) * hermite / sigma ** (2 * m)
            rest = 4 * arb.pi().sqrt() * _cramer(2 * m + 1) / (2 * arb.pi() * sigma) ** (2 * m)
            if rest < goal:
                return sigma * sigma * (total + rest.union(-rest))
        raise ArithmeticError("a formula did not converge; please report the parameters that led here")


def _bernoulli(n: int) -> arb:
    """Return B_n / n!."""
    return arb.bernoulli(n) / arb(n).fac()


def _cramer(n: int) -> arb:
    """Return 1.0865·sqrt(n!)."""
    return ball(Fraction(10865, 10000)) * arb(n).fac().sqrt()
