"""Every table of up to three rows, every neighbour, every kind of query: the declared sensitivity holds."""

from math import inf, nan

import pyarrow
import pytest

from dovetail.engines import Source, connect
from dovetail.pricing.sensitivity import moves, units
from dovetail.query import Count, Histogram, Linear, Mean, Schema, Sum
from engine_tables import SmallTables
from neighbour_changes import changed, lies_below, neighbouring, tables

LOW, HIGH = -2, 3
VALUES = [None, LOW - 1, LOW, HIGH, HIGH + 1, nan, inf]
QUERIES = [
    Count(),
    Count("x >= 0"),
    Count("NOT (x = 3 OR x IS NULL)"),
    Histogram("x", bins=[LOW, 0, HIGH, 10]),
    Histogram("k", keys=[LOW, HIGH]),
    Histogram("k", keys=[LOW, HIGH, None]),
    Histogram("k", "x", keys={"k": [LOW, HIGH + 1]}, bins={"x": [-10, 0, 10]}),
    Sum("x", low=LOW, high=HIGH, step=1),
    Sum("x", low=LOW, high=HIGH, step="0.5"),
    Sum("x", low=1, high=HIGH, step=1),
    Sum("x", low=LOW, high=-1, step=1, where="x < 3"),
    Sum("k", low=LOW, high=HIGH, step=1, by=("x",), bins=[-10, 3.5, 20]),
    Mean("x", low=LOW, high=HIGH, step=1),
    Mean("x", low=1, high=HIGH, step="0.25", where="x > -3"),
    Mean("k", low=LOW, high=HIGH, step=1, by=("x",), bins=[-10, 3.5, 20]),
    Linear("k", {LOW: 1, HIGH: "-0.5", None: "0.25"}, step="0.25"),
    Linear("k", {LOW: "-1", HIGH: "-0.5"}, step="0.25"),
]


def whole(value: float | None) -> int | None:
    return int(value) if value in (LOW - 1, LOW, HIGH, HIGH + 1) else None  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def small() -> SmallTables[tuple[int, ...]]:
    rows = {places: [VALUES[place] for place in places] for places in tables(len(VALUES), 3)}
    return SmallTables(
        "x DOUBLE, k BIGINT",
        {places: [(value, whole(value)) for value in values] for places, values in rows.items()},
    )


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_no_neighbour_moves_an_answer_further_than_declared(
    query: Count, small: SmallTables[tuple[int, ...]]
) -> None:
    question = query.checked(Schema().table(small.engine.columns()))
    found = small.cells(question)
    for kind in ("add-remove", "replace"):
        listed, largest = moves(question, kind), 0
        for one, another in neighbouring(len(VALUES), 3, kind):
            change = changed(question, found[one], found[another])
            assert any(lies_below(change, move) for move in listed), (kind, one, another, change)
            largest = max([largest, *(abs(by) for each in change for by in each)])
        if query == Count() and kind == "replace":
            continue  # The number of rows is the same; a charge for 1 is on the safe side.
        # The check has power: some pair reaches the declared sensitivity, so a smaller one would fail.
        assert largest == max(shift.by for move in listed for shift in move)


def test_a_sum_under_replacement_needs_more_than_its_largest_value() -> None:
    question = Sum("x", low=LOW, high=HIGH, step=1).checked(_table())
    assert units(question) == (3,)
    assert max(s.by for move in moves(question, "replace") for s in move) == HIGH - LOW


def test_a_mean_is_priced_as_a_pair() -> None:
    question = Mean("x", low=LOW, high=HIGH, step=1).checked(_table())
    assert [[(s.component, s.by) for s in move] for move in moves(question, "add-remove")] == [
        [(0, 5), (1, 1)]
    ]
    assert [(0, 10)] in [[(s.component, s.by) for s in move] for move in moves(question, "replace")]


def _table():  # type: ignore[no-untyped-def]
    engine = connect(Source.of(pyarrow.table({"x": [1.0]}), name="one"))
    return Schema().table(engine.columns())
