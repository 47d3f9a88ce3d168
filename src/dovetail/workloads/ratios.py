"""Intervals of ratios, such as a mean, from a noisy total and a noisy count: Fieller's way, with exact laws.

Released are total + S and count + C with independent noises S and C; the count is at least 1. For the true
ratio m, (released total) - m·(released count) = S - m·C, whose law is known for every m. So the interval is
the hull of the m that make this no larger than its bar w(m).

The older way takes a box: total and count within a and b of what was released, each missed with half of the
chance. With w(m) <= a + |m|·b our interval lies within the box's wherever released count - b >= 1. Elsewhere
the box uses that the count is at least 1, which the pivot does not. The result is cut to the box there too,
and the bars pay for what that can miss. For m >= 0 the box misses only if C < -b, or S > a + m·(b + C), or
S < -a while C < b, or S < m·(C - b) - a while C >= b. So the interval is never wider than the box's.

Between the points of a grid of m, w grows by at most |m - m_i|·y, and |C| > y is paid for as well; so is the
box of every m up to the next point. Since every threshold is at least the least valid one, it does not matter
that the grid point depends on what was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import inf

import numpy as np

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise

from .cutoff import Floats

_POINTS = 129
# Halvings of a bar that is never too short: to 1e-8 of its length.
_ROUNDS = 27
# A wide noise of the count is looked at in bins.
_MOST_BINS = 2048
_ROUNDED = 2.0**-52
# The share of the chance that a count's noise beyond y may use.
_FOR_STEPS = 0.004
_OUTWARD = 1e-12
_CHANCE = "Give the probability of a miss, for example 0.05."


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the largest value of something unknown."""

    low: float
    high: float


@dataclass(frozen=True)
class Ratios:
    """Intervals of total/count for ratios from `low` to `high`; the bars are found once for all groups.

    >>> from dovetail.noise import Geometric
    >>> ages = Ratios(Geometric(1).stretched(100), Geometric(1), low=0, high=100, chance=0.05)
    >>> found = ages.interval(total=40 * 1000, count=1000)
    >>> round(found.low, 1), round(found.high, 1)
    (39.7, 40.3)
    """

    total_noise: IntegerNoise
    count_noise: IntegerNoise
    low: float
    high: float
    chance: Real

    def __post_init__(self) -> None:
        if not -inf < self.low < self.high < inf:
            raise InvalidParameter("low", self.low, f"a finite number below high, which is {self.high}")
        check.probability("chance", self.chance, _CHANCE)

    @cached_property
    def _pivot(self) -> _Pivot:
        return _pivot(self.total_noise, self.count_noise, check.probability("chance", self.chance))

    @cached_property
    def _grid(self) -> Floats:
        return np.linspace(self.low, self.high, _POINTS)

    @cached_property
    def _bars(self) -> Floats:
        """The largest bar between two neighbours of the grid."""
        step = float(self._grid[1] - self._grid[0])
        bars = self._pivot.bars(self._grid, step)
        near, far = np.minimum(bars[:-1], bars[1:]), np.maximum(bars[:-1], bars[1:])
        # The cones that start from the two ends meet where both are as high, or one covers all.
        rise = step * self._pivot.count_reach
        return np.asarray(np.minimum((near + far + rise) / 2, near + rise))

    def box(self, total: int, count: int) -> Bounds:
        """Return the interval of a box: total and count each within its own bar, the count at least 1."""
        least, most = max(count - self._pivot.count_bar, 1), max(count + self._pivot.count_bar, 1)
        down, up = total - self._pivot.total_bar, total + self._pivot.total_bar
        return self._cut(min(down / least, down / most), max(up / least, up / most))

    def interval(self, total: int, count: int) -> Bounds:
        """Return bounds of the true ratio that hold but for the chance; never wider than the box.

        A group without a row has no ratio, and the bounds say nothing of one.
        """
        box = self.box(total, count)
        left, right = self._grid[:-1], self._grid[1:]
        if count == 0:
            inside = np.abs(total) <= self._bars
        else:
            ends = np.sort([(total - self._bars) / count, (total + self._bars) / count], axis=0)
            left, right = np.maximum(left, ends[0]), np.minimum(right, ends[1])
            inside = left <= right
        if not inside.any():
            return box
        low, high = float(left[inside].min()), float(right[inside].max())
        low, high = max(self._cut(low, high).low, box.low), min(self._cut(low, high).high, box.high)
        return Bounds(low, high) if low <= high else box

    def _cut(self, low: float, high: float) -> Bounds:
        """Return the bounds moved outward by what floats may have lost, within the range of the ratio."""
        room = _OUTWARD * (self.high - self.low + max(abs(low), abs(high)))
        return Bounds(min(max(low - room, self.low), self.high), max(min(high + room, self.high), self.low))


@dataclass(frozen=True, slots=True, eq=False)
class _Pivot:
    """The law of S - m·C for any m, with what cutting to the box and stepping between points can miss."""

    total_noise: IntegerNoise
    places: Floats  # the middles of bins of C, of those that do not count as missed
    masses: Floats
    half_bin: float
    missed: float  # the chance of all other C
    total_bar: int
    count_bar: int
    count_reach: float
    chance: float

    def bars(self, ratios: Floats, spacing: float) -> Floats:
        """Return a bar for every ratio: S - m·C exceeds it with at most the chance, or the box misses.

        That is the box of any ratio within `spacing` of m. At the bar of the box itself all of it is within
        the chance, whatever binning adds.
        """
        sizes, place = np.unique(np.abs(ratios), return_inverse=True)
        most = self.total_bar + sizes * self.count_bar
        low, high = np.zeros(len(sizes)), np.full(len(sizes), 1.0)
        boxes = self._boxes(sizes, spacing)
        while (over := (self._missed(sizes, high, boxes) > self.chance) & (high < most)).any():
            high[over] *= 2
        for _ in range(_ROUNDS):
            middle = (low + high) / 2
            over = self._missed(sizes, middle, boxes) > self.chance
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        return np.asarray(np.minimum(high, most)[place])

    def _boxes(self, sizes: Floats, spacing: float) -> tuple[Floats, Floats]:
        """Return how far up and down S may lie, for each bin of C, with no box of a near ratio missing."""
        nearest, furthest = np.maximum(sizes - spacing, 0.0)[:, None], (sizes + spacing)[:, None]
        past = np.maximum(self.places + self.half_bin - self.count_bar, 0.0)
        up = self.total_bar + nearest * (self.count_bar + self.places - self.half_bin)
        down = self.total_bar - furthest * past
        # Ratios of the other sign are near to one of 0: for them, up is down, and down is no more than up.
        both = (sizes < spacing)[:, None]
        return np.where(both, np.minimum(up, self.total_bar - spacing * past), up), down

    def _missed(self, sizes: Floats, bars: Floats, boxes: tuple[Floats, Floats]) -> Floats:
        # Within a bin of C, S - m·C lies within m times half its width of what it is at the middle.
        moved, least = sizes[:, None] * self.places, (bars - sizes * self.half_bin)[:, None]
        above = np.asarray(self.total_noise.sf(np.floor(np.minimum(moved + least, boxes[0]))))
        # P(S < x) = P(S > -x), as the noise is symmetric.
        below = np.asarray(self.total_noise.sf(np.floor(np.minimum(least - moved, boxes[1]))))
        return np.asarray(self.missed + np.sum(np.minimum(above + below, 1.0) * self.masses, axis=1))


@lru_cache(maxsize=64)
def _pivot(total_noise: IntegerNoise, count_noise: IntegerNoise, chance: Fraction) -> _Pivot:
    total_bar, count_bar = (int(noise.error_bound(chance / 2)) for noise in (total_noise, count_noise))
    reach = max(count_bar, int(count_noise.error_bound(chance * Fraction(str(_FOR_STEPS)))))
    # C below -count_bar misses the box, C beyond the reach may miss between two points of the grid.
    width = -(-(reach + count_bar + 1) // _MOST_BINS)
    starts = np.arange(-count_bar, reach + 1, width)
    ends = np.minimum(starts + width - 1, reach)
    if width == 1:
        masses = np.asarray(count_noise.pmf(starts))
    else:
        masses = np.asarray(count_noise.cdf(ends)) - np.asarray(count_noise.cdf(starts - 1)) + _ROUNDED
    missed = float(count_noise.sf(count_bar)) + float(count_noise.sf(reach))
    return _Pivot(
        total_noise,
        (starts + ends) / 2,
        masses,
        (width - 1) / 2,
        missed * (1 + 1e-9),
        total_bar,
        count_bar,
        reach,
        float(chance) * (1 - 1e-9),
    )
