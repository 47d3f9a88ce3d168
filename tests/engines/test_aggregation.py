"""Statements that are kept: asked again, a question gets the rows as they are then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.engines import Source, aggregation, connect
from dovetail.engines.aggregation import true_cells
from dovetail.query import Count, Histogram, Sum


@pytest.fixture
def opened(tmp_path: Path) -> tuple[Any, Any, Path]:
    """Return the engine and the public columns of a file, and the file."""
    rows = tmp_path / "people.csv"
    rows.write_text("age\n30\n40\n50\n")
    schema = dv.Schema([dv.Column("age", "integer", low=0, high=100)])
    engine = connect(Source.of(rows, schema=schema))
    return engine, schema.table(engine.columns()), rows


def test_a_statement_that_is_kept_reads_the_rows_again(opened: tuple[Any, Any, Path]) -> None:
    engine, table, rows = opened
    for number in range(2):
        wheres = ("age >= 40", "age > 40", "age >= 41", None)
        found = [true_cells(engine, Count(where=where).checked(table))[0][0] for where in wheres]
        assert found == [2 + number, 1 + number, 1 + number, 3 + number]
        assert true_cells(engine, Sum("age").checked(table))[0][0] == 120 + 60 * number
        assert len(engine.statements) == 5, "each is kept once"
        rows.write_text("age\n30\n40\n50\n60\n")
    engine.close()


def test_few_and_short_statements_are_kept(
    opened: tuple[Any, Any, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, table, _ = opened
    monkeypatch.setattr(aggregation, "_MOST_KEPT", 3)
    for least in range(10):
        assert true_cells(engine, Count(where=f"age >= {least}").checked(table))[0][0] == 3
        assert len(engine.statements) <= 3
    kept = dict(engine.statements)
    many = " OR ".join(f"age = {number}" for number in range(2, 100, 2))
    monkeypatch.setattr(aggregation, "_LONGEST_KEPT", 200)
    assert true_cells(engine, Count(where=many).checked(table))[0][0] == 3
    assert engine.statements == kept
    engine.close()


def test_the_statement_of_a_histogram_is_kept_and_reads_the_rows_again(
    opened: tuple[Any, Any, Path],
) -> None:
    engine, table, rows = opened
    cells = (
        Histogram("age", bins=[0, 35, 60]),
        Histogram("age", bins=[0, 45, 60]),
        Histogram("age", keys=[30, 50]),
        Histogram("age", keys=[50, 30]),
        Histogram("age", keys=[50, 30], where="age > 30"),
    )
    first = [[1, 2], [2, 1], [1, 1], [1, 1], [1, 0]]
    for counts in (first, [[2, 2], [3, 1], [2, 1], [1, 2], [1, 0]]):
        found = [[parts[0] for parts in true_cells(engine, each.checked(table))] for each in cells]
        assert found == counts
        assert len(engine.statements) == len(cells), "each is kept once"
        rows.write_text("age\n30\n40\n50\n30\n")
    engine.close()
