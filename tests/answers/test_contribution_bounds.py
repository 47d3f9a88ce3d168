"""What is left out by design is said in every form of an answer, and the bar is that of what is used."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.answers.contribution_bounds import bounded
from dovetail.query import Count, CountDistinct, Histogram, Mean, Schema, Sum
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Field
from dovetail.query.neighbours import Persons

VISITS = pyarrow.table({"id": ["a"] * 9 + ["b"], "ward": ["x", "y", "z"] * 3 + ["x"], "days": range(10)})
SCHEMA = Schema([dv.Column("ward", "text", values=["x", "y", "z"]), dv.Column("days", "integer")])
AT_MOST = "at most 4 rows and 2 cells per person are used; counts of rows are at most the true ones"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[dv.Session]:
    who = {"unit": "id", "max_rows": 4, "max_cells": 2}
    budget, place = dv.Budget.pure(100), tmp_path / "v.ledger"
    with dv.Session(VISITS, name="visits", budget=budget, ledger=place, schema=SCHEMA, **who) as opened:
        yield opened


def test_every_form_says_what_is_left_out(session: dv.Session) -> None:
    answer = session.histogram("ward", noise=dv.Geometric(1))
    axes = answer.plot()
    forms = {
        "bounded": answer.bounded,
        "text": str(answer),
        "notebook": answer._repr_html_(),
        "csv": answer.to_csv(),
        "json": json.loads(answer.to_json())["bounded"],
        "frame": answer.to_pandas().attrs["bounded"],
        "arrow": answer.table.schema.metadata[b"dovetail.bounded"].decode(),
        "plot": " ".join(axes.get_xlabel().split()),
        "quote": str(session.quote(dv.Histogram("ward"), noise=dv.Geometric(2))),
        "sql": str(session.sql("SELECT ward, COUNT(*) FROM data GROUP BY ward", noise=dv.Geometric(1))),
    }
    assert [name for name, text in forms.items() if AT_MOST not in str(text)] == []
    for name in ("text", "notebook", "plot", "quote", "sql"):
        assert "for the rows used" in forms[name], name


def test_where_rows_are_protected_nothing_is_left_out(tmp_path: Path) -> None:
    with dv.Session(
        VISITS, name="v", budget=dv.Budget.pure(9), ledger=tmp_path / "v", protects="rows"
    ) as session:
        answer = session.count(noise=dv.Geometric(1))
    assert answer.bounded is None
    assert "used" not in str(answer)
    assert answer.to_csv().splitlines()[0] == "value,low,high,stored,answered_at"


def asked(query: dv.Count | Sum, rows: int, cells: int) -> str:
    question = query.checked(SCHEMA.table())
    said = bounded(
        CheckedQuery(question.measure, question.axes, None, Persons(Field("id", "text"), rows, cells))
    )
    assert said is not None
    return said.removesuffix("; rows without id are left out")


@pytest.mark.parametrize(
    ("query", "rows", "cells", "said"),
    [
        (Count(), 1, 1, "at most 1 row per person are used; counts of rows are at most the true ones"),
        (Histogram("ward"), 4, 3, "at most 4 rows per person are used; counts of rows are at most the true"),
        (Histogram("ward"), 2, 2, "at most 2 rows per person are used; counts of rows are at most the true"),
        (CountDistinct("ward"), 9, 2, "at most 2 cells per person are used; counts of persons are at most"),
        (CountDistinct(), 9, 2, "rows without id are left out"),
        (Sum("days", 0, 9, 1), 4, 4, "sums are at most the true ones"),
        (Sum("days", -9, 0, 1), 4, 4, "sums are at least the true ones"),
        (Sum("days", -9, 9, 1), 4, 4, "sums are of these rows"),
        (Mean("days", 0, 9, 1), 4, 4, "the mean of days is that of these rows"),
    ],
)
def test_each_measure_says_what_the_bounds_do_to_it(query: Sum, rows: int, cells: int, said: str) -> None:
    assert said in asked(query, rows, cells)


def test_of_several_questions_the_bounds_of_all_are_said() -> None:
    """Rows bound one of them and cells the other: neither is forgotten because of the other."""
    persons = Persons(Field("id", "text"), 4, 2)

    def said(*queries: Any) -> str:
        asked = [query.checked(SCHEMA.table()) for query in queries]
        found = bounded(*(CheckedQuery(each.measure, each.axes, None, persons) for each in asked))
        assert found is not None
        return found

    for queries in ((Count(), CountDistinct()), (CountDistinct(), Count())):
        assert said(*queries).startswith("at most 4 rows per person")
    for queries in ((Count(), Histogram("ward")), (Histogram("ward"), Count())):
        assert said(*queries).startswith("at most 4 rows and 2 cells per person")
