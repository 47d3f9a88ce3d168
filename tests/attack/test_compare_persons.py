"""Ask tables that differ by a person, or by keys of one, the same with the same noise: what else differs?

Noise is the same number for every cell, as the engine gives groups in any order. First it is so low that
nothing of one person alone shows: then everything must be the same but numbers. Then it is so high that
everything shows: then the keys of that person are there, which is the event that delta pays for, and nothing
else differs.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.engines.duckdb import DuckDB
from dovetail.errors import DovetailError
from dovetail.ledger import Ledger
from dovetail.release import mechanism

TYPES = {
    "who": pyarrow.string(),
    "word": pyarrow.string(),
    "n": pyarrow.int64(),
    "day": pyarrow.date32(),
    "x": pyarrow.float64(),
}
COMMON = [
    {"who": f"p{n % 150}", "word": f"word{n % 3}", "n": n % 2, "day": date(2024, 1, 1 + n % 2), "x": n / 7}
    for n in range(1200)
] + [{"who": None, "word": None, "n": None, "day": None, "x": None}] * 30
PERSONS: dict[str, list[dict[str, Any]]] = {
    "an ordinary person": [{"who": "q", "word": "word1", "n": 1, "day": date(2024, 1, 1), "x": 3.0}],
    "a person of a thousand rows": [
        {"who": "q", "word": f"word{n % 5}", "n": n, "day": date(2023, 1, 1 + n % 28), "x": -1e300}
        for n in range(1000)
    ],
    "hostile values": [
        {"who": "", "word": "'; DROP TABLE data; --", "n": 2**63 - 1, "day": date.max, "x": float("nan")},
        {"who": "", "word": "nul\0", "n": -(2**63), "day": date.min, "x": float("inf")},
        {"who": "", "word": "w" * 100_000, "n": None, "day": None, "x": None},
    ],
    "nobody": [{"who": None, "word": "alone", "n": 77, "day": date(1999, 1, 1), "x": 1e308}],
}
SCHEMA = dv.Schema([dv.Column("x", "number", low=0, high=10, step="0.5")])
NOISE = dv.GeometricMixture("0.2", 1, 5)
LOW, HIGH = 0, 1000


@dataclass
class Seen:
    """What an observer could compare; `found` are the keys that were found out."""

    sql: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    shapes: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    found: list[Any] = field(default_factory=list)


def asked(session: dv.Session, seen: Seen) -> None:
    """Ask everything that persons and unknown keys change, also what is refused."""
    pay: dict[str, Any] = {"noise": NOISE}
    keys = pay | {"keys": "discover", "delta": "1e-6"}
    questions: list[Callable[[], list[Any]]] = [
        lambda: [session.histogram("word", **keys)],
        lambda: [session.histogram("n", where="x >= 0", **keys)],
        lambda: [session.histogram("day", **keys)],
        lambda: [session.histogram("word", "n", "day", **keys)],
        lambda: [session.histogram("word", "n", **(keys | {"keys": {"word": "discover", "n": [0, 1]}}))],
        lambda: [
            session.histogram("word", "x", **(keys | {"keys": {"word": "discover"}}), bins={"x": [0, 5, 10]})
        ],
        lambda: [session.histogram("word", keys="discover", spend=dv.Budget.approximate("0.5", "1e-7"))],
        lambda: [session.histogram("word", keys="discover", within=6, delta="1e-7")],
        lambda: session.batch([dv.Histogram("word", keys="discover"), dv.Count()], delta="1e-6", **pay),
        lambda: [session.histogram("word", **keys)],
        lambda: [session.count(**pay)],
        lambda: [session.sum("x", low=0, high=10, step="0.5", where="n > 0", **pay)],
        lambda: [session.mean("x", low=0, high=10, step=1, **pay)],
        lambda: [session.histogram("word", keys=["word1", None, "word9"], **pay)],
        # Refused, and each for the same reason on both tables.
        lambda: [session.histogram("x", **keys)],
        lambda: [session.histogram("word", **pay)],
        lambda: [session.histogram("word", keys="discover", **pay)],
        lambda: [session.histogram("word", **(keys | {"delta": "0.09"}), fresh=True)],
        lambda: [session.sql("SELECT word, COUNT(*) FROM data GROUP BY word", **pay)],
        lambda: [session.histogram("nobody", **keys)],
        lambda: session.batch([dv.Sum("x", 0, 1, 1, by=("word",), keys="discover")], delta="1e-6", **pay),
    ]
    if session._persons is not None:
        questions += [
            lambda: [session.count_distinct(**pay)],
            lambda: [session.count_distinct("word", **keys)],
            lambda: [session.count_distinct("word", "n", where="x < 5", **keys)],
            lambda: [session.sql("SELECT COUNT(DISTINCT who), SUM(x) FROM data", **pay)],
        ]
    for ask in questions:
        try:
            for answer in ask():
                found = getattr(answer, "found", None)
                rows = "found" if found is not None else answer.table.num_rows
                shape = (type(answer).__name__, rows, answer.table.column_names)
                seen.shapes.append((*shape, answer.charge, str(answer.remaining), answer.stored))
                seen.found.append(None if found is None else set(answer.keys))
        except DovetailError as error:
            seen.errors.append(f"{type(error).__name__}: {error}")


def observed(
    extra: list[dict[str, Any]],
    noise: int,
    place: Path,
    caplog: pytest.LogCaptureFixture,
    ask: Callable[[dv.Session, Seen], None] = asked,
    **options: Any,
) -> Seen:
    seen = Seen()
    rows = COMMON + extra
    table = pyarrow.table(
        {name: pyarrow.array([row[name] for row in rows], type_) for name, type_ in TYPES.items()}
    )
    spelled = DuckDB._spelled

    def recorded(self: DuckDB, statement: Any) -> str:
        seen.sql.append(spelled(self, statement))
        return seen.sql[-1]

    caplog.clear()
    with pytest.MonkeyPatch.context() as patched, caplog.at_level(logging.DEBUG):
        patched.setattr(DuckDB, "_spelled", recorded)
        patched.setattr(mechanism, "draws", lambda _, cells: [noise] * cells)
        # The key of the dataset differs from ledger to ledger, and is part of the SQL about persons.
        patched.setattr("dovetail.ledger.account.DatasetAccount.secret", b"the same")
        budget = dv.Budget.approximate(100, "1e-2")
        with dv.Session(
            table, name="visits", schema=SCHEMA, budget=budget, ledger=place, **options
        ) as session:
            ask(session, seen)
    seen.lines = [record.getMessage().replace(str(place), "LEDGER") for record in caplog.records]
    with Ledger.open(place) as book:
        for event in json.loads(book.export("json"))["events"]:
            content = json.loads(event["content"])
            answer = json.loads(content.pop("answer", "{}"))
            found = answer.pop("found", None)
            cells = [len(each) for each in answer.pop("cells", [])]
            listed = [None] * len(cells) if found is None else found
            shown = [n if keys is None else "found" for n, keys in zip(cells, listed, strict=True)]
            for varying in (
                "secret_sha256",
                "state",
                "public",
                "named",
                "until",
            ):  # random ids, times, digests of both
                content.pop(varying, None)
            seen.events.append((event["sequence"], event["kind"], event["dataset"], content, answer, shown))
    return seen


ROWS: dict[str, Any] = {}
WHOLE: dict[str, Any] = {"unit": "who", "max_rows": 3, "max_cells": 2}


@pytest.mark.parametrize(
    ("kind", "options", "noise"),
    [
        ("an ordinary person", WHOLE, LOW),
        ("a person of a thousand rows", WHOLE, LOW),
        ("a person of a thousand rows", WHOLE, HIGH),
        ("hostile values", WHOLE, LOW),
        ("nobody", ROWS, LOW),
        pytest.param("nobody", ROWS, HIGH, marks=pytest.mark.slow),
        pytest.param("nobody", WHOLE, HIGH, marks=pytest.mark.slow),
        pytest.param("an ordinary person", ROWS, LOW, marks=pytest.mark.slow),
        pytest.param("hostile values", ROWS, LOW, marks=pytest.mark.slow),
        pytest.param("hostile values", ROWS, HIGH, marks=pytest.mark.slow),
        pytest.param("hostile values", WHOLE, HIGH, marks=pytest.mark.slow),
    ],
)
def test_one_more_person_changes_nothing_but_numbers_and_the_keys_that_delta_pays_for(
    kind: str, options: dict[str, Any], noise: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    without = observed([], noise, tmp_path / "a.ledger", caplog, **options)
    with_it = observed(PERSONS[kind], noise, tmp_path / "b.ledger", caplog, **options)
    assert len(without.sql) > 14
    assert len(without.errors) == 7
    assert with_it.sql == without.sql
    assert with_it.errors == without.errors
    assert with_it.shapes == without.shapes
    assert with_it.lines == without.lines
    assert with_it.events == without.events
    if noise == LOW:
        assert with_it.found == without.found
        assert any(without.found)
    else:
        for mine, yours in zip(with_it.found, without.found, strict=True):
            assert mine is yours is None or mine >= yours
        if kind == "nobody" and options:
            assert with_it.found == without.found, "who has no id is left out"


def in_the_order_of_rows(session: dv.Session, seen: Seen) -> None:
    """List the keys as the rows come, and ask about each of them: both are mistakes."""
    for key in dict.fromkeys(session.source.data["word"].to_pylist()):
        seen.shapes.append(session.histogram("word", keys=[key], noise=NOISE).query)


def test_the_comparison_sees_keys_that_are_taken_from_the_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    extra = PERSONS["nobody"]
    without = observed([], LOW, tmp_path / "a.ledger", caplog, in_the_order_of_rows)
    with_it = observed(extra, LOW, tmp_path / "b.ledger", caplog, in_the_order_of_rows)
    assert with_it.sql != without.sql
    assert with_it.shapes != without.shapes
    assert with_it.events != without.events
