"""What a tree's released counts say: ranges, the distribution function, quantiles, each with its error.

A quantile's interval needs no assumption on the data and no union over places. G(t) = F(t) - q·F(end) does
not fall with t, and the quantile x is the first t with G(t) >= 0. With w(t) the one-sided bar of the error of
its estimate, low is the first t with G(t) + w(t) >= 0, and high the last t with G(t - 1) - w(t - 1) < 0: low
passes x only if the estimate at x itself errs by more than w(x), and high likewise with x - 1. A larger w at
any t is as valid, so a quick bound sorts out most t and the exact law is asked at the others only.

It is the quantile of the counted table, not of a population it was drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, log
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail import check
from dovetail.check import Real
from dovetail.noise import IntegerNoise

from .cutoff import Floats, cut, variance
from .noise_sums import NoiseSum
from .tree_queries import prefix_variances, range_error, step_error
from .trees import Tree

Kind: TypeAlias = Literal["disc", "cont"]

# Exact laws asked for at each end of a quantile's interval, and along a band.
_MOST_LAWS = 128
# Cells whose variances are computed together, and columns whose quick bars are kept.
_AT_ONCE, _KEPT_CELLS = 1 << 17, 10**5
_BAND_POINTS = 128
_ROUGHLY, _FINELY = 0.02, 0.003
_ORDERS = np.geomspace(0.2, 2.0, 24)
_CHANCE = "Give the probability of a miss, for example 0.05."
_Q = "Give a number from 0 (the smallest value) to 1 (the largest)."


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile as cells: a point (between two cells where it is interpolated) and an interval of cells."""

    q: Fraction
    point: float
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class _Target:
    """G(t) = left·(cells up to t) + right·(cells after t); at x it is >= -below, at x - 1 it is <= above."""

    left: float
    right: float
    below: float
    above: float


_TOTAL = _Target(1.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class RangeEstimates:
    """Estimates from the noisy counts of a tree; cells are numbered from 0.

    >>> from dovetail.noise import Geometric
    >>> tree = Tree(4, (1, 2))
    >>> found = RangeEstimates(tree, Geometric(1), tree.counts(np.array([10, 0, 20, 30])))
    >>> round(found.count(1, 3), 9), found.interval(1, 3, 0.05)
    (50.0, (47, 53))
    >>> found.quantile("0.5", 0.05)
    Quantile(q=Fraction(1, 2), point=2.0, low=2, high=3)
    """

    tree: Tree
    noise: IntegerNoise
    measured: Sequence[NDArray[Any]] = field(repr=False)

    @cached_property
    def cells(self) -> Floats:
        """The unbiased estimate of every cell; some are negative."""
        return self.tree.estimate(self.measured)

    @cached_property
    def cumulative(self) -> Floats:
        """The unbiased estimate of the number of rows up to each cell."""
        return np.cumsum(self.cells)

    @cached_property
    def monotone(self) -> Floats:
        """The cumulative counts made to rise from at least 0 (isotonic regression): closer, but biased."""
        from scipy.optimize import isotonic_regression

        return np.maximum(np.asarray(isotonic_regression(self.cumulative).x, np.float64), 0.0)

    def count(self, first: int, last: int) -> float:
        """Return the estimated number of rows in the cells first, ..., last."""
        self._check(first, last)
        return float(self.cumulative[last] - (self.cumulative[first - 1] if first else 0.0))

    def error(self, first: int, last: int) -> NoiseSum:
        """Return the law of the error of `count`."""
        self._check(first, last)
        return range_error(self.tree, self.noise, first, last)

    def interval(self, first: int, last: int, chance: Real) -> tuple[int, int]:
        """Return whole numbers between which the count of these cells lies, but for `chance`."""
        allowed = check.probability("chance", chance, _CHANCE)
        bar = _count_bar(self.tree, self.noise, first, last, allowed, _FINELY)
        return _whole(self.count(first, last), bar)

    def band(self, chance: Real) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return bounds of the rows up to each cell that hold for all cells at once, but for `chance`.

        Between the cells that are bounded by their law, the bounds of their neighbours hold: counts rise.
        """
        total, n = check.probability("chance", chance, _CHANCE), self.tree.cells
        asked = np.unique(np.linspace(0, n - 1, min(n, _BAND_POINTS)).round().astype(np.int64))
        lows, highs = [0], []
        for place in asked.tolist():
            bar = _count_bar(self.tree, self.noise, 0, place, total / len(asked), _ROUGHLY)
            low, high = _whole(float(self.cumulative[place]), bar)
            lows.append(low)
            highs.append(high)
        rising = np.maximum.accumulate(np.array(lows, np.int64))
        falling = np.minimum.accumulate(np.array(highs, np.int64)[::-1])[::-1]
        every = np.arange(n)
        low_at = rising[np.searchsorted(asked, every, side="right")]
        return low_at, np.maximum(falling[np.searchsorted(asked, every)], low_at)

    def may_be_empty(self, chance: Real) -> bool:
        """Say whether the table may have no row, in which case it has no quantile."""
        allowed = check.probability("chance", chance, _CHANCE)
        bar = _bar(self.tree, self.noise, _TOTAL, self.tree.cells - 1, allowed, _FINELY)
        return float(self.cumulative[-1]) - bar <= 0

    def quantile(self, q: Real, chance: Real, kind: Kind = "disc") -> Quantile:
        """Return a quantile and the cells between which it lies, but for `chance`.

        "disc" is the smallest value with at least q of the rows up to it; "cont" interpolates between the two
        rows nearest to q, as SQL's PERCENTILE_CONT does. q = 0 is the smallest value, q = 1 the largest.
        """
        exact = check.within("q", q, 0, 1, _Q)
        check.choice("kind", kind, ("disc", "cont"))
        allowed = check.probability("chance", chance, _CHANCE) / 2
        target = _target(exact, kind)
        rows = self.cumulative
        g = target.left * rows + target.right * (rows[-1] - rows)
        bars = _quick_bars if self.tree.cells <= _KEPT_CELLS else _quick_bars.__wrapped__
        most: Floats = bars(self.tree, self.noise, target, float(allowed))

        def bar(t: int, widening: float) -> float:
            return _bar(self.tree, self.noise, target, t, allowed, widening)

        last = self.tree.cells - 1
        low = _first(g + target.below, most, bar, default=last)
        # Cells are looked at from the right; what is below -bar from there is above bar from here.
        turned, quick = (target.above - g)[:-1][::-1], most[:-1][::-1]
        high = last - _first(turned, quick, lambda u, widening: bar(last - 1 - u, widening), default=last)
        point = self.point(exact, kind)
        return Quantile(exact, min(max(point, float(low)), float(max(low, high))), low, max(low, high))

    def quantiles(self, qs: Sequence[Real], chance: Real, kind: Kind = "disc") -> list[Quantile]:
        """Return several quantiles whose intervals hold together, but for `chance`."""
        each = check.probability("chance", chance, _CHANCE) / max(len(qs), 1)
        return [self.quantile(q, each, kind) for q in qs]

    def point(self, q: Fraction, kind: Kind = "disc") -> float:
        """Return the estimate of a quantile alone, from the rising counts."""
        rows = self.monotone
        total = float(rows[-1])

        def row(rank: float) -> float:
            """Return the cell of the row with this rank."""
            return float(min(int(np.searchsorted(rows, rank * (1 - 1e-12))), len(rows) - 1))

        if kind == "disc":
            return row(max(float(q) * total, min(total, 1.0)))
        place = float(q) * max(total - 1, 0.0)
        before, after = row(max(floor(place) + 1.0, 1e-9)), row(floor(place) + 2.0)
        return before + (place - floor(place)) * (min(after, row(max(total, 1e-9))) - before)

    def _check(self, first: int, last: int) -> None:
        check.integer("first", first, 0, self.tree.cells - 1, "Cells are numbered from 0.")
        check.integer("last", last, first, self.tree.cells - 1, "Cells are numbered from 0.")


# Groups of one table share tree and noise, so their bars are kept.


@lru_cache(maxsize=4096)
def _bar(
    tree: Tree, noise: IntegerNoise, target: _Target, t: int, chance: Fraction, widening: float
) -> float:
    """Return the one-sided bar of the error of G(t), from its exact law."""
    edges, values = [0, t + 1, tree.cells], [target.left, target.right]
    if t + 1 == tree.cells:
        edges, values = edges[:2], values[:1]
    return step_error(tree, noise, edges, values).one_sided(chance, widening=widening)


@lru_cache(maxsize=4096)
def _count_bar(
    tree: Tree, noise: IntegerNoise, first: int, last: int, chance: Fraction, widening: float
) -> float:
    """Return the two-sided bar of the error of a count."""
    return range_error(tree, noise, first, last).two_sided(chance, widening=widening)


@lru_cache(maxsize=16)
def _quick_bars(tree: Tree, noise: IntegerNoise, target: _Target, chance: float) -> Floats:
    """Return a bar at least as wide as the exact one at each t, from the variances alone.

    No weight exceeds the span of the values and 0, so ln E exp(s·X) is at most s²·(sum of squared weights)
    times the largest ratio of ln E exp(u·Y) to u² for u up to s times that span.
    """
    squares = np.empty(tree.cells)
    for start in range(0, tree.cells, _AT_ONCE):
        edges = np.arange(start, min(start + _AT_ONCE, tree.cells)) + 1
        squares[edges - 1] = prefix_variances(tree, target.left, target.right, edges)
    span = max(target.left, target.right, 0.0) - min(target.left, target.right, 0.0)
    single = cut(noise)
    goal = -log(max(chance - sum(tree.blocks) * single.missing, 1e-300))
    ratios = np.maximum.accumulate(single.cumulants[1:] / single.orders[1:] ** 2)
    guess = (2 * goal / (float(np.median(squares)) * variance(noise))) ** 0.5
    bars = np.full(len(squares), np.inf)
    for order in guess * _ORDERS:
        place = int(np.searchsorted(single.orders[1:], order * span))
        if place < len(ratios):
            np.minimum(bars, order * ratios[place] * squares + goal / order, out=bars)
    bars *= 1 + 1e-9
    return bars


def _target(q: Fraction, kind: Kind) -> _Target:
    """Return the linear test of a quantile.

    With n rows, F(x) >= q·n and F(x - 1) < q·n, a difference of at least 1/denominator of q. An interpolated
    one lies between the rows of ranks k and k + 1, q·(n - 1) < k <= q·(n - 1) + 1.
    """
    if q == 0:
        return _Target(1.0, 0.0, -1.0, 0.0)
    if q == 1:
        return _Target(0.0, -1.0, 0.0, -1.0)
    if kind == "cont":
        return _Target(float(1 - q), -float(q), float(q), float(1 - q))
    return _Target(float(1 - q), -float(q), 0.0, -float(Fraction(1, q.denominator)))


def _first(signed: Floats, most: Floats, bar: Any, default: int) -> int:
    """Return the first place with signed + bar >= 0, `most` being bars that are at least as wide.

    After so many exact bars the quick ones stand: the place found may be too early, which is safe.
    """
    fuzz = 1e-9 * max(1.0, float(np.max(signed, initial=0.0)), -float(np.min(signed, initial=0.0)))
    near = np.flatnonzero(signed + most >= -fuzz)[: _MOST_LAWS + 1]
    for tried, place in enumerate(near.tolist()):
        short = -signed[place] - fuzz
        if tried >= _MOST_LAWS or short <= 0:
            return int(place)
        if bar(place, _ROUGHLY) >= short and bar(place, _FINELY) >= short:
            return int(place)
    return default


def _whole(estimate: float, bar: float) -> tuple[int, int]:
    """Return the whole numbers within `bar` of the estimate; the truth is one."""
    fuzz = 1e-9 * max(1.0, abs(estimate))
    low, high = ceil(estimate - bar - fuzz), floor(estimate + bar + fuzz)
    return (low, high) if low <= high else (round(estimate), round(estimate))
