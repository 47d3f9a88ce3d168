"""A PostgreSQL server under the same attacks: hostile rows and conditions, tables that change on the way."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow
import pytest

import dovetail as dv
from dovetail.engines import Engine, connect, postgres
from dovetail.engines.aggregation import held_cells, true_cells
from dovetail.errors import DataError, DovetailError
from dovetail.ledger import Ledger
from dovetail.query import Count, Histogram
from dovetail.release import mechanism
from engine_tables import Loader, into_duckdb, into_postgres, into_spark

KINDS = ("integer", "number", "text", "boolean", "date", "timestamp")
NOISE = dv.GeometricMixture("0.02", "0.1", 5)


@pytest.fixture
def visits(postgres_url: str) -> str:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(
            "CREATE TABLE visits (who TEXT, word VARCHAR(80), n BIGINT, x FLOAT8, d DATE, m NUMERIC);"
            "INSERT INTO visits SELECT 'p' || i % 90, 'word' || i % 3, i % 7, i / 3.0, '2024-01-31', i "
            "FROM generate_series(1, 900) AS i"
        )
    return postgres_url


EXTREME = "('q', '''; DROP TABLE visits; --', 9223372036854775807, 'NaN', 'infinity', 'NaN')"
OTHER = "(NULL, NULL, NULL, '-infinity', '0044-03-15 BC', '1e300')"
ORDINARY = "('q', 'word1', 3, 1.5, '2024-02-01', 7)"


def asked(session: dv.Session) -> Iterator[Any]:
    pay: dict[str, Any] = {"noise": NOISE}
    found = pay | {"keys": "discover", "delta": "1e-6"}
    yield lambda: session.count(**pay)
    yield lambda: session.count(where="x > 5 OR word NOT IN ('word1', 'y') OR d < '2024-02-02'", **pay)
    yield lambda: session.histogram("word", keys=["word0", "word1", None], **pay)
    yield lambda: session.histogram("n", bins=[-(2**61), 0, 5, 2**61], **pay)
    yield lambda: session.histogram("d", keys=["2024-01-31", None], **pay)
    yield lambda: session.sum("n", low=-(2**52), high=2**52, step=1, **pay)
    yield lambda: session.sum("x", low=0, high=10, step="0.001", **pay)
    yield lambda: session.sum("m", low=0, high=10, step="0.5", **pay)
    yield lambda: session.mean("m", low=0, high=10, step=1, **pay)
    yield lambda: session.histogram("word", **found)
    yield lambda: session.histogram("n", "d", **found)
    yield lambda: session.histogram("x", **found)
    yield lambda: session.count(where="1/(n-3) > 0", **pay)
    yield lambda: session.count(where="pg_sleep(1) IS NULL", **pay)
    yield lambda: session.sql("SELECT word, COUNT(*) FROM visits GROUP BY word", **pay)


def observed(
    address: str, place: Path, caplog: pytest.LogCaptureFixture, options: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the SQL, the errors, the shapes, the lines logged and the events."""
    spelled: list[str] = []
    errors, shapes = [], []
    honest = postgres.placed

    def recorded(statement: Any, relation: Any) -> Any:
        whole = honest(statement, relation)
        spelled.append(whole.sql("postgres"))
        return whole

    caplog.clear()
    with pytest.MonkeyPatch.context() as patched, caplog.at_level(logging.DEBUG, "dovetail"):
        patched.setattr(postgres, "placed", recorded)
        patched.setattr(mechanism, "draws", lambda _, cells: [0] * cells)
        patched.setattr("dovetail.ledger.account.DatasetAccount.secret", b"the same")
        budget = dv.Budget.approximate(1000, "1e-2")
        with dv.Session(address, table="visits", budget=budget, ledger=place, **options) as session:
            for ask in asked(session):
                try:
                    answer = ask()
                    keys = None if answer.found is None else answer.keys
                    shapes.append((answer.table.num_rows, keys, answer.charge, str(answer.remaining)))
                except DovetailError as error:
                    errors.append(str(error))
    lines = [record.getMessage().replace(str(place), "LEDGER") for record in caplog.records]
    with Ledger.open(place) as book:
        events = [
            (event["sequence"], event["kind"], sorted(json.loads(event["content"])))
            for event in json.loads(book.export("json"))["events"]
        ]
    return spelled, errors, shapes, lines, events


@pytest.mark.parametrize(
    "options", [{}, {"unit": "who", "max_rows": 3, "max_cells": 2}], ids=["rows", "persons"]
)
def test_one_more_row_changes_nothing_but_numbers(
    visits: str, options: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    without = observed(visits, tmp_path / "0.ledger", caplog, options)
    assert len(without[0]) >= 11
    assert len(without[1]) == 4
    for number, row in enumerate((EXTREME, OTHER, ORDINARY)):
        with psycopg.connect(visits, autocommit=True) as server:
            server.execute(f"INSERT INTO visits VALUES {row}")
        with_it = observed(visits, tmp_path / f"{number + 1}.ledger", caplog, options)
        with psycopg.connect(visits, autocommit=True) as server:
            server.execute("DELETE FROM visits WHERE who = 'q' OR who IS NULL")
        assert with_it == without


def test_a_table_dropped_or_changed_on_the_way_is_one_error_a_change_and_stays_charged(
    visits: str, tmp_path: Path
) -> None:
    changes = (
        "ALTER TABLE visits DROP n",
        "ALTER TABLE visits ALTER n TYPE TEXT USING 'none'",
        "DROP TABLE visits",
    )
    with psycopg.connect(visits, autocommit=True) as server:
        server.execute("CREATE TABLE kept AS SELECT * FROM visits")
    for number, change in enumerate(changes):
        with psycopg.connect(visits, autocommit=True) as server:
            server.execute("DROP TABLE visits; CREATE TABLE visits AS SELECT * FROM kept")
        place = tmp_path / f"{number}.ledger"
        budget = dv.Budget.approximate(10, "1e-3")
        messages = set()
        with dv.Session(visits, table="visits", budget=budget, ledger=place) as session:
            with psycopg.connect(visits, autocommit=True) as server:
                server.execute(change)
            for ask in (
                lambda s: s.count(where="n > 5", noise=dv.Geometric(1)),
                lambda s: s.histogram("n", keys="discover", noise=dv.Geometric(1), delta="1e-6"),
            ):
                with pytest.raises(DataError) as caught:
                    ask(session)
                messages.add(re.sub(r"The charge \(.*?\) stays", "The charge stays", str(caught.value)))
            assert session._account.standing().spent.epsilon_units == 2 * 10**9
            assert session._account.standing().spent.delta_units > 0
        # What is in the rows has no part in it: one message for each state of the table, but for the charge.
        assert len(messages) == 1
        assert ("is not there" in messages.pop()) == ("DROP TABLE" in change)


@pytest.mark.parametrize(
    "where",
    [
        "word = ''' OR 1=1 --'",
        "word = '\\''; DROP TABLE visits; --'",
        "word = '$$ || pg_sleep(9) || $$'",
        "word = 'E''\\\\'' OR TRUE --'",
        "word = '%s %(x)s {0} :x ?'",
        "word = U&'d\\0061t'",
        "word IN ('a', '''); DELETE FROM visits; --')",
        '"word"";DROP TABLE visits;--" = 1',
        "word = (SELECT word FROM visits LIMIT 1)",
        "word = current_user",
        "word LIKE '%'",
        "CAST(word AS INT) = 1",
        "word = 'a' /* */ OR TRUE",
        "n = 1; DROP TABLE visits",
    ],
)
def test_a_hostile_condition_is_a_text_or_refused(visits: str, where: str, tmp_path: Path) -> None:
    engine = connect(dv.Source.of(visits, table="visits"))
    try:
        question = Count(where).checked(dv.Schema().table(engine.columns()))
    except DovetailError:
        question = Count().checked(dv.Schema().table(engine.columns()))
        assert true_cells(engine, question) == [(900,)]
    else:
        assert true_cells(engine, question) == [(0,)]
    engine.close()


@pytest.fixture(params=["duckdb", "postgresql", pytest.param("spark", marks=pytest.mark.spark)])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Loader]:
    if request.param == "duckdb":
        yield into_duckdb
    elif request.param == "postgresql":
        yield from into_postgres(str(request.getfixturevalue("postgres_server")))
    else:
        yield into_spark(request.getfixturevalue("spark"), tmp_path)


def test_a_very_long_text_is_missing_and_no_failure(load: Loader) -> None:
    """A matcher that calls itself for every group would end here."""
    words = ["1" + "_1" * 500_000, "1" * 1_000_000, "1", "2024-01-31"]
    engine = connect(load(pyarrow.table({"word": words})))
    assert [missing(engine, "word", kind) for kind in KINDS] == [3, 3, 0, 3, 3, 3]
    engine.close()


def missing(engine: Engine, column: str, kind: str) -> int:
    table = dv.Schema([dv.Column(column, kind)]).table(engine.columns())
    return true_cells(engine, Count(f"{column} IS NULL").checked(table))[0][0]


@pytest.mark.parametrize("setting", ["client_encoding=latin1", "options=-cclient_encoding%3Dsql_ascii"])
def test_no_encoding_of_the_connection_lets_a_letter_fail_a_question(
    postgres_url: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server would refuse to send a letter that the encoding lacks: one row would decide."""
    monkeypatch.setenv("PGCLIENTENCODING", "latin1")
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(b"CREATE TABLE words AS SELECT 'a' AS word UNION ALL SELECT U&'\\20AC'")
    engine = connect(dv.Source.of(f"{postgres_url}&{setting}", table="words"))
    found = Histogram("word", keys="discover").checked(dv.Schema().table(engine.columns()))
    cells = [row for batch in held_cells(engine, found) for row in batch]
    engine.close()
    assert sorted(cells) == [("a", 1), ("\u20ac", 1)]


def test_no_function_of_another_user_takes_the_place_of_a_built_in_one(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(
            "CREATE TABLE words (word VARCHAR(9)); INSERT INTO words VALUES ('true');"
            "CREATE FUNCTION public.lower(VARCHAR) RETURNS TEXT LANGUAGE sql AS $$ SELECT 'false' $$;"
            "CREATE VIEW seen AS SELECT * FROM words WHERE lower(word) = 'false'"
        )
    schema = dv.Schema([dv.Column("word", "boolean")])
    counted = []
    for table in ("words", "seen"):
        engine = connect(dv.Source.of(postgres_url, table=table))
        counted.append(true_cells(engine, Count("word").checked(schema.table(engine.columns()))))
        engine.close()
    # A view keeps the path of its owner, and what its owner lets others put there.
    assert counted == [[(1,)], [(0,)]]


@pytest.mark.slow
def test_a_text_of_hundreds_of_megabytes_fails_no_question(postgres_url: str) -> None:
    """The server's matcher takes four bytes for each letter, and no more than a gigabyte."""
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE TABLE t AS SELECT repeat('1', 280000000) AS word UNION ALL SELECT '1'")
    engine = connect(dv.Source.of(postgres_url, table="t"))
    assert [missing(engine, "word", kind) for kind in KINDS] == [1, 1, 0, 1, 2, 2]
    engine.close()
