"""Connections as they are opened, looked at and told their limits; a server is played by SQLite."""

from __future__ import annotations

import socket
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError

from dovetail import postgresql
from dovetail.errors import InvalidParameter, LedgerError
from dovetail.ledger import databases


def test_a_connection_is_in_touch_where_it_was_used_a_moment_ago_and_nothing_came_since() -> None:
    here, there = socket.socketpair()
    with here, there:
        now = time.monotonic()
        assert databases._in_touch(here, {databases._USED: now})
        assert databases._in_touch(here, {databases._USED: now - 4})
        assert not databases._in_touch(here, {databases._USED: now - 6})
        assert not databases._in_touch(here, {})
        there.send(b"good-bye")
        assert not databases._in_touch(here, {databases._USED: now})


def test_a_connection_out_of_touch_is_asked_and_replaced_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'some.db'}")
    databases._look_before_use(engine)
    near, asked_servers = [True], list[object]()
    monkeypatch.setattr(databases, "_in_touch", lambda _driver, _info: near[0])

    def ping(connection: object) -> None:
        asked_servers.append(connection)
        if len(asked_servers) == 1:
            raise sqlite3.OperationalError

    monkeypatch.setattr(engine.dialect, "do_ping", ping)

    def used() -> object:
        with engine.connect() as connection:
            driver = connection.connection.driver_connection
        assert time.monotonic() - connection_info(engine)[databases._USED] < 60
        return driver

    def connection_info(engine: Engine) -> dict[str, float]:
        with engine.connect() as connection:
            return dict(connection.info)

    first = used()
    assert used() is first
    assert asked_servers == []
    near[0] = False
    assert used() is not first
    assert asked_servers[0] is first
    engine.dispose()


def test_a_server_frees_the_head_of_a_frozen_client_before_others_lose_patience() -> None:
    assert databases._limiting(4, "SET LOCAL") == (
        "SET LOCAL lock_timeout = 4000; SET LOCAL idle_in_transaction_session_timeout = 2000; "
        f"SET LOCAL statement_timeout = {4 * (4 + round(postgresql.REPLY_LIMIT)) * 1000}"
    )
    # 0 would be no limit at all.
    assert databases._limiting(0, "SET").startswith("SET lock_timeout = 1; SET idle_in_transaction")


def test_an_error_of_the_database_does_not_show_what_was_to_be_written(tmp_path: Path) -> None:
    """It may be the name of a person, or the body of a question."""
    engine = databases.sqlite_engine(tmp_path / "some.db", 1)
    with engine.connect() as connection, pytest.raises(DBAPIError) as failed:
        connection.execute(text("SELECT :private FROM nowhere"), {"private": "Ann Smith"})
    assert "nowhere" in str(failed.value)
    assert "Ann Smith" not in str(failed.value)
    engine.dispose()


@pytest.mark.parametrize("location", ["", ".", ":memory:", 7, None, "sqlite://", "sqlite:///:memory:"])
def test_what_names_no_place_is_refused(location: object) -> None:
    with pytest.raises(InvalidParameter, match="ledger"):
        databases.parsed(location)  # type: ignore[arg-type]


def test_a_place_is_a_file_or_a_server() -> None:
    assert databases.parsed("budget.ledger") == databases.parsed(Path("budget.ledger"))
    assert databases.parsed("sqlite:////srv/budget.ledger") == Path("/srv/budget.ledger")
    for written in ("postgresql://ann@host/clinic", "postgres://ann@host/clinic"):
        address = databases.parsed(written)
        assert isinstance(address, URL)
        assert str(address) == "postgresql+psycopg://ann@host/clinic"
    for wrong in ("mysql://ann:hunter2@host/clinic", "postgresql://ann:hunter2@host:port/clinic"):
        with pytest.raises(InvalidParameter) as refused:
            databases.parsed(wrong)
        assert "hunter2" not in str(refused.value)


def test_a_writer_holds_the_file_from_its_beginning_and_a_reader_does_not(tmp_path: Path) -> None:
    engine = databases.sqlite_engine(tmp_path / "some.db", 0)
    writing = engine.execution_options(writing=True)
    with engine.begin(), engine.begin(), writing.begin() as writer:
        assert writer.connection.driver_connection.in_transaction
        with pytest.raises(sqlite3.OperationalError, match="locked"), writing.begin():
            pass
    with writing.begin():
        pass
    engine.dispose()


class Spoken(sqlite3.Cursor):
    """A cursor that answers as a server of PostgreSQL would where it is asked for its settings."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_given: object) -> None:
        self.close()

    def execute(self, statement: str, *given: Any) -> Any:
        server = self.connection
        if statement == databases._MAY_WAIT:
            return super().execute("SELECT ?", (server.may_wait,))  # type: ignore[attr-defined]
        if statement == databases._LOOSE:
            return super().execute("SELECT value FROM json_each(?)", (server.loose,))  # type: ignore[attr-defined]
        if statement.startswith("SET "):
            server.said.append(statement)  # type: ignore[attr-defined]
            return self
        return super().execute(statement, *given)


class Server(sqlite3.Connection):
    """What a server says, on a database in memory."""

    pooled, may_wait, loose = False, 1, "[]"

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.said: list[str] = []

    def cursor(self, factory: Any = Spoken) -> Any:
        return super().cursor(factory)


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine for PostgreSQL whose server is played by SQLite."""
    made = create_engine("sqlite://", connect_args={"factory": Server})
    options = {"isolation_level": "READ COMMITTED", "hide_parameters": True}

    def opened(_url: URL, **given: Any) -> Engine:
        assert given == options
        return made

    monkeypatch.setattr(databases, "create_engine", opened)
    monkeypatch.setattr(databases, "limit_replies", lambda *_given: None)
    monkeypatch.setattr(databases, "_in_touch", lambda *_given: True)
    assert databases.postgres_engine(URL.create("postgresql"), 4) is made
    return made


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("may_wait", [0, 1])
def test_a_server_is_told_its_limits_once_or_in_each_transaction_of_a_pooler(
    spoken: Engine, pooled: bool, may_wait: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "pooled", pooled)
    monkeypatch.setattr(Server, "may_wait", may_wait)
    with spoken.connect() as connection:
        said: list[str] = connection.connection.driver_connection.said  # type: ignore[union-attr]
        assert connection.info[databases.CAN_WAIT] == may_wait
        for _ in range(2):
            with connection.begin():
                pass
    local = f"{databases._limiting(4, 'SET LOCAL')}; {databases._AS_CONNECTED}"
    assert said == ([local] * 2 if pooled else [databases._limiting(4, "SET")])


def test_a_server_that_could_forget_is_named_by_its_settings(
    spoken: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "loose", '["fsync", "synchronous_commit"]')
    with pytest.raises(LedgerError, match="fsync and synchronous_commit off"), spoken.connect():
        pass
