"""Every table of up to three rows, on PostgreSQL: no row moves an answer further there than is declared.

All tables lie in one, told apart by a number that each question names; a row is what an engine finds hardest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from math import inf, nan
from typing import Any

import pyarrow
import pytest

from dovetail.engines import Engine, connect
from dovetail.engines.aggregation import true_cells
from dovetail.pricing.sensitivity import moves, units
from dovetail.query import Count, Histogram, Mean, Schema, Sum
from engine_tables import into_postgres

LOW, HIGH = -2, 3
VALUES = [None, LOW - 1, LOW, HIGH, HIGH + 1, nan, inf, -inf, 1.7e308]
TABLES = [rows for size in range(4) for rows in combinations_with_replacement(range(len(VALUES)), size)]
NUMBERS = {rows: number for number, rows in enumerate(TABLES)}
QUERIES: dict[str, Callable[[str], Any]] = {
    "count": lambda where: Count(f"x >= 0 AND {where}"),
    "bins": lambda where: Histogram("x", bins=[LOW, 0, HIGH, 10], where=where),
    "sum": lambda where: Sum("x", LOW, HIGH, "0.5", where),
    "positive sum": lambda where: Sum("x", 1, HIGH, 1, where),
    "mean": lambda where: Mean("x", LOW, HIGH, 1, where),
}


@pytest.fixture(scope="module")
def engine(postgres_server: str) -> Iterator[Engine]:
    rows = [(NUMBERS[places], VALUES[place]) for places in TABLES for place in places]
    numbers, values = zip(*rows, strict=True)
    table = pyarrow.table({"t": numbers, "x": pyarrow.array(values, pyarrow.float64())})
    for load in into_postgres(postgres_server):
        opened = connect(load(table))
        yield opened
        opened.close()


@pytest.mark.parametrize("query", QUERIES)
def test_no_row_moves_an_answer_further_than_declared(engine: Engine, query: str) -> None:
    known = Schema().table(engine.columns())
    questions = {rows: QUERIES[query](f"t = {number}").checked(known) for rows, number in NUMBERS.items()}
    found = {rows: true_cells(engine, question) for rows, question in questions.items()}
    question = questions[()]
    (move,) = moves(question, "add-remove")
    largest = [0] * len(units(question))
    for rows, cells in found.items():
        for place in range(len(rows)):
            fewer = found[rows[:place] + rows[place + 1 :]]
            for component, most in enumerate(largest):
                change = [abs(a[component] - b[component]) for a, b in zip(cells, fewer, strict=True)]
                allowed = [shift.by for shift in move if shift.component == component]
                moved = [by for by in change if by]
                assert len(moved) <= len(allowed)
                assert all(a <= b for a, b in zip(moved, allowed, strict=False))
                largest[component] = max(most, *change)
    # The check has power: some pair reaches the declared sensitivity.
    assert largest == [shift.by for shift in move]
