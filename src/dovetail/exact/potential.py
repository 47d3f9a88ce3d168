"""The potential phi: continuous, symmetric and piecewise linear, kept in exact rationals."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import cached_property


class Potential:
    """phi(x) = rates[0]·|x| up to breaks[0], then rates[1] more per unit, and so on.

    >>> phi = Potential((Fraction(1, 5), Fraction(1)), (Fraction(5),))
    >>> phi(Fraction(-7))
    Fraction(3, 1)
    """

    def __init__(self, rates: tuple[Fraction, ...], breaks: tuple[Fraction, ...]) -> None:
        self.rates, self.breaks = rates, breaks

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """phi at the start of each piece."""
        levels = [Fraction(0)]
        start = Fraction(0)
        for rate, end in zip(self.rates, self.breaks, strict=False):
            levels.append(levels[-1] + rate * (end - start))
            start = end
        return tuple(levels)

    def piece(self, x: Fraction) -> int:
        """Return the number of the piece that holds |x|; a break belongs to the piece that it starts."""
        return bisect_right(self.breaks, abs(x))

    def __call__(self, x: Fraction | int) -> Fraction:
        distance = abs(Fraction(x))
        number = self.piece(distance)
        start = self.breaks[number - 1] if number else Fraction(0)
        return self.levels[number] + self.rates[number] * (distance - start)
