"""Bounding a person's rows: every engine keeps the same rows of every person, under the same key."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow
import pytest

from dovetail.engines import Engine, Source, connect
from dovetail.engines.aggregation import cell_reader, held_cells, true_cells
from dovetail.query import (
    Column,
    Contributions,
    Count,
    Histogram,
    Linear,
    Mean,
    Quantiles,
    Schema,
    Sum,
    Variance,
)
from dovetail.query.field import Field
from dovetail.query.measures import Distinct
from dovetail.query.neighbours import Persons
from engine_tables import Opener
from toy_measures import AskDeviation, AskLadder

WARDS = ["eyes", "Eyes", "Ä", "ﬃ", "a|b", "2:a", "-", "🦋", None, ""]
SECRET = bytes(range(32))


def visits(rows: int = 400) -> pyarrow.Table:
    """Return visits of forty persons; some have one, some have dozens, some rows are alike."""
    number = [(row * row * 7 + row * 3) % 40 for row in range(rows)]
    return pyarrow.table(
        {
            "person": pyarrow.array([None if n == 0 else n * 10**17 for n in number], pyarrow.int64()),
            "code": pyarrow.array([None if n == 1 else f"P{n}é" for n in number], pyarrow.string()),
            "joined": pyarrow.array([date(1970, 1, 1) + timedelta(days=n - 20) for n in number]),
            "ward": pyarrow.array([WARDS[row * 3 % 10] for row in range(rows)], pyarrow.string()),
            "age": pyarrow.array([None if row % 17 == 0 else row * 5 % 90 - 5 for row in range(rows)]),
            "cost": pyarrow.array([row % 23 / 8 for row in range(rows)], pyarrow.float64()),
            "new": pyarrow.array([[True, False, None][row % 3] for row in range(rows)]),
        }
    )


SCHEMA = Schema([Column("ward", "text", values=["eyes", "Ä", "🦋", "a|b", None], other="others")])
QUESTIONS = [
    Count(),
    Count("age > 30"),
    Histogram("ward"),
    Histogram("ward", keys=["eyes", "Eyes", "Ä", "ﬃ", "a|b", "2:a", "-", ""]),
    Histogram("new", "age", keys={"new": [True, None]}, bins={"age": [-5, 20, 40, 90]}),
    Histogram("joined", keys=["1969-12-31", "1970-01-03"]),
    Histogram("cost", bins=[0, 0.5, 1.25, 9]),
    Sum("age", low=0, high=60, step=1),
    Sum("cost", low=0, high=2, step="0.25", by=("new",), keys=[True, False, None]),
    Mean("cost", low=0, high=2, step="0.25"),
    Mean("age", low=0, high=60, step=1, by=("ward",)),
    Linear("ward", {"eyes": 1, "Ä": "-0.5"}, step="0.5"),
    AskLadder("cost", 0, 2, by=("ward",), step="0.25"),
    AskDeviation("age", 0, 60),
    Variance("age", 0, 60, 1, by=("ward",)),
    Quantiles("age", (0.5,), 0, 60, 1),
    Quantiles("joined", (0.5,), "1969-12-20", "1970-01-03", 7),
]
BOUNDS = [(1, 1), (3, 2), (10**6, 10**6)]
UNITS = [Field("person", "integer"), Field("code", "text"), Field("joined", "date")]


def kept(engine: Engine, query: Any, unit: Field, rows: int, cells: int, secret: bytes = SECRET) -> Any:
    question = query.checked(SCHEMA.table(engine.columns()))
    persons = Persons(unit, rows, cells)
    found = [true_cells(engine, replace(question, persons=persons), secret)]
    if isinstance(query, Count | Histogram):
        found.append(true_cells(engine, replace(question, measure=Distinct(), persons=persons), secret))
    return [np.array(each, dtype=object).tolist() for each in found]


@pytest.fixture(scope="module")
def there(opened: Opener) -> Engine:
    return opened(visits())


@pytest.fixture(scope="module")
def here() -> Any:
    engine = connect(Source.of(visits(), name="here"))
    yield engine
    engine.close()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
@pytest.mark.parametrize("query", QUESTIONS, ids=lambda query: str(query)[:60])
def test_every_engine_keeps_the_same_rows(there: Engine, here: Engine, query: Any, unit: Field) -> None:
    for rows, cells in BOUNDS if unit.name == "person" else BOUNDS[1:2]:
        assert kept(there, query, unit, rows, cells) == kept(here, query, unit, rows, cells), (rows, cells)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_engine_tallies_the_same_persons(there: Engine, here: Engine, unit: Field) -> None:
    for query in (
        Contributions(),
        Contributions(most_rows=3, where="age > 30"),
        Contributions(("ward",), most_rows=9, most_cells=2),
        Contributions(("ward", "new"), keys={"new": [True, None]}),
    ):
        found = []
        for engine in (there, here):
            question = query.checked(SCHEMA.table(engine.columns()))
            asked = replace(question, persons=question.measure.tallied(Persons(unit, 0, 0)))
            found.append([list(cell) for cell in true_cells(engine, asked, SECRET)])
        assert found[0] == found[1], query
        assert sum(found[0][0]) > 0


@pytest.mark.parametrize("columns", [("ward",), ("new", "joined")], ids=str)
def test_every_engine_finds_the_same_keys_of_persons(
    there: Engine, here: Engine, columns: tuple[str, ...]
) -> None:
    for rows, bound in BOUNDS:
        found = []
        for engine in (there, here):
            question = Histogram(*columns, keys="discover").checked(Schema().table(engine.columns()))
            for measure in (question.measure, Distinct()):
                asked = replace(question, measure=measure, persons=Persons(UNITS[0], rows, bound))
                groups = [row for batch in held_cells(engine, asked, SECRET) for row in batch]
                found.append({(cell_reader(asked)(row), int(row[-1])) for row in groups})
        assert found[:2] == found[2:], (rows, bound)
        assert all(found)


def test_another_key_keeps_other_rows(there: Engine, here: Engine) -> None:
    query, unit = Mean("cost", low=0, high=2, step="0.25"), UNITS[0]
    answers = {str(kept(there, query, unit, 1, 1, bytes([number]) * 32)) for number in range(8)}
    assert len(answers) > 1
    assert answers == {str(kept(here, query, unit, 1, 1, bytes([number]) * 32)) for number in range(8)}
