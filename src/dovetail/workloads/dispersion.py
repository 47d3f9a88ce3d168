"""Variances and standard deviations, with intervals, from three noisy numbers.

With l <= x <= u, R = u - l and z = 2x - l - u, the released numbers are N, the sum of z and the sum of 2z² -
R². The mean of z² and the mean of z are ratios with intervals of their own; a variance is the difference of
the first and the square of the second. All are in lattice steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf, sqrt

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise

from .ratios import Bounds, Ratios

# Squares of the range must fit where sums of them are kept.
LARGEST_RANGE = 2**26
_CHANCE = "Give the probability of a miss, for example 0.05."
_RANGE = "Use a larger step or narrower bounds."
# With a sample's variance, the share of the chance for the number of rows.
_FOR_ROWS = Fraction(1, 10)


def shifts(width: int) -> tuple[int, int, int]:
    """Return how far one row moves (N, sum of z, sum of 2z² - R²) at most; all can happen together.

    >>> shifts(10)
    (1, 10, 100)
    """
    size = check.integer("high", width, 1, LARGEST_RANGE, _RANGE)
    return 1, size, size * size


def replacements(width: int, boxes: int = 8) -> tuple[tuple[int, int, int], ...]:
    """Return shifts that cover every replacement of a number by another, or by nothing.

    A number replaced by one that moves the sum of z by d moves the other sum by at most 2·d·(2R - d): boxes
    cover d from d_i to d_(i+1), the first also all d up to R. Replaced by nothing: (1, R, R²).

    >>> replacements(10, boxes=2)
    ((1, 10, 100), (0, 15, 200), (0, 20, 150))
    """
    one, size, square = shifts(width)
    edges = [size + (size * i) // boxes for i in range(boxes + 1)]
    covers = [(0, far, 2 * near * (2 * size - near)) for near, far in pairwise(edges) if far > near]
    return ((one, size, square), *covers)


@dataclass(frozen=True)
class DispersionEstimates:
    """Estimates of a variance from released integers, in squared lattice steps.

    >>> from dovetail.noise import Geometric
    >>> noises = [Geometric(1).stretched(shift) for shift in shifts(100)]
    >>> ages = DispersionEstimates(*noises, width=100, chance=0.05)
    >>> ages.variance(10_000, 0, 2 * 40**2 * 10_000 - 100**2 * 10_000)
    400.0
    """

    count_noise: IntegerNoise
    sum_noise: IntegerNoise
    square_noise: IntegerNoise
    width: int
    chance: Real
    sample: bool = False

    def __post_init__(self) -> None:
        shifts(self.width)
        check.probability("chance", self.chance, _CHANCE)
        if not isinstance(self.sample, bool):
            raise InvalidParameter("sample", self.sample, "True (divide by n - 1) or False (by n)")

    @cached_property
    def _each(self) -> Fraction:
        chance = check.probability("chance", self.chance)
        return chance * (1 - _FOR_ROWS) / 2 if self.sample else chance / 2

    @cached_property
    def _means(self) -> Ratios:
        size = float(self.width)
        return Ratios(self.sum_noise, self.count_noise, low=-size, high=size, chance=self._each)

    @cached_property
    def _squares(self) -> Ratios:
        size = float(self.width) ** 2
        return Ratios(self.square_noise, self.count_noise, low=-size, high=size, chance=self._each)

    @cached_property
    def _row_bar(self) -> int:
        return int(self.count_noise.error_bound(check.probability("chance", self.chance) * _FOR_ROWS))

    def variance(self, count: int, total: int, squares: int) -> float:
        """Return the variance of x, from 0 to its largest possible value; a table may have too few rows."""
        rows = max(count, 2 if self.sample else 1)
        mean = min(max(total / rows, -self.width), self.width)
        second = min(max((squares / rows + self.width**2) / 2, mean**2), self.width**2)
        factor = rows / (rows - 1) if self.sample else 1.0
        return (second - mean**2) / 4 * factor

    def interval(self, count: int, total: int, squares: int) -> Bounds:
        """Return bounds of the variance that hold but for the chance."""
        mean, ratio = self._means.interval(total, count), self._squares.interval(squares, count)
        least_square = 0.0 if mean.low <= 0 <= mean.high else min(mean.low**2, mean.high**2)
        most_square = max(mean.low**2, mean.high**2)
        # z² is at most R², so the mean of 2z² - R² gives the mean of z² from 0 to R².
        low = max((ratio.low + self.width**2) / 2 - most_square, 0.0) / 4
        high = max((ratio.high + self.width**2) / 2 - least_square, low * 4) / 4
        if not self.sample:
            return Bounds(low, high)
        fewest, most = max(count - self._row_bar, 2), max(count + self._row_bar, 2)
        return Bounds(low * most / (most - 1), high * fewest / (fewest - 1))

    def deviation(self, count: int, total: int, squares: int) -> float:
        """Return the standard deviation of x, in lattice steps."""
        return sqrt(self.variance(count, total, squares))

    def deviation_interval(self, count: int, total: int, squares: int) -> Bounds:
        """Return bounds of the standard deviation that hold but for the chance."""
        variance = self.interval(count, total, squares)
        return Bounds(sqrt(variance.low), sqrt(variance.high) if variance.high < inf else inf)
