"""What is computed from the aggregates of a SELECT: exact laws, ratios by inversion, and boxes for many."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product
from unittest import mock

import pytest

from dovetail.answers import Answer, formula_values
from dovetail.answers.formula_values import bars_of, box_of, kept
from dovetail.noise import Geometric, IntegerNoise
from dovetail.privacy import Charge, Remaining
from dovetail.query import Column, Histogram, Mean, Schema
from dovetail.query.measures import Rows, Total, half_width
from dovetail.query.measures.error_bars import shared_chance
from dovetail.query.sql.formula import Aggregate, Computed, Formula, Number
from dovetail.query.sql.formula import Test as Comparison
from dovetail.query.sql.formula import Tests as Comparisons

TABLE = Schema([Column("k", "text", values=["a", "b"]), Column("x", "integer")]).table()
QUESTION = Mean("x", 1, 3, 1).checked(TABLE)
VALUES = QUESTION.measure.lattice()
assert VALUES is not None
SUM, COUNT = Aggregate(0, Total(VALUES, centred=True)), Aggregate(0, Rows())
RATIO = Computed("/", SUM, COUNT)
COUNT_NOISE: IntegerNoise = Geometric("1.5")
SUM_NOISE = COUNT_NOISE.stretched(2)
assert isinstance(SUM_NOISE, IntegerNoise)


def answer(*cells: tuple[int, int]) -> Answer:
    """Return what a mean releases: the sum of 2x - 4, and how many rows."""
    when, left = datetime(2026, 1, 31, tzinfo=UTC), Remaining(Fraction(1))
    noises = (SUM_NOISE, COUNT_NOISE)
    return Answer("t", QUESTION, noises, cells, Charge.zero(), "add-remove", when, left)


def coverage(level: Fraction, total: int, count: int, shorter: Fraction = Fraction(1)) -> float:
    """Return how often the interval of SUM/COUNT holds at least: draws beyond those tried count as missed."""
    held, truth = 0.0, Fraction(total + 4 * count, 2 * count)
    for s, c in product(range(-6, 7), range(-2, 3)):
        (bar,) = bars_of(RATIO, [answer((total + s, count + c))], [0], 1 - level, False)
        chance = float(SUM_NOISE.pmf(s) * COUNT_NOISE.pmf(c))
        if bar is None:
            held += chance
            continue
        middle, half = (bar.low + bar.high) / 2, (bar.high - bar.low) / 2 * shorter
        held += chance * (middle - half <= truth <= middle + half)
    return held


def test_a_ratio_of_aggregates_holds_as_often_as_it_says() -> None:
    level = Fraction(4, 5)
    assert coverage(level, total=20, count=12) >= level
    assert coverage(level, total=20, count=12, shorter=Fraction(1, 2)) < level


def test_a_ratio_is_as_narrow_as_the_mean_and_narrower_than_a_box(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer((60, 300))
    (ratio,) = bars_of(RATIO, [asked], [0], Fraction(1, 20), False)
    assert ratio is not None
    (mean,) = asked.bars(Fraction(19, 20))
    assert ratio.high - ratio.low <= mean.high - mean.low
    monkeypatch.setattr(formula_values, "MOST_INVERTED", 0)
    (box,) = bars_of(RATIO, [asked], [0], Fraction(1, 20), False)
    assert box is not None
    assert box.low < ratio.low < ratio.high < box.high
    assert ratio.high - ratio.low < (box.high - box.low) / 2


def test_noise_that_two_aggregates_share_cancels() -> None:
    """SUM - 2·COUNT is half of the released sum alone, whose law has no count in it."""
    formula: Formula = Computed("-", SUM, Computed("*", Number(Fraction(2)), COUNT))
    (bar,) = bars_of(formula, [answer((60, 300))], [0], Fraction(1, 20), False)
    width = Fraction(half_width(SUM_NOISE, Fraction(1, 20), 1), 2)
    assert bar is not None
    assert (bar.low, bar.high) == (30 - width, 30 + width)


def test_bars_of_all_cells_hold_at_once_where_cells_were_chosen() -> None:
    asked = answer((60, 300), (10, 300), (0, 300))
    alone, wide = (bars_of(RATIO, [asked], [0], Fraction(1, 20), way) for way in (False, True))
    assert alone[0] is not None
    assert wide[0] is not None
    assert wide[0].low < alone[0].low < alone[0].high < wide[0].high
    one = bars_of(RATIO, [asked], [0], Fraction(1, 60), False)[0]
    assert one is not None
    assert float(wide[0].high) == pytest.approx(float(one.high), rel=1e-3)


@pytest.mark.parametrize("adjusted", [(), (0,), (1,), (0, 1)])
def test_only_cells_that_all_err_alone_share_a_chance_as_independent_ones(adjusted: tuple[int, ...]) -> None:
    """Counts that were made consistent err together: of those, the chances to miss are added up."""
    counts = Histogram("k").checked(TABLE)
    when, left = datetime(2026, 1, 31, tzinfo=UTC), Remaining(Fraction(1))
    asked = [
        Answer("t", counts, (COUNT_NOISE,), ((300,), (200,)), Charge.zero(), "add-remove", when, left)
        for _ in range(2)
    ]
    asked = [each.consistent() if place in adjusted else each for place, each in enumerate(asked)]
    formula, chance = Computed("+", Aggregate(0, Rows()), Aggregate(1, Rows())), Fraction(9, 10)
    levels = []
    with mock.patch.object(formula_values, "_inverted", side_effect=lambda *given: levels.append(given[-1])):
        bars_of(formula, asked, [0, 1], chance, True)
        bars_of(formula, asked, [0, 1], chance, False)
    together = chance / 2 if adjusted else shared_chance(chance, 2)
    assert levels == [1 - together] * 2 + [1 - chance] * 2
    assert shared_chance(chance, 2) > chance / 2


def test_what_may_be_divided_by_nothing_has_no_interval() -> None:
    assert bars_of(RATIO, [answer((6, 1))], [0], Fraction(1, 20), False) == [None]
    nothing = Computed("/", SUM, Number(Fraction(0)))
    assert bars_of(nothing, [answer((6, 1))], [0], Fraction(1, 20), False) == [None]
    assert box_of(nothing, {SUM: asked_bars()}, 0) is None


@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
def test_a_box_holds_the_formula_of_all_numbers_within_the_intervals(sign: str) -> None:
    """Its ends are those of the four corners; what may divide by 0 has none."""
    by = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}
    ends = [(Fraction(low), Fraction(high)) for low, high in ((-3, 5), (1, 2), (-7, -4), (0, 6))]
    for one, two in product(ends, ends):
        bars = {SUM: [formula_values.Bar(*one)], COUNT: [formula_values.Bar(*two)]}
        found = box_of(Computed(sign, SUM, COUNT), bars, 0)
        if sign == "/" and two[0] <= 0 <= two[1]:
            assert found is None
            continue
        corners = [by[sign](a, b) for a in one for b in two]
        assert found == formula_values.Bar(min(corners), max(corners))


def asked_bars() -> list[formula_values.Bar]:
    return [formula_values.Bar(Fraction(1), Fraction(2))]


@pytest.mark.parametrize("sign", ["+", "-", "*"])
@pytest.mark.parametrize("count", [300, 1])
def test_what_is_clamped_keeps_its_own_interval_in_a_formula(sign: str, count: int) -> None:
    clamped = replace(answer((60, count)), clamp=True)
    (own,) = bars_of(COUNT, [clamped], [0], Fraction(1, 20), False)
    (bar,) = bars_of(Computed(sign, COUNT, Number(Fraction(5))), [clamped], [0], Fraction(1, 20), False)
    assert own is not None
    assert bar is not None
    by = {"+": lambda end: end + 5, "-": lambda end: end - 5, "*": lambda end: end * 5}[sign]
    assert (bar.low, bar.high) == (by(own.low), by(own.high))
    assert own.low == max(own.low, 0)


def test_tests_of_noisy_values_follow_the_logic_of_sql() -> None:
    """By the tables of the standard, None being unknown: here what is divided by 0."""
    tests: dict[bool | None, Comparison] = {
        True: Comparison("=", Number(Fraction(1)), Number(Fraction(1))),
        False: Comparison("<", Number(Fraction(1)), Number(Fraction(1))),
        None: Comparison(">", Computed("/", Number(Fraction(1)), Number(Fraction(0))), Number(Fraction(0))),
    }
    order = {False: 0, None: 1, True: 2}
    for one, other in product(tests, repeat=2):
        parts = (tests[one], tests[other])
        assert kept(Comparisons("and", parts), {}, 0) is min(one, other, key=order.__getitem__)
        assert kept(Comparisons("or", parts), {}, 0) is max(one, other, key=order.__getitem__)
    for one, turned in ((True, False), (False, True), (None, None)):
        assert kept(Comparisons("not", (tests[one],)), {}, 0) is turned


@pytest.mark.parametrize(
    ("sign", "less", "same", "more"),
    [
        ("=", False, True, False),
        ("<>", True, False, True),
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
def test_each_sign_compares_as_it_is_written(sign: str, less: bool, same: bool, more: bool) -> None:
    found = [kept(Comparison(sign, COUNT, Number(Fraction(7))), {COUNT: [Fraction(n)]}, 0) for n in (6, 7, 8)]
    assert found == [less, same, more]
