"""Answers about ranges, from cells that are given: ends, groups, shares and excerpts by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dovetail as dv
from dovetail.answers import RangeAnswer
from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, IntegerNoise
from dovetail.privacy import Charge, Remaining

SCHEMA = dv.Schema([dv.Column("x", "number"), dv.Column("k", "text", values=["a", "b", "c"])])
# The values of x are 1, 1.5, 2, ..., 5.
COUNTS = {
    "a": [3, 0, 0, 7, 1, 0, 0, 4, 5],
    "b": [0, 0, 0, 0, 9, 0, 0, 0, 0],
    "c": [1, 1, 1, 1, 1, 1, 1, 1, 1],
}
POINTS = [1 + Fraction(place, 2) for place in range(9)]
SURE: IntegerNoise = Geometric(60)


def answered(
    by: Sequence[str], *groups: list[int], noise: IntegerNoise = SURE, step: str = "0.5"
) -> RangeAnswer:
    """Return the answer whose released counts are these, cell by cell and in blocks."""
    high = 1 + Fraction(step) * (len(groups[0]) - 1)
    asked = dv.Ranges("x", low=1, high=high, step=step, by=tuple(by)).checked(SCHEMA.table())
    measure = asked.measure
    noises = (noise,) * len(measure.components())
    cells = tuple(tuple(map(int, measure.released([(count,) for count in counts]))) for counts in groups)
    when = datetime(2026, 1, 31, tzinfo=UTC)
    return RangeAnswer("t", asked, noises, cells, Charge.zero(), "add-remove", when, Remaining(Fraction(1)))


WHOLE = answered((), COUNTS["a"])
GROUPS = answered(("k",), *COUNTS.values())


@pytest.mark.parametrize("a", [None, -7, 1, "1.2", "2.5", 3, "4.9", 5, 6])
@pytest.mark.parametrize("b", [None, 0, 1, "2.4", "2.5", 5, 9])
def test_a_range_counts_the_values_between_its_ends_and_both_ends(a: Any, b: Any) -> None:
    if a is not None and b is not None and Fraction(a) > Fraction(b):
        with pytest.raises(InvalidParameter, match="wrong way round"):
            WHOLE.range(a, b)
        return
    kept = [
        count
        for point, count in zip(POINTS, COUNTS["a"], strict=True)
        if (a is None or point >= Fraction(a)) and (b is None or point <= Fraction(b))
    ]
    found = WHOLE.range(a, b, level="0.9")
    assert found.value == pytest.approx(sum(kept), abs=1e-9)
    assert (found.low, found.high, found.level) == (sum(kept), sum(kept), Fraction(9, 10))


@pytest.mark.parametrize("level", ["0.5", "0.99"])
def test_ranges_and_quantiles_have_the_intervals_of_the_tree_at_the_level(level: str) -> None:
    answer = answered((), [100 * count for count in COUNTS["a"]], noise=Geometric("0.1"))
    tree, chance = answer._tree(()), 1 - Fraction(level)
    for first, last in ((0, 8), (2, 2), (3, 7)):
        low, high = tree.interval(first, last, chance)
        found = answer.range(POINTS[first], POINTS[last], level=level)
        assert (found.low, found.high) == (max(low, 0), high)
    for q in ("0.1", "0.5"):
        for kind in ("disc", "cont"):
            place = tree.quantile(q, chance, kind)  # type: ignore[arg-type]
            estimate = answer.quantile(q, kind=kind, level=level)  # type: ignore[arg-type]
            assert estimate.value == pytest.approx(1 + place.point / 2)
            assert (estimate.low, estimate.high) == (1 + place.low / 2, 1 + place.high / 2)


def test_each_group_has_its_own_tree_and_others_are_refused() -> None:
    for key, counts in COUNTS.items():
        for group in (key, (key,), [key]):
            assert GROUPS.range(group=group).value == pytest.approx(sum(counts))
    assert GROUPS.quantile("0.5", group="b").value == 3
    for wrong in ((), "d", ("a", "b")):
        with pytest.raises(InvalidParameter, match="such as"):
            GROUPS.range(group=wrong)
    with pytest.raises(InvalidParameter, match="no groups"):
        WHOLE.range(group="a")


@pytest.mark.parametrize(
    ("step", "points"), [("0.5", [1, 1.5, 2]), ("1", [1, 2, 3]), ("1/4", [1, 1.25, 1.5])]
)
def test_a_distribution_function_is_told_at_the_points_of_the_column(step: str, points: list[float]) -> None:
    found = answered((), [4, 0, 6], step=step).cdf().to_pydict()
    assert found == {"x": points, "value": [4, 4, 10], "low": [4, 4, 10], "high": [4, 4, 10]}
    assert {type(point) for point in found["x"]} == {int if step == "1" else float}


def test_shares_allow_for_the_error_in_the_number_of_rows() -> None:
    """The least share is the fewest rows up to a value among the most rows in all, and so on; 1 at most."""
    answer = answered((), [20, 0, 30, 50], noise=Geometric("0.4"))
    low, high = answer._tree(()).band(Fraction(1, 10))
    assert low[-1] < 100 < high[-1]
    found = answer.cdf(shares=True, level="0.9").to_pydict()
    assert found["value"] == pytest.approx([0.2, 0.2, 0.5, 1.0])
    assert found["low"] == pytest.approx([max(each, 0) / high[-1] for each in low.tolist()])
    assert found["high"] == pytest.approx([min(max(each, 0) / low[-1], 1.0) for each in high.tolist()])
    nobody = answered((), [0, 0, 0, 0], noise=Geometric("0.4")).cdf(shares=True).to_pydict()
    assert all(0 <= each <= 1 for name in ("value", "low", "high") for each in nobody[name])
    assert nobody["low"] == [0, 0, 0, 0]


def test_an_excerpt_is_spread_evenly_over_the_values_of_the_first_groups() -> None:
    every = GROUPS.excerpt()
    assert len(every) == 27
    assert GROUPS.excerpt(27) == every
    few = GROUPS.excerpt(9)
    assert [keys for keys, _, _ in few] == [(key, Fraction(x)) for key in "abc" for x in (1, 3, 5)]
    sums = {key: np.cumsum(counts)[[0, 4, 8]].tolist() for key, counts in COUNTS.items()}
    assert [float(value) for _, value, _ in few] == pytest.approx(
        [each for key in "abc" for each in sums[key]]
    )
    assert all(bar.low <= value <= bar.high for _, value, bar in few)
    # Both ends at least, of as many groups as there is room for.
    assert [keys for keys, _, _ in GROUPS.excerpt(4)] == [(key, Fraction(x)) for key in "ab" for x in (1, 5)]
    assert [keys for keys, _, _ in GROUPS.excerpt(1)] == [("a", Fraction(1)), ("a", Fraction(5))]


def test_only_a_clamped_excerpt_is_cut_off_at_0() -> None:
    answer = answered((), [0] * 40, noise=Geometric("0.01"))
    lower = replace(answer, cells=(tuple(np.array(answer.cells[0]) - 500),))
    for clamp in (False, True):
        shown = replace(lower, clamp=clamp).excerpt(5)
        assert len(shown) == 5
        assert all((value == 0) if clamp else (value < 0) for _, value, _ in shown)
        assert all(bar.low <= value <= bar.high for _, value, bar in shown)


def test_a_picture_has_a_curve_with_its_band_for_every_group() -> None:
    ax = GROUPS.plot()
    assert [line.get_label() for line in ax.get_lines()[:3]] == ["a", "b", "c"]
    assert ax.get_xlabel() == "x"
    last = [np.asarray(line.get_ydata(), float)[-1] for line in ax.get_lines()[:3]]
    assert last == pytest.approx([20, 9, 9])
