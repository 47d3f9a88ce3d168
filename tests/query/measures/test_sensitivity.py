"""Whole persons as neighbours: every small table, every pair, every kind of query; prices and plans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, combinations_with_replacement, product, zip_longest
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import dovetail as dv
from dovetail.answers import Plan
from dovetail.errors import BudgetExceeded, BudgetMismatch, InvalidParameter, InvalidQuery, UnsupportedSQL
from dovetail.ledger import Ledger
from dovetail.noise import Geometric, PiecewiseGeometric
from dovetail.pricing.composition import charge_of
from dovetail.pricing.plans import noises_for, slots_for
from dovetail.pricing.sensitivity import moves
from dovetail.privacy import Charge, partitions, privacy_loss, split_charge
from dovetail.query import Count, CountDistinct, Histogram, Linear, Mean, Quantiles, Schema, Sum, Variance
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Field
from dovetail.query.measures.sensitivity import MOST_WAYS
from dovetail.query.neighbours import Neighbours, Persons
from engine_tables import SmallTables
from neighbour_changes import changed, lies_below, merges_below
from toy_measures import AskDeviation, AskLadder

LOW, HIGH = -2, 3
ROWS = list(product(("A", "B", None), (None, LOW, HIGH)))
QUERIES: list[Any] = [
    Count("x >= 0"),
    Histogram("x", keys=[LOW, HIGH, None]),
    Sum("x", low=LOW, high=HIGH, step=1),
    Sum("x", low=1, high=HIGH, step=1, by=("x",), keys=[LOW, HIGH]),
    Sum("y", low=LOW, high=HIGH, step=1, by=("x",), keys=[LOW, HIGH]),
    Mean("x", low=LOW, high=HIGH, step=1),
    Mean("x", low=LOW, high=HIGH, step=1, by=("x",), keys=[LOW, HIGH]),
    Linear("x", {LOW: 1, HIGH: "-0.5", None: "0.25"}, step="0.25"),
    CountDistinct(),
    CountDistinct("x", keys=[LOW, HIGH, None]),
    AskLadder("x", LOW, HIGH),
    AskLadder("x", LOW, HIGH, by=("y",), keys=[LOW, HIGH]),
    AskDeviation("x", LOW, HIGH),
    Variance("x", LOW, HIGH, 1),
    Quantiles("x", (0.5,), LOW, HIGH, 1, by=("y",), keys=[LOW, HIGH]),
]
Table = tuple[int, ...]


def tables() -> Iterator[Table]:
    """Yield every table of up to three rows as the sorted places of its rows in ROWS."""
    for size in range(4):
        yield from combinations_with_replacement(range(len(ROWS)), size)


@pytest.fixture(scope="module")
def small() -> SmallTables[Table]:
    rows = {places: [ROWS[place] for place in places] for places in tables()}
    return SmallTables(
        "person VARCHAR, x BIGINT, y BIGINT",
        {places: [(person, x, x and 1 - x) for person, x in each] for places, each in rows.items()},
    )


def neighbouring(kind: Neighbours) -> Iterator[tuple[Table, Table]]:
    """Yield each pair that is equal but for one person with all their rows, or for who took their place."""
    without: dict[Table, list[Table]] = defaultdict(list)
    for places in tables():
        for person in ("A", "B"):
            rest = tuple(place for place in places if ROWS[place][0] != person)
            if rest != places:
                without[rest].append(places)
    for rest, others in without.items():
        yield from ((rest, one) for one in others) if kind == "add-remove" else combinations(others, 2)


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize(("rows", "cells"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_no_person_moves_an_answer_further_than_declared(
    query: Any, rows: int, cells: int, small: SmallTables[Table]
) -> None:
    known = Schema().table(small.engine.columns())
    question = replace(query.checked(known), persons=Persons(known.field("person"), rows, cells))
    found = small.cells(question, b"secret")
    parted = any(component.parts > 1 for component in question.measure.components())
    for kind in ("add-remove", "replace"):
        merged = moves(question, kind, grows=True)
        # Of several rows in several parts, only rates that grow outward are priced.
        listed = moves(question, kind) if rows == 1 or not parted else ()
        largest = 0
        for one, another in neighbouring(kind):
            change = changed(question, found[one], found[another])
            covered = any(lies_below(change, move) for move in listed)
            assert covered or not listed, (kind, one, another, change)
            assert any(lies_below(change, move) or merges_below(change, move) for move in merged), (
                kind,
                one,
                another,
                change,
            )
            largest = max([largest, *(abs(by) for each in change for by in each)])
        if kind == "add-remove":
            # The check has power: some pair reaches the declared sensitivity, so a smaller one would fail.
            assert largest == max(shift.by for move in merged for shift in move)


def visits(query: Any, rows: int, cells: int) -> CheckedQuery:
    made: CheckedQuery = query.checked(Schema([dv.Column("k", "integer"), dv.Column("x", "integer")]).table())
    return replace(made, persons=Persons(Field("person", "text"), rows, cells))


GROUPED = Histogram("k", keys=list(range(10)))
# Rows that come can move a sum further the way that rows which leave have moved it.
SIGNED = Sum("x", low=-2, high=2, step=1, by=("k",), keys=range(10))
growing = st.lists(st.integers(1, 40), min_size=1, max_size=3).map(
    lambda steps: PiecewiseGeometric(
        [f"{sum(steps[: n + 1])}/40" for n in range(len(steps))], [2 * n + 1 for n in range(len(steps) - 1)]
    )
)


@settings(max_examples=40)
@given(
    growing,
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["add-remove", "replace"]),
    st.sampled_from([GROUPED, SIGNED]),
)
@example(PiecewiseGeometric(["1/20", "1/2"], [3]), 2, 2, "replace", SIGNED)
def test_one_cell_is_the_worst_split_where_rates_grow_outward(
    noise: PiecewiseGeometric, rows: int, cells: int, neighbours: Neighbours, query: Any
) -> None:
    """The price from the concentrated move is above that of every listed way to spread a person's rows."""
    # Of so many ways to replace six rows in signed sums, a cover stands that is up to twice as dear.
    assume(rows < 6 or neighbours == "add-remove" or query is GROUPED)
    question = visits(query, rows, cells)
    price = charge_of([question], [[noise]], neighbours)
    for move in moves(question, neighbours, grows=False):
        spread = privacy_loss(noise, sensitivity=tuple(shift.by for shift in move)).charge()
        assert Charge.largest(price, spread) == price or _nearly(price, spread)
    if neighbours == "add-remove" and query is GROUPED:
        worst = split_charge(noise, cells=cells, per_cell=rows, total=rows)
        assert _nearly(price, worst)


def _nearly(price: Charge, other: Charge) -> bool:
    """Tell whether a charge is at most another, but for what rounding up adds."""
    pairs = [
        (price.epsilon_units, other.epsilon_units),
        (price.zeta_units, other.zeta_units),
        *zip(price.renyi_units, other.renyi_units, strict=True),
    ]
    return all(a is not None and b is not None and b <= a + 2 for a, b in pairs)


@pytest.mark.parametrize(
    ("query", "up", "down"),
    [
        (Sum("x", low=-5, high=5, step=1, by=("k",), keys=range(6)), 5, 5),
        (Sum("x", low=-2, high=5, step=1, by=("k",), keys=range(6)), 5, 2),
        (Sum("x", low=0, high=5, step=1, by=("k",), keys=range(6)), 5, 0),
    ],
)
@pytest.mark.parametrize(("rows", "cells"), [(2, 2), (3, 2), (3, 3)])
def test_every_way_to_replace_a_person_lies_below_a_move(
    query: Any, up: int, down: int, rows: int, cells: int
) -> None:
    """All ways that rows leave and come, whatever the noise; and nothing much larger is charged."""
    listed = moves(visits(query, rows, cells), "replace")
    ways = [
        way for way in product(range(rows + 1), repeat=6) if sum(way) <= rows and sum(map(bool, way)) <= cells
    ]
    most = 0
    for old, new in product([way for way in ways if way == tuple(sorted(way, reverse=True))], ways):
        change = [up * max(a, b) + down * min(a, b) for a, b in zip(old, new, strict=True) if a or b]
        assert any(lies_below([change], move) for move in listed), (old, new)
        most = max(most, sum(change))
    assert max(sum(shift.by for shift in move) for move in listed) == most


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 5, MOST_WAYS, MOST_WAYS + 1])
def test_every_way_to_replace_rows_of_a_mean_lies_below_a_move(rows: int, grows: bool) -> None:
    """Rows that come move the sum further and bring the count back, as many as they are."""
    listed = moves(visits(Mean("x", low=-4, high=6, step=1), rows, 1), "replace", grows)
    for leave in range(rows + 1):
        for come in range(rows + 1):
            change = [[10 * (leave + come)], [abs(leave - come)]]
            seen = [[by for by in each if by] for each in change]
            assert any(lies_below(seen, move) for move in listed), (leave, come)
    # It is tight: no move goes beyond all of them.
    assert max(shift.by for move in listed for shift in move if shift.component == 0) == 20 * rows
    assert max(shift.by for move in listed for shift in move if shift.component == 1) == rows


@pytest.mark.parametrize(("low", "high"), [(-5, 5), (-2, 5)])
def test_of_very_many_ways_to_replace_a_person_none_lies_above_the_moves(low: int, high: int) -> None:
    """Twelve rows in twelve cells: more ways than are listed, so they are covered by larger ones."""
    question = visits(Sum("x", low=low, high=high, step=1, by=("k",), keys=range(12)), 6, 6)
    assert len(list(partitions(12, 12, 12))) > MOST_WAYS
    listed, spreads = moves(question, "replace"), [(), *partitions(6, 6, 6)]
    for old, new in product(spreads, spreads):
        # In the same cells, or in others.
        for kept in (new, (0,) * len(old) + new):
            pairs = zip_longest(old, kept, fillvalue=0)
            change = [high * max(a, b) - low * min(a, b) for a, b in pairs]
            assert any(lies_below([[by for by in change if by]], move) for move in listed), (old, kept)


def test_falling_rates_are_priced_by_their_worst_split() -> None:
    """The counterexample of the guarantees: (2, 2) costs 9.78, (4) only 5.10."""
    noise = PiecewiseGeometric(["2.444", "0.103"], [2])
    one, split = (charge_of([visits(GROUPED, 4, cells)], [[noise]], "add-remove") for cells in (1, 2))
    assert one.epsilon_units == pytest.approx(5_094_000_000, abs=1e7)
    assert split.epsilon_units == pytest.approx(9_776_000_000, abs=1e7)
    with pytest.raises(InvalidParameter, match="grow outward"):
        charge_of([visits(GROUPED, 40, 40)], [[noise]], "add-remove")


@pytest.mark.parametrize("kind", ["add-remove", "replace"])
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize(
    "query",
    [
        Quantiles("x", (0.5,), 0, 9, 1),
        dv.Ranges("x", 0, 9, 1, by=("k",), keys=[1, 2]),
        dv.Marginals("k", "x", keys={"k": [1, 2], "x": [1, 2]}, strategy="joint"),
    ],
    ids=str,
)
def test_rows_of_a_person_in_several_parts_need_rates_that_grow_outward(
    query: Any, cells: int, kind: Neighbours
) -> None:
    """Two rows may lie in two parts of one cell; of falling rates that costs more than two rows in one."""
    falling = PiecewiseGeometric([1, "0.2"], [1])
    apart, alike = (privacy_loss(falling, sensitivity=by).worst for by in ((1, 1), 2))
    assert apart > alike
    question = visits(query, 2, cells)
    levels = len(question.measure.components())
    with pytest.raises(InvalidParameter, match="grow outward"):
        charge_of([question], [[falling] * levels], kind)
    growing = charge_of([question], [[Geometric("0.5")] * levels], kind)
    assert growing.epsilon == levels * (1 if kind == "add-remove" else 2)


@pytest.mark.parametrize(
    ("query", "rows", "cells", "neighbours", "expected"),
    [
        (Count(), 5, 2, "add-remove", {(0, 5)}),
        (Count(), 5, 2, "replace", {(0, 5)}),
        (GROUPED, 5, 2, "add-remove", {(0, 5)}),
        (Sum("x", low=-2, high=3, step=1), 5, 5, "replace", {(0, 25)}),
        (Mean("x", low=0, high=10, step=1), 2, 1, "add-remove", {(0, 20), (1, 2)}),
        (CountDistinct(), 5, 2, "replace", {(0, 1)}),
    ],
    ids=str,
)
def test_sensitivities_of_persons(
    query: Any, rows: int, cells: int, neighbours: Neighbours, expected: set[tuple[int, int]]
) -> None:
    (move,) = moves(visits(query, rows, cells), neighbours, grows=True)
    assert {(shift.component, shift.by) for shift in move} == expected


def test_a_person_in_many_cells_counts_once_in_each() -> None:
    question = visits(CountDistinct("k", keys=list(range(10))), 7, 4)
    assert [[len(m) for m in moves(question, kind)] for kind in ("add-remove", "replace")] == [[4], [8]]
    assert charge_of([question], [[Geometric("0.1")]], "add-remove").epsilon_units == 400_000_000
    assert slots_for(Plan(1, Geometric("0.1"), 9, Charge.zero(), "add-remove"), question) == 4


def test_a_plan_covers_a_person() -> None:
    """One slot pays for a histogram of persons; its noise is stretched to what a person can do."""
    for noise in (Geometric("0.5"), PiecewiseGeometric(["0.2", 1], [5])):
        plan = Plan(1, noise, 9, Charge.zero(), "add-remove")
        question = visits(GROUPED, 6, 3)
        assert slots_for(plan, question) == 1
        cost = charge_of([question], [noises_for(plan, question)], "add-remove")
        slot = privacy_loss(noise).charge()
        assert Charge.largest(cost, slot) == slot
    falling = Plan(1, PiecewiseGeometric([1, "0.2"], [5]), 9, Charge.zero(), "add-remove")
    assert slots_for(falling, visits(GROUPED, 6, 3)) == 3


VISITS = pyarrow.table(
    {
        "person": [f"p{n % 500}" for n in range(2000)] + [None] * 300,
        "k": [n % 7 for n in range(2300)],
        "x": [float(n % 10) for n in range(2300)],
    }
)
SCHEMA = Schema(
    [dv.Column("k", "integer", values=list(range(7))), dv.Column("x", "number", low=0, high=10, step=1)]
)


def opened(folder: Path, **options: Any) -> dv.Session:
    given = {"unit": "person", "max_rows": 3, "budget": dv.Budget.pure(100)} | options
    return dv.Session(VISITS, name="visits", schema=SCHEMA, ledger=folder / "visits.ledger", **given)


def test_a_session_protects_persons_and_says_so(tmp_path: Path) -> None:
    with opened(tmp_path, max_cells=2) as session:
        noise = Geometric(1)
        count = session.count(noise=noise)
        # 500 persons with 4 rows each, 3 of them used; the noise is stretched to 3 rows.
        assert abs(count.value - 1500) < 90
        assert count.noise == noise.stretched(3)
        assert count.charge.epsilon_units == 10**9
        assert "person added or removed" in str(count)
        assert "at most 3 rows" in str(count)
        assert "rows without person are left out" in str(count)
        persons = session.count_distinct(where="x >= 0", noise=noise)
        assert abs(persons.value - 500) < 30
        each = session.count_distinct("k", noise=noise)
        assert each.charge.epsilon_units == 2 * 10**9
        assert abs(sum(each.value) - 1000) < 7 * 30
        assert abs(sum(session.histogram("k", noise=noise).value) - 1500) < 7 * 90
        assert session.histogram("k", spend=dv.Budget.pure("0.5")).charge.epsilon_units == 500_000_000
        assert session.histogram("k", within=20).noise.error_bound("0.05") <= 20
        table = session.sql(
            "SELECT k, COUNT(DISTINCT person) AS n, COUNT(*) FROM data GROUP BY k", noise=noise
        )
        assert table.table.column_names[:2] == ["k", "n"]
        assert '"unit": ["person", "text"]' in table.to_json()
        with pytest.raises(UnsupportedSQL, match=r"Write COUNT\(DISTINCT person\)"):
            session.sql("SELECT COUNT(DISTINCT k) FROM data", noise=noise)


def test_other_bounds_are_another_question_but_the_same_promise(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        first = session.count(noise=Geometric(1))
    with opened(tmp_path, max_rows=2) as session:
        second = session.count(noise=Geometric(1))
        assert not second.stored
        assert str(session.remaining) == "epsilon 98"
    with opened(tmp_path) as session:
        assert session.count(noise=Geometric(1)).value == first.value


@pytest.mark.parametrize(
    "other", [{"neighbours": "replace"}, {"unit": None, "max_rows": None}, {"unit": "k"}]
)
def test_charges_of_another_meaning_are_not_added(tmp_path: Path, other: dict[str, Any]) -> None:
    with opened(tmp_path) as session:
        session.count(noise=Geometric(1))
    with pytest.raises(BudgetMismatch, match=r"protects a person \('person'\) added or removed, not a"):
        opened(tmp_path, **other)


def test_a_second_budget_may_protect_something_else(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.count(noise=Geometric(1))
    with Ledger.open(tmp_path / "visits.ledger") as ledger:
        source = "memory://rows"
        ledger.account("rows", budget=dv.Budget.pure(1), source=source, share=False)
    with dv.Session(VISITS, name="rows", schema=SCHEMA, ledger=tmp_path / "visits.ledger") as session:
        assert session.count(noise=Geometric("0.5")).neighbours == "add-remove"


def test_a_planned_session_protects_persons(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dv.Budget.approximate(1, "1e-6"), queries=3) as session:
        assert abs(session.count().value - 1500) < 500
        session.mean("x", low=0, high=10, step=1)
        with pytest.raises(BudgetExceeded):
            session.histogram("k")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"unit": "nobody"}, InvalidQuery),
        ({"unit": "x"}, InvalidParameter),
        ({"max_rows": 0}, InvalidParameter),
        ({"max_rows": 2.5}, InvalidParameter),
        ({"max_cells": 0}, InvalidParameter),
        ({"unit": None}, InvalidParameter),
        ({"unit": None, "max_rows": None, "max_cells": 2}, InvalidParameter),
    ],
    ids=str,
)
def test_bounds_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        opened(tmp_path, **options)


def test_persons_are_only_counted_where_they_are_known(tmp_path: Path) -> None:
    with opened(tmp_path, unit=None, max_rows=None) as session, pytest.raises(InvalidQuery, match="unit="):
        session.count_distinct(noise=Geometric(1))
