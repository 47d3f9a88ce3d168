"""What an engine hands over: aggregates only, and the same numbers as rows and as columns."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow
import pytest

from dovetail.query import Column, Count, Histogram, Quantiles, Ranges, Schema
from engine_tables import Opener, cells, typed


def test_many_cells_are_counted_as_few_are(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many are read as columns, few as rows: with a flag for what is missing, other values, days and bins."""
    days = [None if n % 7 == 0 else date(2024, 1, 1 + n % 28) for n in range(300)]
    words = [None if n % 5 == 0 else f"w{n % 4}" for n in range(300)]
    engine = opened(
        typed(
            n=(pyarrow.int64(), [n * n % 50 - 5 for n in range(300)]),
            k=(pyarrow.string(), words),
            day=(pyarrow.date32(), days),
            yes=(pyarrow.bool_(), [[True, False, None][n % 3] for n in range(300)]),
        )
    )
    schema = Schema([Column("k", "text", values=["w1", None, "w2", "w9"], other="more")])
    questions: list[Any] = [
        Histogram("k", "n", bins={"n": list(range(0, 40, 3))}),
        Histogram("k", "day", "yes", keys={"day": ["2024-01-05", None], "yes": [True, None]}),
        Ranges("n", 0, 30, 1, by=("k",)),
        Quantiles("day", (0.5,), "2024-01-03", "2024-01-20", by=("yes",), keys=[False, None]),
        Histogram("n", bins=[0, 1, 5, 30]),
        Count("n > 3"),
    ]
    few = [cells(engine, query, schema) for query in questions]
    monkeypatch.setattr("dovetail.engines.aggregation._FEW", 0)
    assert [cells(engine, query, schema) for query in questions] == few
    assert sum(few[0]) > 100


def test_only_aggregates_leave_the_engine(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"v{number}" for number in range(500)]
    engine = opened(typed(n=(pyarrow.int64(), list(range(500))), k=(pyarrow.string(), texts)))
    fetched: list[int] = []
    original = type(engine).fetch

    def spy(self: Any, statement: Any) -> Any:
        rows = original(self, statement)
        fetched.append(len(rows))
        return rows

    monkeypatch.setattr(type(engine), "fetch", spy)
    columns = type(engine).column_batches

    def watched(self: Any, statement: Any) -> Any:
        for batch in columns(self, statement):
            fetched.append(len(batch[0]))
            yield batch

    monkeypatch.setattr(type(engine), "column_batches", watched)
    schema = Schema([Column("k", "text", values=["v1", "v2"])])
    assert sum(cells(engine, Ranges("n", 0, 1500, 1, where="n < 2"))[0][:1501]) == 2
    assert cells(engine, Histogram("k"), schema) == [1, 1]
    assert cells(engine, Histogram("n", keys=[5, -1])) == [1, 0]
    assert cells(engine, Histogram("n", bins=[0, 10, 20])) == [10, 10]
    assert max(fetched) <= 2
