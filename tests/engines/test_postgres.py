"""What only PostgreSQL can hold or do: its own types, its settings, its failures."""

from __future__ import annotations

import builtins
import logging
import os
import signal
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from threading import Timer
from typing import Any

import psycopg
import pytest
from sqlglot import exp

import dovetail as dv
from dovetail.engines import Engine, Source, connect, postgres
from dovetail.engines.aggregation import held_cells, true_cells
from dovetail.engines.postgres_values import TYPES, spelled_value
from dovetail.errors import DataError, InvalidParameter
from dovetail.query import Column, Count, Histogram, Schema, Sum

SETUP = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'Happy');
CREATE DOMAIN small AS INTEGER CHECK (VALUE < 1000);
CREATE DOMAIN smaller AS small CHECK (VALUE < 100);
CREATE TABLE odd (
    m mood, s smaller, n NUMERIC, c CHAR(5), u UUID, z TIMESTAMPTZ, d DATE, t TIMESTAMP, tags TEXT[], j JSON
);
INSERT INTO odd VALUES
    ('Happy', 7, 'NaN', 'ab', '00000000-0000-0000-0000-00000000000A', '2024-01-01 00:30+02', '4000000-01-01',
     'infinity', '{a}', '{}'),
    ('sad', 99, 'Infinity', 'abcde', NULL, '2024-01-01 00:30+00', '0044-03-15 BC', '-infinity', NULL, NULL),
    ('ok', NULL, 1e400, NULL, NULL, 'infinity', 'infinity', '2024-01-01', NULL, NULL),
    (NULL, 1, 1e-400, '', NULL, NULL, '2024-01-01', NULL, NULL, NULL),
    (NULL, 1, 2.5, 'ab   ', NULL, NULL, NULL, NULL, NULL, NULL);
CREATE SCHEMA "Clinic";
CREATE TABLE "Clinic"."Visits" ("Age" INTEGER, age INTEGER);
INSERT INTO "Clinic"."Visits" VALUES (1, 10), (2, 20);
CREATE VIEW failing AS SELECT CAST(c AS INTEGER) AS n FROM odd;
CREATE VIEW slow AS SELECT pg_sleep(5)::text AS n;
"""


@pytest.fixture
def address(postgres_url: str) -> str:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(SETUP)
    return postgres_url


@pytest.fixture
def odd(address: str) -> Iterator[Engine]:
    engine = connect(Source.of(address, table="odd"))
    yield engine
    engine.close()


def cells(engine: Engine, query: Any, *columns: Column) -> list[int]:
    return [cell[0] for cell in true_cells(engine, query.checked(Schema(columns).table(engine.columns())))]


def test_its_own_types_are_read_or_refused_by_name(odd: Engine) -> None:
    assert cells(odd, Histogram("m", keys=["Happy", "ok", "happy", None])) == [1, 1, 0, 2]
    assert cells(odd, Count("m < 'a'")) == [1]  # By its letters, not by its place in the list.
    assert cells(odd, Histogram("s", keys=[7, 99, 1, None])) == [1, 1, 2, 1]
    assert cells(odd, Histogram("c", keys=["ab", "abcde", "", None])) == [2, 1, 1, 1]
    assert cells(odd, Count("u = '00000000-0000-0000-0000-00000000000a'")) == [1]
    assert cells(odd, Count("z < '2024-01-01'")) == [1]
    assert cells(odd, Count("z >= '2024-01-01'")) == [1]
    with pytest.raises(dv.InvalidQuery, match="tags cannot be asked about: it holds lists"):
        cells(odd, Count("tags = 'a'"))
    assert not odd.columns()["j"].usable


def test_a_numeric_beyond_doubles_is_missing_and_never_an_error(odd: Engine) -> None:
    assert cells(odd, Count("n IS NULL")) == [3]
    assert cells(odd, Count("n >= 0")) == [2]
    assert cells(odd, Sum("n", low=0, high=10, step="0.5")) == [5]
    assert cells(odd, Sum("n", low=0, high=10, step=1), Column("n", "integer")) == [3]


def test_dates_before_christ_and_past_all_times_do_not_stop_a_query(odd: Engine) -> None:
    assert cells(odd, Count("d > '2024-01-01'")) == [1]
    assert cells(odd, Count("d < '0001-01-01'")) == [1]
    assert cells(odd, Count("d < '2024-01-01 00:00:00'"), Column("d", "timestamp")) == [1]
    assert cells(odd, Count("t > '2024-01-01'")) == [0]
    assert cells(odd, Count("t IS NULL")) == [4]
    assert cells(odd, Histogram("d", keys=["2024-01-01", None])) == [1, 2]


def test_every_kind_can_be_asked_of_every_column(odd: Engine) -> None:
    usable = [name for name, stored in odd.columns().items() if stored.usable]
    for name in usable:
        for kind in ("integer", "number", "text", "boolean", "date", "timestamp"):
            (count,) = cells(odd, Count(f"{name} IS NOT NULL"), Column(name, kind))
            assert 0 <= count <= 5


def test_names_keep_their_case_and_may_name_a_schema(address: str) -> None:
    for table in ("Clinic.Visits", '"Clinic"."Visits"'):
        engine = connect(Source.of(address, table=table))
        assert cells(engine, Histogram("Age", keys=[1, 10])) == [1, 0]
        assert cells(engine, Histogram("age", keys=[1, 10])) == [0, 1]
        engine.close()


@pytest.mark.parametrize("type_", [name for name, (_, stored) in TYPES.items() if stored.kind == "text"])
def test_texts_are_compared_by_code_point_whatever_the_database_says(type_: str) -> None:
    # A collation of words would put 'Happy' between 'a' and 'z', and one without case would let one row name
    # the key of many; this server may not offer one to try.
    assert spelled_value(exp.column("k"), type_, "text").sql("postgres").endswith('COLLATE "C"')


def test_a_missing_table_and_a_wrong_address_are_told_without_the_password(address: str) -> None:
    with pytest.raises(DataError, match=r'no table "public"\."nothing"'):
        connect(Source.of(address, table="nothing"))
    with pytest.raises(InvalidParameter, match="table=None"):
        Source.of(address)
    with pytest.raises(InvalidParameter, match=r"clinic\.visits"):
        connect(Source.of(address, table="a.b.c"))
    for wrong in (
        "postgresql://ann:hunter2@127.0.0.1:1/clinic",
        "postgresql://ann:hunter2@127.0.0.1:x/clinic",
    ):
        with pytest.raises((DataError, InvalidParameter)) as caught:
            connect(Source.of(wrong, table="visits"))
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_row_that_fails_and_a_time_limit_read_the_same(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    texts = []
    limited = f"{address}&options=-c%20statement_timeout%3D100"
    for where, table in ((address, "failing"), (limited, "slow")):
        engine = connect(Source.of(where, name="same", table=table))
        with caplog.at_level(logging.DEBUG, "dovetail.engine"), pytest.raises(DataError) as caught:
            cells(engine, Count("n IS NULL"))
        engine.close()
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert "abcde" not in texts[0]
    assert "statement timeout" in caplog.text


def test_nothing_can_be_written(odd: Engine) -> None:
    database = odd._engine  # type: ignore[attr-defined]
    with database.connect() as connection, pytest.raises(Exception, match="read-only"):
        connection.exec_driver_sql("DELETE FROM odd")


def test_a_table_dropped_midway_is_a_data_error(address: str, odd: Engine) -> None:
    assert cells(odd, Count()) == [5]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE odd CASCADE")
    with pytest.raises(DataError, match="cannot be read"):
        cells(odd, Count())


def test_a_database_in_another_encoding_is_refused(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
        name = connection.info.dbname
    try:
        with pytest.raises(DataError, match="LATIN1"):
            connect(Source.of(postgres_url.replace(f"/{name}?", "/latin?"), table="visits"))
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP DATABASE latin")


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_driver(name: str, *rest: Any, **more: Any) -> Any:
        if name == "psycopg":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_driver)
    with pytest.raises(DataError, match=r"pip install 'dovetail-dp\[postgres\]'"):
        connect(Source.of("postgresql://db/clinic", table="visits"))


def test_a_session_answers_from_the_server_and_keeps_one_budget_per_table(
    address: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "b.ledger"
    with dv.Session(address, table="odd", budget=dv.Budget.pure(100), ledger=ledger) as session:
        answer = session.histogram("s", keys=[7, 1], noise=dv.Geometric(20))
        assert [row["value"] for row in answer.table.to_pylist()] == [1, 2]
        assert session.source.name.endswith("-odd")
    with pytest.warns(UserWarning, match="'twice' is a second name for the source of .*-odd'"):
        dv.Session(address, table="odd", name="twice", budget=dv.Budget.pure(100), ledger=ledger).close()


def test_days_and_numbers_that_python_cannot_hold_are_missing_keys(odd: Engine) -> None:
    def held(column: str, kind: str) -> dict[Any, int]:
        table = Schema([Column(column, kind)]).table(odd.columns())
        question = Histogram(column, keys="discover").checked(table)
        return {key: count for batch in held_cells(odd, question) for key, count in batch}

    assert held("d", "date") == {date(2024, 1, 1): 1, None: 4}
    assert held("n", "integer") == {None: 3, 0: 1, 3: 1}
    assert held("m", "text") == {"Happy": 1, "sad": 1, "ok": 1, None: 2}


def test_workers_may_help_with_few_groups_and_with_many(address: str) -> None:
    """The server lets none help with what is read through a cursor."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION by_a_worker() RETURNS BOOL PARALLEL SAFE LANGUAGE plpgsql AS $$ BEGIN "
            "RETURN (SELECT leader_pid > 0 FROM pg_stat_activity WHERE pid = pg_backend_pid()); END $$;"
            "CREATE VIEW helped AS SELECT by_a_worker() AS yes FROM odd"
        )
    engine = connect(Source.of(f"{address}&options=-c%20debug_parallel_query%3Don", table="helped"))
    query = Histogram("yes", keys=[True, None])
    assert cells(engine, query) == [5, 0]
    question = query.checked(Schema([]).table(engine.columns()))
    assert list(held_cells(engine, question)) == [[(True, 5)]]
    engine.close()


def turned(address: str, user: str) -> str:
    return address.replace("postgres:@", f"{user}:hunter2@")


def test_a_missing_right_is_named_at_opening_and_later(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        role = f"reader_{connection.info.dbname}"
        connection.execute(f"CREATE ROLE {role} LOGIN; GRANT SELECT (s) ON odd TO {role}")
    try:
        with pytest.raises(DataError, match="lacks a right"):
            connect(Source.of(turned(address, role), table="Clinic.Visits"))
        with pytest.raises(DataError, match=r'may not read the table "public"\."failing"'):
            connect(Source.of(turned(address, role), table="failing"))
        engine = connect(Source.of(turned(address, role), table="odd"))
        assert cells(engine, Count("s = 7")) == [1]
        with pytest.raises(DataError, match="lacks a right") as caught:
            cells(engine, Count("m = 'ok'"))
        assert "hunter2" not in str(caught.value)
        engine.close()
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_the_part_of_the_address_that_fails_is_named_without_the_password(address: str) -> None:
    database = address.split("/")[3].split("?")[0]
    for wrong, says in (
        (turned(address, "nobody"), "does not let this user in"),
        (turned(address, "postgres").replace(f"/{database}?", "/nothing?"), "no database of that name"),
        ("postgresql://ann:hunter2@127.0.0.1:1/clinic", "Nothing answers at that host and port"),
        ("postgresql://ann:hunter2@nowhere.invalid/clinic", "host in the address was not found"),
        ("postgresql://ann:hunter2@127.0.0.1:1/clinic?sslmode=perhaps", "option that PostgreSQL cannot"),
    ):
        with pytest.raises(DataError, match=says) as caught:
            connect(Source.of(wrong, table="visits"))
        assert "hunter2" not in str(caught.value)


def test_a_server_that_falls_silent_in_a_question_is_given_up(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "REPLY_LIMIT", 0.9)
    limited = f"{address}&options=-c%20statement_timeout%3D100"
    engine = connect(Source.of(limited, table="odd"))
    assert cells(engine, Count()) == [5]
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()", (name,)
        )
        (pid,) = found.fetchone() or (0,)
        # Frozen when the question has been begun, so that no ping finds out.
        monkeypatch.setattr(postgres, "_SETTINGS", "SELECT pg_sleep(0.3)")
        freezing = Timer(0.1, os.kill, (pid, signal.SIGSTOP))
        freezing.start()
        try:
            with pytest.raises(DataError, match="answers within its statement_timeout"):
                cells(engine, Count())
        finally:
            freezing.join()
            os.kill(pid, signal.SIGCONT)
            engine.close()
