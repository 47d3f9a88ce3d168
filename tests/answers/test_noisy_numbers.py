"""Arithmetic on noisy numbers: exact laws within an answer, a union over answers, ratios by inversion."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dv
from dovetail.answers import Answer
from dovetail.noise import Geometric, GeometricMixture, IntegerNoise
from dovetail.privacy import Charge, Remaining
from dovetail.query import Column, Count, Histogram, Mean, Schema, Sum
from dovetail.query.queries import Query

TABLE = Schema(
    [
        Column("k", "text", values=["a", "b", "c"]),
        Column("k2", "text", values=["u", "v"]),
        Column("x", "number"),
    ]
).table()
WHEN = datetime(2026, 1, 31, tzinfo=UTC)
NOISE = GeometricMixture("0.2", 1, 5)


def answer(query: Query, *cells: tuple[int, ...], noise: IntegerNoise = NOISE, later: int = 0) -> Answer:
    question = query.checked(TABLE)
    noises = (noise,) * len(question.measure.components())
    at, left = WHEN + timedelta(seconds=later), Remaining(Fraction(1))
    return Answer("t", question, noises, cells, Charge.zero(), "add-remove", at, left)


HISTOGRAM = answer(Histogram("k"), (100,), (50,), (-3,))


def least_width(noise: IntegerNoise, weights: list[int], chance: float) -> int:
    """Return the least t with P(|sum of weight·Y| > t) <= chance, by direct convolution."""
    law = np.ones(1)
    for weight in weights:
        places = np.arange(-200, 201)
        one = np.zeros(400 * abs(weight) + 1)
        one[:: abs(weight)] = [noise.pmf(int(k)) for k in places]
        law = np.convolve(law, one)
    middle = len(law) // 2
    tails = np.cumsum(law[:middle][::-1][::-1])  # P(X <= -middle + i)
    return next(t for t in range(middle) if 2 * tails[middle - t - 1] <= chance * (1 + 1e-9))


def test_a_cell_has_the_value_and_the_interval_of_its_answer() -> None:
    for place, key in enumerate("abc"):
        number, bar = HISTOGRAM[key], HISTOGRAM.bars("0.9")[place]
        assert number.value == HISTOGRAM.value[place]
        assert number.interval("0.9") == (bar.low, bar.high)
    assert dict(HISTOGRAM.items())["b"].value == 50
    assert HISTOGRAM[("c",)].value == -3


@pytest.mark.parametrize("weights", [[1, 1], [1, -1], [2, 1, -3], [1, 1, 1]])
@pytest.mark.parametrize("level", ["0.8", "0.95", "0.999"])
def test_a_sum_within_one_answer_has_the_least_interval_of_its_exact_law(
    weights: list[int], level: str
) -> None:
    total = sum(weight * HISTOGRAM[key] for weight, key in zip(weights, "abc", strict=False))
    value = sum(weight * each for weight, each in zip(weights, (100, 50, -3), strict=False))
    low, high = total.interval(level)
    width = least_width(NOISE, weights, 1 - float(level))
    assert total.value == value
    assert (value - low, high - value) == (
        pytest.approx(width, abs=1e-6),
        pytest.approx(width, abs=1e-6),
    )


def test_a_number_less_itself_is_nothing_also_when_it_was_asked_for_again() -> None:
    again = answer(Histogram("k"), (100,), (50,), (-3,))
    for same in (HISTOGRAM["a"], again["a"]):
        gone = HISTOGRAM["a"] - same
        assert (gone.value, gone.interval()) == (0, (0, 0))
    other = answer(Histogram("k"), (100,), (50,), (-3,), later=1)["a"]
    assert (HISTOGRAM["a"] - other).high > 0


def test_over_answers_bars_are_added_each_with_its_share_of_the_chance() -> None:
    other = answer(Count(), (7,), noise=Geometric("0.3"), later=1)
    both = HISTOGRAM["a"] + HISTOGRAM["b"] - other
    share = Fraction(1, 20) / 2
    width = least_width(NOISE, [1, 1], float(share)) + Geometric("0.3").error_bound(share)
    assert both.value == 143
    assert both.high - 143 == pytest.approx(width, abs=1e-6)


def test_sums_on_a_lattice_and_means_take_part() -> None:
    total = answer(Sum("x", 0, 9, "0.5"), (41,))
    assert (total * 2 + 1).value == 42
    assert (total * 2 + 1).interval() == tuple(2 * end + 1 for end in total.interval())
    mean = answer(Mean("x", 0, 9, "0.5"), (0, 1000))
    assert (mean - mean).interval() == (0, 0)
    shifted = mean - 1
    assert [end + 1 for end in shifted.interval()] == pytest.approx(mean.interval())


def test_clamped_numbers_are_shown_clamped_and_added_as_released() -> None:
    clamped = replace(HISTOGRAM, clamp=True)
    assert (clamped["c"].value, clamped["c"].low) == (0, 0)
    for key in "abc":
        low, high = HISTOGRAM[key].interval("0.9")
        assert clamped[key].interval("0.9") == (max(low, 0), max(high, 0))
    assert clamped["c"].high > 0
    assert (clamped["c"] + clamped["b"]).value == 47


def test_only_released_integers_that_are_not_cut_off_have_symmetric_bars() -> None:
    mean = answer(Mean("x", 0, 9, "0.5"), (0, 1000)).number
    assert (HISTOGRAM["a"] - 2 * HISTOGRAM["c"]).plainly_released
    assert not replace(HISTOGRAM["a"], clamp=True).plainly_released
    assert not mean.plainly_released
    assert not (mean + HISTOGRAM["a"]).plainly_released
    assert not HISTOGRAM.consistent()["a"].plainly_released


def coverage(level: Fraction, above: tuple[int, ...], below: tuple[int, ...]) -> float:
    """Return the exact chance that the interval of a/(a + b) holds, over all draws up to 3."""
    noise, true, reach = Geometric(2), (30, 20), 3
    held = 0.0
    for drawn in product(range(-reach, reach + 1), repeat=2):
        cells = tuple((count + more,) for count, more in zip(true, drawn, strict=True))
        found = answer(Histogram("k", keys=["a", "b"]), *cells, noise=noise)
        parts = [found["a"], found["b"]]
        ratio = sum(n * p for n, p in zip(above, parts, strict=True)) / sum(
            n * p for n, p in zip(below, parts, strict=True)
        )
        truth = sum(n * t for n, t in zip(above, true, strict=True)) / sum(
            n * t for n, t in zip(below, true, strict=True)
        )
        low, high = ratio.interval(level)
        held += (low <= truth <= high) * float(noise.pmf(drawn[0]) * noise.pmf(drawn[1]))
    return held


@pytest.mark.parametrize(("above", "below"), [((1, 0), (0, 1)), ((1, 0), (1, 1))])
def test_a_ratio_holds_as_often_as_it_says_by_enumeration(
    above: tuple[int, ...], below: tuple[int, ...]
) -> None:
    held = coverage(Fraction(4, 5), above, below)
    assert held >= 0.8
    # An interval of half the chance would hold more often than this.
    assert held < 0.99


def test_a_ratio_is_narrower_than_its_box_and_unlimited_where_it_may_divide_by_nothing() -> None:
    ratio = HISTOGRAM["a"] / (HISTOGRAM["a"] + HISTOGRAM["b"])
    share = Fraction(1, 40)
    above, below = HISTOGRAM["a"].bar(1 - share), (HISTOGRAM["a"] + HISTOGRAM["b"]).bar(1 - share)
    assert above.low / below.high < ratio.low < ratio.value < ratio.high < above.high / below.low
    assert (HISTOGRAM["a"] / HISTOGRAM["c"]).interval() == (-np.inf, np.inf)
    assert (HISTOGRAM["a"] / HISTOGRAM["a"]).interval() == (1, 1)
    nothing = HISTOGRAM["a"] / (HISTOGRAM["b"] - 50)
    assert (nothing.value, nothing.interval()) == (0, (-np.inf, np.inf))
    assert "unlimited" in str(HISTOGRAM["a"] / HISTOGRAM["c"])


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_values_follow_the_rules_of_arithmetic(one: int, two: int, three: int) -> None:
    a, b, c = (HISTOGRAM[key] for key in "abc")
    made = one * a - (two * b + 3) / 4 + 2 * (three * c)
    assert made.exact == one * 100 - Fraction(two * 50 + 3, 4) - 6 * three


def test_signs_turn_with_their_intervals() -> None:
    a, (low, high) = HISTOGRAM["a"], HISTOGRAM["a"].interval()
    assert ((-a).value, (-a).interval()) == (-100, (-high, -low))
    assert ((7 - a).value, (7 - a).interval()) == (-93, (7 - high, 7 - low))
    assert (a - a - a).interval() == (-high, -low)


def test_a_plain_number_is_divided_by_a_noisy_one() -> None:
    """6/a lies within 6 over the ends of a's interval, but for the share of the chance that steps take."""
    made, (low, high) = 6 / HISTOGRAM["a"], HISTOGRAM["a"].interval()
    assert made.exact == Fraction(6, 100)
    assert made.interval() == pytest.approx((6 / high, 6 / low), rel=0.02)
    with pytest.raises(TypeError):
        _ = "6" / HISTOGRAM["a"]


def test_cells_of_one_column_have_plain_keys_and_those_of_two_have_pairs() -> None:
    both = answer(Histogram("k", "k2"), *[(number,) for number in range(6)])
    assert [key for key, _ in HISTOGRAM.items()] == ["a", "b", "c"]
    assert [key for key, _ in both.items()] == [(one, two) for one in "abc" for two in "uv"]
    assert [number.value for _, number in both.items()] == list(range(6))
    assert [(key, number.value) for key, number in answer(Count(), (7,)).items()] == [((), 7)]


@pytest.mark.parametrize("level", ["0.3", "0.6", "0.85", "0.99"])
def test_products_are_boxes_of_both_intervals_each_with_half_of_the_chance(level: str) -> None:
    made, half = HISTOGRAM["a"] * HISTOGRAM["c"], 1 - (1 - Fraction(level)) / 2
    ends = product(*(HISTOGRAM[key].interval(half) for key in "ac"))
    corners = [one * other for one, other in ends]
    assert made.value == -300
    assert made.interval(level) == (min(corners), max(corners))
    assert (made * 2).exact == -600


def test_ends_that_floats_hold_are_told_as_they_are() -> None:
    count = answer(Count(), (100,))
    low, high = count.interval()
    assert count.number.interval() == (low, high)
    assert (count / 4).interval() == (low / 4, high / 4)
    assert (count / -8).interval() == (high / -8, low / -8)


@pytest.mark.parametrize("by", [3, 7, -3, 10**20 + 1])
def test_ends_that_no_float_can_hold_go_outward_to_the_next_one(by: int) -> None:
    number = (HISTOGRAM["a"] + 1) / by
    bar, (low, high) = number.bar(), number.interval()
    assert Fraction(low) <= bar.low < Fraction(np.nextafter(low, np.inf))
    assert Fraction(np.nextafter(high, -np.inf)) < bar.high <= Fraction(high)


def test_bars_are_drawn_with_the_keys_of_their_cells() -> None:
    both = answer(Histogram("k", "k2"), *[(number,) for number in range(6)])
    for made, names in ((answer(Count(), (7,)), ["answer"]), (HISTOGRAM, ["a", "b", "c"])):
        with mock.patch("dovetail.plots.bars.draw_bars") as drawn:
            made.plot()
        assert drawn.call_args.args[0] == names
        assert drawn.call_args.args[1] == made.table["value"].to_pylist()
        assert drawn.call_args.args[2] == list(
            zip(*(made.table[end].to_pylist() for end in ("low", "high")), strict=True)
        )
        assert not drawn.call_args.kwargs["times"]
    with mock.patch("dovetail.plots.grid.draw_grid") as drawn:
        both.plot()
    assert drawn.call_args.args == (["a", "b", "c"], ["u", "v"], list(range(6)))
    assert drawn.call_args.kwargs["names"] == ("k", "k2")


def test_only_histograms_can_be_made_consistent() -> None:
    assert HISTOGRAM.consistent().value == [99, 48, 0]
    for other in (answer(Count(), (7,)), answer(Sum("x", 0, 9, "0.5", by=("k",)), (1,), (2,), (3,))):
        with pytest.raises(dv.InvalidQuery, match="histogram"):
            other.consistent()


def test_a_number_says_what_was_left_out_of_it() -> None:
    used = replace(HISTOGRAM["a"], bounded="at most 4 rows per person are used")
    assert "for the rows used: at most 4 rows" in repr(used + HISTOGRAM["b"])
    assert "rows used" not in repr(HISTOGRAM["a"] + HISTOGRAM["b"])


@pytest.fixture
def session(tmp_path: Path) -> Iterator[dv.Session]:
    with dv.Session(dv.datasets.adult(), budget=dv.Budget.pure(9), ledger=tmp_path / "a") as opened:
        yield opened


def test_answers_are_calculated_with_as_they_come(session: dv.Session) -> None:
    men = session.count(where="sex = 'Male'", noise=dv.Geometric(1))
    both = session.histogram("sex", "income", noise=dv.Geometric(1))
    assert 0.6 < (men / 32561).value < 0.7
    assert abs((men - both["Male", ">50K"] - both["Male", "<=50K"]).value) < 100
    assert "with probability 95 %" in repr(both["Male", ">50K"])
    with pytest.raises(dv.InvalidParameter, match="Female and <=50K"):
        both["Male"]
    with pytest.raises(dv.InvalidQuery, match="table"):
        both + 1
    with pytest.raises(TypeError):
        men + "1"
    with pytest.raises(TypeError):
        list(both)
