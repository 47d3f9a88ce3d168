"""What bounds keep: shares with intervals that hold, and the bound that loses least."""

from dataclasses import fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dv
from dovetail.answers import Answer, ContributionsAnswer, read_answer
from dovetail.noise import Geometric, IntegerNoise
from dovetail.privacy import Charge, Remaining
from dovetail.query import Column, Contributions, Schema
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Field
from dovetail.query.neighbours import Persons

SCHEMA = Schema([Column("ward", "text", values=["x", "y"])])
TRUE = (40, 30, 20, 10, 6, 3, 1, 2)
NOISE = Geometric("0.7")


def answer(
    rows: tuple[int, ...], cells: tuple[int, ...] = (), noise: IntegerNoise = NOISE
) -> ContributionsAnswer:
    asked = Contributions(("ward",) if cells else (), len(rows), len(cells) or None).checked(SCHEMA.table())
    persons = asked.measure.tallied(Persons(Field("id", "text"), 0, 0))
    question = CheckedQuery(asked.measure, (), None, persons)
    noises = (noise,) * len(asked.measure.components())
    when, left = datetime(2026, 1, 31, tzinfo=UTC), Remaining(Fraction(1))
    made = ((*rows, *cells),)
    return ContributionsAnswer("v", question, noises, made, Charge.zero(), "add-remove", when, left)


def share(persons: tuple[int, ...], bound: int) -> float:
    rows = sum(number * many for number, many in enumerate(persons, start=1))
    return sum(min(number, bound) * many for number, many in enumerate(persons, start=1)) / rows


def test_without_noise_the_share_is_exact() -> None:
    quiet = answer(TRUE, noise=Geometric(60))
    for bound in range(1, len(TRUE) + 1):
        found = quiet.kept(max_rows=bound)
        assert found.value == pytest.approx(share(TRUE, bound))
        assert found.low == found.value == found.high
    assert quiet.kept(max_rows=len(TRUE)).value == quiet.kept(max_rows=99).value == 1


def test_clamped_counts_of_persons_lie_within_their_intervals() -> None:
    noisy = replace(answer((4, -3, 0, -30), (2, -7)), clamp=True)
    for what, shown in (("rows", [4, 0, 0, 0]), ("cells", [2, 0])):
        table = noisy.table_of(what).to_pydict()
        assert table["value"] == shown
        assert all(
            0 <= low <= value <= high
            for value, low, high in zip(*(table[each] for each in ("value", "low", "high")), strict=True)
        )


def test_the_interval_of_a_share_holds_as_often_as_it_says() -> None:
    """Of 600 draws at 0.8, more misses than this have a chance of 1e-9; an eighth of the width is noticed."""
    level, draws, missed, missed_narrow = Fraction(4, 5), 600, 0, 0
    truth = share(TRUE, 2)
    for _ in range(draws):
        noisy = tuple(many + int(NOISE.sample()) for many in TRUE)
        found = answer(noisy).kept(max_rows=2, level=level)
        missed += not found.low <= truth <= found.high
        low, high = (found.value + (end - found.value) / 8 for end in (found.low, found.high))
        missed_narrow += not low <= truth <= high
    most = next(k for k in range(draws) if _tail(draws, k, 0.2) < 1e-9)
    assert missed < most
    assert missed_narrow >= most, "an eighth of the width would go unnoticed"


def _tail(draws: int, least: int, chance: float) -> float:
    return sum(comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(least, draws + 1))


@given(st.lists(st.integers(-20, 200), min_size=2, max_size=9), st.integers(1, 12))
def test_a_share_lies_within_its_interval_and_within_one(persons: list[int], bound: int) -> None:
    found = answer(tuple(persons)).kept(max_rows=bound)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_the_suggested_bound_has_the_least_sum_of_noise_and_rows_left_out() -> None:
    made = answer(TRUE, (60, 52), noise=Geometric(60)).suggest_bounds(dv.Budget.pure("0.5"), cells=2)
    lost = [
        sum(max(number - bound, 0) * many for number, many in enumerate(TRUE, start=1)) / 2
        for bound in range(1, len(TRUE) + 1)
    ]
    noise = [int(Geometric(Fraction(1, 2) / bound).error_bound(0.05)) for bound in range(1, len(TRUE) + 1)]
    off = [one + other for one, other in zip(lost, noise, strict=True)]
    assert made.max_rows == 1 + off.index(min(off))
    assert made.rows.left_out == tuple(lost)
    assert made.max_cells in (1, 2)
    assert f"max_rows={made.max_rows}" in str(made)


def test_cells_that_were_not_counted_are_pointed_out() -> None:
    with pytest.raises(dv.InvalidParameter, match="no cells were counted"):
        answer(TRUE).kept(max_cells=1)
    with pytest.raises(dv.InvalidParameter, match="no cells were counted"):
        answer(TRUE).table_of("cells")
    with pytest.raises(dv.InvalidParameter, match="what='persons'"):
        answer(TRUE).table_of("persons")
    with pytest.raises(dv.InvalidParameter, match="max_rows"):
        answer(TRUE).kept()
    with pytest.raises(dv.InvalidParameter, match="max_rows=0"):
        answer(TRUE).kept(max_rows=0)


def test_it_comes_back_from_json_as_what_it_is() -> None:
    made = answer(TRUE, (60, 52))
    again = read_answer(made.to_json())
    assert isinstance(again, ContributionsAnswer)
    assert again.kept(max_cells=1) == made.kept(max_cells=1)
    assert {field.name for field in fields(Answer)} == {field.name for field in fields(again)}
    assert made.plot().figure._repr_png_()[1:4] == b"PNG"
    assert "Rows kept by a bound: " in str(made)
