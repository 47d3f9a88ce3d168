"""Which part of reaching a PostgreSQL server failed, and how long a silent one is waited for."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, create_engine

from dovetail import postgresql
from dovetail.postgresql import failure_of, limit_replies, wait_longer

SECRET = "hunter2"


def engine_of(address: str, seconds: float = 1) -> Engine:
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:", 1), pool_pre_ping=True)
    limit_replies(engine, seconds)
    return engine


def failed_part(address: str) -> str:
    engine = engine_of(address)
    with pytest.raises(Exception) as caught, engine.connect() as connection:  # noqa: PT011
        connection.exec_driver_sql("SELECT 1")
    engine.dispose()
    failure = failure_of(caught.value)
    assert failure is not None
    assert SECRET not in failure.words
    return failure.part


@contextmanager
def pretended(reply: Callable[[socket.socket], None]) -> Iterator[str]:
    """Listen like a server that answers every greeting in one way of its own."""
    met: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    met.append(listening.accept()[0])
                    reply(met[-1])
                except OSError:
                    return

        serving = Thread(target=serve)
        serving.start()
        yield f"postgresql://ann:{SECRET}@127.0.0.1:{listening.getsockname()[1]}/clinic"
        listening.shutdown(socket.SHUT_RDWR)
        serving.join()
    for each in met:
        each.close()


def turned(address: str, user: str, database: str | None = None) -> str:
    """Return the address with another user, and maybe another database."""
    tail = address.split("@", 1)[1]
    tail = tail if database is None else f"/{database}?{tail.split('?', 1)[1]}"
    return f"postgresql://{user}:{SECRET}@{tail}"


def test_each_part_of_an_address_that_fails_is_named(postgres_url: str) -> None:
    name = postgres_url.split("/")[3].split("?")[0]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"REVOKE CONNECT ON DATABASE {name} FROM PUBLIC")
        connection.execute(f"CREATE ROLE {name}_ann LOGIN; CREATE ROLE {name}_bob NOLOGIN")
    try:
        assert failed_part(turned(postgres_url, "nobody")) == "user"
        assert failed_part(turned(postgres_url, f"{name}_bob")) == "user"
        assert failed_part(turned(postgres_url, "postgres", "nothing")) == "database"
        assert failed_part(turned(postgres_url, f"{name}_ann")) == "grant"
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {name}_ann; DROP ROLE {name}_bob")


def test_hosts_ports_and_options_that_fail_are_named() -> None:
    assert failed_part(f"postgresql://ann:{SECRET}@127.0.0.1:1/clinic") == "port"
    assert failed_part(f"postgresql://ann:{SECRET}@127.0.0.1:99999/clinic") == "port"
    assert failed_part(f"postgresql://ann:{SECRET}@nowhere.invalid/clinic") == "host"
    assert failed_part(f"postgresql://ann:{SECRET}@/clinic?host=/no/such/folder") == "port"
    assert failed_part(f"postgresql://ann:{SECRET}@127.0.0.1:1/clinic?sslmode=perhaps") == "address"
    assert failed_part(f"postgresql://ann:{SECRET}@127.0.0.1:1/clinic?colour=blue") == "address"
    with pretended(lambda met: met.sendall(b"N")) as address:
        assert failed_part(f"{address}?sslmode=require") == "TLS"
    with pretended(lambda met: met.sendall(b"HTTP/1.0 400 no\r\n\r\n")) as address:
        assert failed_part(address) == "port"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('failed: FATAL:  password authentication failed for user "ann"', "password"),
        ("failed: fe_sendauth: no password supplied", "password"),
        ('failed: FATAL:  Peer authentication failed for user "ann"', "user"),
        ('failed: FATAL:  no pg_hba.conf entry for host "::1", user "ann", no encryption', "access"),
        ('failed: server certificate for "db" does not match host name "clinic"', "TLS"),
        ('root certificate file "/home/ann/.postgresql/root.crt" does not exist', "TLS"),
        ('failed: FATAL:  too many connections for role "ann"', "connections"),
        ("failed: FATAL:  sorry, too many clients already", "connections"),
        ("failed: FATAL:  the database system is starting up", "server"),
        ("connection failed: FATAL:  sesam bleibt zu", "server"),
        ("server closed the connection unexpectedly", "connection"),
        ("encoding with 'idna' codec failed (UnicodeError: label empty or too long)", "host"),
    ],
)
def test_the_words_of_servers_that_no_test_can_start_are_understood(text: str, part: str) -> None:
    failure = failure_of(psycopg.OperationalError(text))
    assert failure is not None
    assert failure.part == part


def test_what_is_no_matter_of_the_server_is_left_alone() -> None:
    assert failure_of(ValueError("secret row")) is None
    assert failure_of(psycopg.errors.DivisionByZero("in a row")) is None
    assert failure_of(None) is None


def test_a_server_that_accepts_and_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "CONNECT_LIMIT", 2)
    with pretended(lambda met: None) as address:
        assert failed_part(address) == "time"


def test_a_server_that_falls_silent_is_given_up_and_replaced(postgres_url: str) -> None:
    engine = engine_of(postgres_url)

    def frozen() -> int:
        with engine.connect() as connection:
            number: int = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        return number

    with engine.connect() as connection, pytest.raises(Exception, match="did not answer") as caught:
        connection.exec_driver_sql("SELECT pg_sleep(60)")
    assert failure_of(caught.value) == postgresql._SILENT
    stopped = frozen()
    os.kill(stopped, signal.SIGSTOP)
    try:
        # The frozen one is pinged, given up and replaced.
        assert frozen() != stopped
    finally:
        os.kill(stopped, signal.SIGCONT)
        engine.dispose()


def test_a_long_statement_can_be_waited_for(postgres_url: str) -> None:
    engine = engine_of(postgres_url, 0.1)
    with engine.connect() as connection:
        with wait_longer(connection, 60):
            found: Any = connection.exec_driver_sql("SELECT pg_sleep(0.5), 7").one()
        with pytest.raises(Exception, match="did not answer"):
            connection.exec_driver_sql("SELECT pg_sleep(60)")
    engine.dispose()
    assert found[1] == 7


def test_what_stands_in_a_note_beside_an_error_is_read_too() -> None:
    error = UnicodeError("label empty or too long")
    assert failure_of(error) is None
    error.add_note("encoding with 'idna' codec failed")
    assert getattr(failure_of(error), "part", None) == "host"
