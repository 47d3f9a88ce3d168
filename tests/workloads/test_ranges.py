"""Ranges, bands and quantiles: exact without noise, covered with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, IntegerNoise
from dovetail.workloads import RangeEstimates, Tree
from dovetail.workloads.ranges import Quantile, _quick_bars, _target, _whole
from dovetail.workloads.tree_queries import range_error, step_error

TREE = Tree(10, (1, 4))
FALSE_ALARM = 1e-9
RUNS = 250


def released(cells: np.ndarray, tree: Tree, noise: IntegerNoise) -> RangeEstimates:
    return RangeEstimates(tree, noise, [level + noise.sample(len(level)) for level in tree.counts(cells)])


def disc(rows: np.ndarray, q: Fraction) -> int:
    rank = max(-(-q.numerator * len(rows) // q.denominator), 1)
    return int(rows[rank - 1])


def cont(rows: np.ndarray, q: Fraction) -> float:
    return float(np.quantile(rows, float(q)))


qs = st.sampled_from(
    [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1), Fraction(1, 3)]
)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), qs)
@settings(max_examples=100, deadline=None)
def test_without_noise_points_are_the_quantiles(values: list[int], q: Fraction) -> None:
    rows = np.sort(values)
    found = RangeEstimates(TREE, Geometric(50), TREE.counts(np.bincount(rows, minlength=10)))
    assert found.quantile(q, 0.05).point == disc(rows, q)
    assert found.quantile(q, 0.05, "cont").point == pytest.approx(cont(rows, q), abs=1e-9)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), qs)
@settings(max_examples=100, deadline=None)
def test_nearly_without_noise_intervals_are_as_short_as_the_definition_allows(
    values: list[int], q: Fraction
) -> None:
    """With certain counts, an interval holds the quantile, and cells without a row next to it at most."""
    rows = np.sort(values)
    found = RangeEstimates(TREE, Geometric(50), TREE.counts(np.bincount(rows, minlength=10))).quantile(
        q, 0.05
    )
    assert found.low <= disc(rows, q) <= found.high
    assert found.low == disc(rows, q)
    assert found.high == disc(rows, q)


def test_noise_that_is_never_seen_has_answers_too() -> None:
    """Its variance is below every float, and nothing is divided by that."""
    found = RangeEstimates(TREE, Geometric(1000), TREE.counts(np.arange(10)))
    assert found.interval(3, 5, 0.05) == (12, 12)
    assert found.quantile(Fraction(1, 2), 0.05) == Quantile(Fraction(1, 2), 7.0, 7, 7)


TABLES = {
    "ties": np.array([0, 0, 40, 0, 0, 0, 0, 0, 0, 0]),
    "spread": np.arange(10) * 5,
    "tight": np.full(10, 2),
    "fewer than 1/epsilon": np.array([0, 1, 0, 0, 0, 0, 0, 1, 0, 0]),
    "one row": np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
}


def misses(table: np.ndarray, interval: Callable[[RangeEstimates], tuple[float, float]], truth: float) -> int:
    missed = 0
    for _ in range(RUNS):
        low, high = interval(released(table, TREE, Geometric("0.4")))
        missed += not low <= truth <= high
    return missed


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    ("q", "kind"),
    [*((Fraction(q), "disc") for q in ("0", "1/2", "9/10", "1")), (Fraction(1, 4), "cont")],
)
def test_quantiles_are_covered(name: str, q: Fraction, kind: str) -> None:
    table, chance = TABLES[name], 0.1
    rows = np.repeat(np.arange(10), table)
    truth = disc(rows, q) if kind == "disc" else cont(rows, q)

    def interval(found: RangeEstimates) -> tuple[float, float]:
        quantile = found.quantile(q, chance, kind)  # type: ignore[arg-type]
        return quantile.low, quantile.high

    assert misses(table, interval, truth) <= binom.isf(FALSE_ALARM, RUNS, chance)


def test_the_same_test_catches_bars_that_are_too_short() -> None:
    """The power of the test above: bars of a narrower noise miss too often."""
    table, chance = TABLES["tight"], 0.1
    truth = disc(np.repeat(np.arange(10), table), Fraction(1, 2))

    def interval(found: RangeEstimates) -> tuple[float, float]:
        quantile = replace(found, noise=Geometric(2)).quantile("0.5", chance)
        return quantile.low, quantile.high

    assert misses(table, interval, truth) > binom.isf(FALSE_ALARM, RUNS, chance)


def always_missed(table: list[int], q: Fraction, kind: str, chance: Fraction) -> float:
    """Return how often an interval misses, over all that the noise of three counts can do, but for 1e-3."""
    noise, tree = Geometric("1.6"), Tree(3, (1,))
    rows = np.repeat(np.arange(3), table)
    truth = (disc if kind == "disc" else cont)(rows, q)
    law = [(k, float(noise.pmf(k))) for k in range(-5, 6)]
    total = 0.0
    for draws in product(law, repeat=3):
        weight = float(np.prod([p for _, p in draws]))
        if weight > 2e-6:
            noisy = tree.counts(np.array(table) + [k for k, _ in draws])
            found = RangeEstimates(tree, noise, noisy).quantile(q, chance, kind)  # type: ignore[arg-type]
            total += weight * (not found.low <= truth <= found.high)
    return total


@pytest.mark.parametrize(
    ("table", "q", "kind"),
    [
        ([0, 0, 1], Fraction(1, 2), "disc"),
        ([1, 1, 0], Fraction(1), "disc"),
        ([1, 0, 0], Fraction(0), "disc"),
        ([1, 1, 1], Fraction(9, 10), "cont"),
        ([5, 0, 5], Fraction(1, 2), "cont"),
    ],
)
def test_whatever_noise_does_no_quantile_is_missed_more_often_than_said(
    table: list[int], q: Fraction, kind: str
) -> None:
    assert always_missed(table, q, kind, Fraction(1, 10)) <= 0.1


def test_quantiles_for_three_times_the_chance_would_be_caught() -> None:
    assert always_missed([0, 0, 1], Fraction(1, 2), "disc", Fraction(3, 10)) > 0.1


def test_counts_and_bands_are_covered_and_half_of_them_is_not() -> None:
    table, chance = TABLES["spread"], 0.1
    cumulative = np.cumsum(table)
    outside = broken = alone = 0
    for _ in range(RUNS):
        found = released(table, TREE, Geometric("0.4"))
        low, high = found.band(chance)
        outside += not np.all((low <= cumulative) & (cumulative <= high))
        first, last = found.interval(2, 6, chance)
        alone += not first <= table[2:7].sum() <= last
        low, high = replace(found, noise=Geometric(1)).band(chance)
        broken += not np.all((low <= cumulative) & (cumulative <= high))
    limit = binom.isf(FALSE_ALARM, RUNS, chance)
    assert outside <= limit
    assert alone <= limit
    assert broken > limit


def test_bands_of_long_columns_rise_and_hold_the_truth() -> None:
    tree = Tree(1500, (1, 11, 132))
    cells = np.random.default_rng(1).integers(0, 40, 1500)
    found = released(cells, tree, Geometric("1/3"))
    for chance in (0.05, FALSE_ALARM):
        low, high = found.band(chance)
        assert np.all(np.diff(low) >= 0)
        assert np.all(np.diff(high) >= 0)
    truth = np.cumsum(cells)
    # At 0.05 it would miss now and then.
    low, high = found.band(FALSE_ALARM)
    assert np.all((low <= truth) & (truth <= high))


def test_isotonic_regression_makes_cumulative_counts_rise() -> None:
    found = released(TABLES["one row"], TREE, Geometric("0.2"))
    assert np.all(np.diff(found.monotone) >= 0)
    assert found.monotone[0] >= 0


def test_several_quantiles_share_the_chance() -> None:
    tree, qs = Tree(500, (1, 10)), ("0.25", "0.5", "0.75")
    found = RangeEstimates(tree, Geometric("0.05"), tree.counts(np.full(500, 3)))
    together = found.quantiles(qs, "0.06")
    assert together == [found.quantile(q, "0.02") for q in qs]
    assert all(one.low < other.low for one, other in zip(together, found.quantiles(qs, "0.6"), strict=True))
    assert found.quantiles(["0.5"], "0.06") == [found.quantile("0.5", "0.06")] != [together[1]]
    assert found.quantiles([], "0.06") == []


def test_an_empty_table_may_be_empty_and_a_full_one_not() -> None:
    assert released(np.zeros(10, int), TREE, Geometric(50)).may_be_empty(0.05)
    assert not released(TABLES["spread"], TREE, Geometric(50)).may_be_empty(0.05)
    empty = released(np.zeros(10, int), TREE, Geometric("0.4")).quantile("0.5", 0.05)
    assert 0 <= empty.low <= empty.point <= empty.high <= 9


def test_many_empty_cells_end_the_search_on_the_safe_side() -> None:
    """Where the exact law would be asked too often, the quick bar stands: too early is safe."""
    tree, noise = Tree(20_000, (1, 20, 400)), Geometric("0.1")
    exact = step_error(tree, noise, [0, 2_000, 20_000], [0.5, -0.5]).one_sided(0.025)
    cells = np.zeros(20_000, int)
    # At first the exact law keeps a cell that comes early; then it is asked as often as it may, in vain.
    for more in (1.2, 1.5):
        cells[5_000] = 2 * more * exact
        found = RangeEstimates(tree, noise, tree.counts(cells)).quantile("0.5", 0.05)
        assert found.low < 5_000 < found.high
    cells[5_000] = 2 * 2.5 * exact
    assert RangeEstimates(tree, noise, tree.counts(cells)).quantile("0.5", 0.05).low == 5_000


@pytest.mark.parametrize("q", ["0", "1/4", "1/3", "1/2", "9/10", "1"])
@pytest.mark.parametrize("kind", ["disc", "cont"])
def test_the_test_of_a_quantile_holds_at_its_rows_and_for_no_smaller_bounds(q: str, kind: Any) -> None:
    """All tables of up to 60 rows of different values: their ranks say which rows a quantile lies between."""
    exact, least, most = Fraction(q), Fraction(10), Fraction(-10)
    target = _target(exact, kind)
    left, right = Fraction(target.left), Fraction(target.right)
    for rows in range(1, 61):
        first = last = max(ceil(exact * rows), 1)
        if kind == "cont":
            first, last = floor(exact * (rows - 1)) + 1, ceil(exact * (rows - 1)) + 1
        least = min(least, left * first + right * (rows - first))
        most = max(most, left * (last - 1) + right * (rows - last + 1))
    assert -target.below <= least + Fraction(1, 10**12)
    assert target.above >= most - Fraction(1, 10**12)
    # No row decides between the bound and what is reached, but where rows are interpolated.
    apart = 0 if kind == "disc" or exact in (0, 1) else Fraction(1, exact.denominator)
    tight = apart + Fraction(1, 10**12)
    assert least <= -target.below + tight
    assert most >= target.above - tight


@pytest.mark.parametrize("chance", ["0.05", "0.001"])
def test_a_table_may_be_empty_until_its_total_exceeds_what_noise_adds(chance: str) -> None:
    bar = floor(range_error(TREE, Geometric("0.4"), 0, 9).one_sided(chance))
    for total, empty in ((bar, True), (bar + 1, False)):
        for place in (0, 2, 9):
            cells = np.where(np.arange(10) == place, total, 0)
            found = RangeEstimates(TREE, Geometric("0.4"), TREE.counts(cells))
            assert found.may_be_empty(chance) is empty


def test_whole_ends_allow_for_what_floats_lose() -> None:
    assert _whole(10 - 1e-12, 3.0) == _whole(10 + 1e-12, 3.0) == (7, 13)
    assert _whole(10.4, 3.0) == (8, 13)


@pytest.mark.parametrize("q", ["0", "1/4", "1/2", "1"])
@pytest.mark.parametrize("tree", [TREE, Tree(7, (1,)), Tree(40, (1, 3, 15))])
@pytest.mark.parametrize("chance", [0.025, 1e-10])
def test_no_quick_bar_is_shorter_than_that_of_the_exact_law(tree: Tree, q: str, chance: float) -> None:
    """G(t) weighs the cells up to t with 1 - q and those after it with -q; of the extremes, only one side."""
    share, noise = float(Fraction(q)), Geometric("0.4")
    left, right = {"0": (1.0, 0.0), "1": (0.0, -1.0)}.get(q, (1 - share, -share))
    quick = _quick_bars(tree, noise, _target(Fraction(q), "disc"), chance)
    for t in range(tree.cells - 1):
        exact = step_error(tree, noise, [0, t + 1, tree.cells], [left, right]).one_sided(chance)
        assert exact <= quick[t] <= 3 * exact
    whole = step_error(tree, noise, [0, tree.cells], [left]).one_sided(chance)
    assert whole <= quick[-1]
    assert quick[-1] <= 3 * whole or left == 0


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan")])
def test_q_lies_from_0_to_1(q: float) -> None:
    with pytest.raises(InvalidParameter, match="q="):
        released(TABLES["ties"], TREE, Geometric(1)).quantile(q, 0.05)


def test_ranges_lie_within_the_cells() -> None:
    found = released(TABLES["ties"], TREE, Geometric(1))
    for first, last, name in ((3, 2, "last"), (3, 10, "last"), (-1, 2, "first"), (10, 10, "first")):
        for ask in (found.count, found.error):
            with pytest.raises(InvalidParameter, match=name):
                ask(first, last)
    assert found.count(0, 9) == pytest.approx(found.count(0, 4) + found.count(5, 9))
    assert found.count(9, 9) == pytest.approx(found.count(0, 9) - found.count(0, 8))


def test_a_quantile_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="kind"):
        released(TABLES["ties"], TREE, Geometric(1)).quantile("0.5", 0.05, "median")  # type: ignore[arg-type]
