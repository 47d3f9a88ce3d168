"""Ask two neighbouring tables the same questions with the same noise: only noised values may differ.

What is recorded: the SQL that runs, every event of the ledger, errors, log lines and the answers' shapes.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow
import pytest
from sqlglot import exp

import dovetail as dv
from dovetail.engines import conditions
from dovetail.engines.duckdb import DuckDB
from dovetail.errors import DovetailError
from dovetail.ledger import Ledger
from dovetail.query.derived_columns import Binned
from dovetail.release import mechanism

COMMON = {
    "age": [20, 30, 40, None, 41],
    "pay": [1.5, None, float("nan"), float("inf"), -2.0],
    "sex": ["F", "M", "F", None, "X"],
}
EXTRA: dict[str, dict[str, Any]] = {
    "an ordinary row": {"age": 35, "pay": 3.0, "sex": "F"},
    "extreme numbers": {"age": 2**63 - 1, "pay": 1.7e308, "sex": "M"},
    "a row of nothing": {"age": None, "pay": None, "sex": None},
    "extreme the other way": {"age": -(2**63), "pay": float("-inf"), "sex": ""},
    "a value never seen": {"age": 77, "pay": 5e-324, "sex": "'; DROP TABLE data; --"},
}
SCHEMA = dv.Schema(
    [
        dv.Column("age", "integer", low=0, high=100),
        dv.Column("pay", "number", low=0, high=10, step="0.5"),
        dv.Column("sex", "text", values=["F", "M"], other="else"),
    ],
    derived={"life": "CASE WHEN age < 25 THEN 'young' WHEN pay > 1 THEN 'paid' END"},
    lookups=[dv.Lookup("words", {"key": ["F", "M"], "word": ["woman", "man"]}, key="key", on="sex")],
)
NOISE = dv.GeometricMixture("0.02", "0.1", 5)
TEN = exp.Literal.number(10)


@dataclass
class Seen:
    """What an observer could compare."""

    sql: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    shapes: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    events: list[tuple[Any, ...]] = field(default_factory=list)


Asking: TypeAlias = Callable[[dv.Session, Seen], None]


def table(extra: dict[str, Any] | None) -> pyarrow.Table:
    types = {"age": pyarrow.int64(), "pay": pyarrow.float64(), "sex": pyarrow.string()}
    rows = {name: values + ([extra[name]] if extra else []) for name, values in COMMON.items()}
    return pyarrow.table({name: pyarrow.array(values, types[name]) for name, values in rows.items()})


def asked(session: dv.Session, seen: Seen) -> None:
    """Ask everything, also what is refused on the way."""
    plan = session.plan(dv.Geometric("0.01"), queries=20)
    pay = {"noise": NOISE}
    questions = [
        lambda: [session.count(**pay)],
        lambda: [session.count(where="age > 30 OR sex NOT IN ('F', 'X')", **pay)],
        lambda: [session.count(where="pay > 1e307 AND NOT (age IS NULL)", clamp=True, **pay)],
        lambda: [session.histogram("sex", **pay)],
        lambda: [session.histogram("age", bins=[-(2**61), 0, 18, 2**61], **pay)],
        lambda: [session.histogram("age", bins=list(range(0, 130, 10)), where="sex = 'F'", **pay)],
        lambda: [session.histogram("age", "sex", keys={"age": [20, 40, None]}, plan=plan)],
        lambda: [session.sum("age", low=0, high=100, step=1, **pay)],
        lambda: [session.sum("pay", low=-10, high=10, step="0.001", **pay)],
        lambda: [session.sum("age", low=-(2**52), high=2**52, step=1, **pay)],
        lambda: [session.mean("pay", low=0, high=10, step="0.5", plan=plan)],
        lambda: [session.linear("sex", {"F": 1, "M": "-1/2"}, step="1/4", **pay)],
        lambda: session.batch([dv.Count("age < 25"), dv.Sum("pay", 0, 10, 1)], **pay),
        lambda: [session.sql("SELECT sex, COUNT(*), SUM(pay) FROM data GROUP BY sex", **pay)],
        lambda: [session.histogram("FLOOR(age / 10) * 10", "life", **pay)],
        lambda: [session.histogram("FLOOR(pay / 0.5) * 0.5", where="words.word <> 'man'", **pay)],
        lambda: [
            session.sql("SELECT words.word, COUNT(*) FROM data GROUP BY 1 HAVING COUNT(*) > -99", **pay)
        ],
        lambda: [session.sql("SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END) AS n FROM data", **pay)],
        lambda: [session.histogram("FLOOR(age / (age - 35)) * 10", **pay)],
        lambda: [session.count(where="nobody = 1", **pay)],
        lambda: [session.count(where="sex > 5", **pay)],
        lambda: [session.count(where="1/(age-35) > 0", **pay)],
        lambda: [session.count(noise=dv.Geometric(1000))],
        lambda: [session.histogram("age", **pay)],
        lambda: [session.count(**pay)],
    ]
    noted(questions, seen)


def asked_more(session: dv.Session, seen: Seen) -> None:
    """Ask workloads: trees, moments, tables of several columns, groups, and all together."""
    noise = dv.Geometric("0.1")
    tables: list[Any] = [("sex", "life"), ("life",)]
    questions: list[Callable[[], list[Any]]] = [
        lambda: [session.ranges("age", noise=noise)],
        lambda: [session.quantiles("pay", ["0.1", "0.9"], by="sex", noise=noise)],
        lambda: [session.median("age", noise=noise)],
        lambda: session.batch([dv.Minimum("age"), dv.Maximum("pay", by=("life",))], noise=noise),
        lambda: [session.variance("pay", noise=noise)],
        lambda: [session.std("age", by="sex", noise=noise)],
        lambda: [session.mean("age", by="sex", spend=dv.Budget.pure(1))],
        *(
            lambda way=way: [session.marginals(tables=tables, strategy=way, noise=noise)]  # type: ignore[misc]
            for way in ("plain", "joint", "residuals")
        ),
        lambda: session.workload(
            [dv.Histogram("sex"), dv.Ranges("age"), dv.Variance("pay")], spend=dv.Budget.pure(1)
        ),
        lambda: [session.sql("SELECT sex, MEDIAN(age), STDDEV_POP(pay) FROM data GROUP BY sex", noise=noise)],
        lambda: [session.sql("SELECT MEDIAN(age / (age - 35)) FROM data", noise=noise)],
        lambda: [session.variance("pay", low=0, high=2**40, step="0.001", noise=noise)],
        lambda: [session.median("age", noise=noise)],
    ]
    noted(questions, seen)


def noted(questions: list[Callable[[], list[Any]]], seen: Seen) -> None:
    for ask in questions:
        try:
            for answer in ask():
                frame = answer.to_pandas()
                shape = (type(answer).__name__, len(frame), list(frame.columns))
                seen.shapes.append((*shape, answer.charge, str(answer.remaining), answer.stored))
        except DovetailError as error:
            seen.errors.append(f"{type(error).__name__}: {error}")


def observed(
    extra: dict[str, Any] | None,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    ask: Asking = asked,
) -> Seen:
    seen = Seen()
    spelled = DuckDB._spelled

    def recorded(self: DuckDB, statement: Any) -> str:
        seen.sql.append(spelled(self, statement))
        return seen.sql[-1]

    monkeypatch.setattr(DuckDB, "_spelled", recorded)
    # The noise is replayed: both runs draw the same.
    monkeypatch.setattr(mechanism, "draws", lambda noise, cells: [7 * cell - 3 for cell in range(cells)])
    monkeypatch.setattr(mechanism, "sample", lambda noise, shape: np.full(shape, 7))
    caplog.clear()
    with (
        caplog.at_level(logging.DEBUG),
        dv.Session(
            table(extra), name="people", schema=SCHEMA, budget=dv.Budget.pure(50), ledger=place
        ) as session,
    ):
        ask(session, seen)
    seen.lines = [re.sub(re.escape(str(place)), "LEDGER", record.getMessage()) for record in caplog.records]
    with Ledger.open(place) as book:
        for event in json.loads(book.export("json"))["events"]:
            content = json.loads(event["content"])
            answer = json.loads(content.pop("answer", "{}"))
            cells = [[len(cell) for cell in each] for each in answer.pop("cells", [])]
            for varying in (
                "secret_sha256",
                "state",
                "public",
                "named",
                "until",
            ):  # random ids, times, digests of both
                content.pop(varying, None)
            seen.events.append((event["sequence"], event["kind"], event["dataset"], content, answer, cells))
    monkeypatch.undo()
    return seen


@pytest.mark.parametrize(
    "kind",
    [
        "an ordinary row",
        "extreme numbers",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in list(EXTRA)[2:]),
    ],
)
def test_one_more_row_changes_no_sql_no_event_no_error_no_line_and_no_shape(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without = observed(None, tmp_path / "a.ledger", monkeypatch, caplog)
    with_it = observed(EXTRA[kind], tmp_path / "b.ledger", monkeypatch, caplog)
    assert len(without.sql) > 15
    assert len(without.errors) == 6
    assert len(without.shapes) == 20
    assert with_it.sql == without.sql
    assert with_it.errors == without.errors
    assert with_it.shapes == without.shapes
    assert with_it.lines == without.lines
    assert with_it.events == without.events


@pytest.mark.parametrize(
    "kind", ["extreme numbers", *(pytest.param(each, marks=pytest.mark.slow) for each in list(EXTRA)[2:])]
)
def test_one_more_row_changes_nothing_that_a_workload_shows(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without = observed(None, tmp_path / "a.ledger", monkeypatch, caplog, asked_more)
    with_it = observed(EXTRA[kind], tmp_path / "b.ledger", monkeypatch, caplog, asked_more)
    assert (len(without.sql) > 15, len(without.errors), len(without.shapes)) == (True, 2, 16), without.errors
    assert with_it == without


def from_the_rows(session: dv.Session, seen: Seen) -> None:
    """Take the keys from the rows: the classic mistake."""
    rows = session.source.data
    answer = session.histogram("sex", keys=rows["sex"].unique(), noise=NOISE)
    seen.shapes.append(answer.table.num_rows)


def bounds_from_the_rows(session: dv.Session, seen: Seen) -> None:
    """Take a bound of a tree from the rows."""
    most = max(age for age in session.source.data["age"].to_pylist() if age is not None)
    session.ranges("age", low=0, high=most, step=1, noise=NOISE)


def by_the_truth(session: dv.Session, seen: Seen) -> None:
    """Ask a second question only where the truth of the first is large."""
    session.count(where="age > 30", noise=NOISE)
    if session.source.data.num_rows > 5:
        session.count(noise=NOISE)


def test_a_derived_column_that_fails_on_a_row_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def ask(session: dv.Session, seen: Seen) -> None:
        try:
            session.histogram("FLOOR(age / 10) * 10", noise=NOISE)
        except DovetailError as error:
            seen.errors.append(str(error))

    def hasty(engine: Any, made: Any) -> Any:
        # As a plain reading of the text would spell it: 8 bits hold the ages of people.
        whole = exp.cast(exp.column("age", quoted=True), "TINYINT")
        return exp.Mul(this=exp.IntDiv(this=whole, expression=TEN), expression=TEN.copy())

    def both(word: str) -> tuple[Seen, Seen]:
        rows, places = (None, EXTRA["extreme numbers"]), (tmp_path / f"{word} a", tmp_path / f"{word} b")
        first, second = (
            observed(row, place, monkeypatch, caplog, ask) for row, place in zip(rows, places, strict=True)
        )
        return first, second

    without, with_it = both("as it is")
    assert (with_it.errors, with_it.events) == (without.errors, without.events)
    with pytest.MonkeyPatch.context() as lasting:
        lasting.setitem(conditions._DERIVED, Binned, hasty)
        without, with_it = both("hasty")
    assert (len(without.errors), len(with_it.errors)) == (0, 1)
    assert with_it.events != without.events


@pytest.mark.parametrize("mistake", [from_the_rows, bounds_from_the_rows, by_the_truth])
def test_the_comparison_sees_what_depends_on_the_rows(
    mistake: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without = observed(None, tmp_path / "a.ledger", monkeypatch, caplog, mistake)
    extra = EXTRA["a value never seen"]
    with_it = observed(extra, tmp_path / "b.ledger", monkeypatch, caplog, mistake)
    assert with_it != without
    assert with_it.events != without.events
