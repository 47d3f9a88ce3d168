"""How many durable reservations a second do eight clients get from a ledger in PostgreSQL?

    python -m benchmarks.ledger_server

Compared with the least that is durable and serial there: lock one row, insert one row, commit. And with the
floor of a ledger: a loop that reads and writes as many rows, in as many journeys, and checks nothing. Eight
clients of each take turns; a turn is as long as its slowest client.
"""

from __future__ import annotations

import multiprocessing
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.release.account import Request

from .ledger import BODY, CHARGE
from .postgresql_server import postgresql_server
from .report import Row, show, timed

TITLE = "Ledger on PostgreSQL, eight clients"
CLIENTS = 8
EACH = 10
_TABLES = """
CREATE TABLE head (sequence bigint); INSERT INTO head VALUES (0);
CREATE TABLE events (id text PRIMARY KEY, content text);
CREATE TABLE floor_head (sequence bigint, hash text); INSERT INTO floor_head VALUES (0, '');
CREATE TABLE floor_requests (id bigint PRIMARY KEY, public text UNIQUE, question text);
CREATE INDEX ON floor_requests (question);
CREATE TABLE floor_attempts (id bigint PRIMARY KEY, until text);
CREATE TABLE floor_balances (id int PRIMARY KEY, spent bigint); INSERT INTO floor_balances VALUES (1, 0);
CREATE TABLE floor_events (sequence bigint PRIMARY KEY, content text, hash text)"""
_STATEMENTS = (
    "SELECT sequence, hash FROM floor_head FOR UPDATE",
    "SELECT * FROM floor_requests WHERE question = $1",
    "SELECT * FROM floor_balances WHERE id = 1",
    "INSERT INTO floor_requests VALUES ($1, $2, $2)",
    "INSERT INTO floor_attempts VALUES ($1, $2)",
    "UPDATE floor_balances SET spent = $1 WHERE id = 1",
    "INSERT INTO floor_events VALUES ($1, $2, $3)",
    "UPDATE floor_head SET sequence = $1, hash = $2",
)


def rows() -> Iterator[Row]:
    """Measure and give one row after another."""
    import psycopg

    with postgresql_server() as (url, _):
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in _TABLES.split(";"):
                connection.execute(statement)
        with Ledger.create(url) as ledger:
            ledger.account("visits", budget=Budget.approximate(1000, "1e-6"))
        yield from _measured(url)


def _measured(url: str) -> Iterator[Row]:
    context = multiprocessing.get_context("spawn")
    crews = {work.__name__: _Crew(context, work, url) for work in (reserve, bare, floor)}
    try:
        times = timed({name: crew.turn for name, crew in crews.items()}, rounds=15)
    finally:
        for crew in crews.values():
            crew.end()
    rate = {name: f"{CLIENTS * EACH / times[name]:.0f} a second" for name in crews}
    yield Row(
        "reservations, bare lock-insert-commit",
        rate["reserve"],
        rate["bare"],
        times.ratio("bare", "reserve"),
        0.6,
    )
    yield Row(
        "reservations, as many rows without checks",
        rate["reserve"],
        rate["floor"],
        times.ratio("floor", "reserve"),
    )


class _Crew:
    """Clients that wait for the word and work at once."""

    def __init__(self, context: Any, work: Callable[[str], Callable[[], None]], url: str) -> None:
        self._pipes = []
        self._workers = []
        for _ in range(CLIENTS):
            here, there = context.Pipe()
            worker = context.Process(target=_client, args=(work, url, there))
            worker.start()
            self._pipes.append(here)
            self._workers.append(worker)
        for pipe in self._pipes:
            pipe.recv()

    def turn(self) -> None:
        """Let every client do its share, and wait for the last."""
        for pipe in self._pipes:
            pipe.send(True)
        for pipe in self._pipes:
            pipe.recv()

    def end(self) -> None:
        """Let the clients go."""
        for pipe, worker in zip(self._pipes, self._workers, strict=True):
            pipe.send(False)
            worker.join()


def _client(work: Callable[[str], Callable[[], None]], url: str, pipe: Any) -> None:
    once = work(url)
    once()
    pipe.send(True)
    while pipe.recv():
        for _ in range(EACH):
            once()
        pipe.send(True)


def reserve(url: str) -> Callable[[], None]:
    """Return how a client reserves."""
    account = Ledger.open(url, patience=120).account("visits")

    def once() -> None:
        account.reserve(Request(BODY.replace("%d", uuid.uuid4().hex), CHARGE, "ann"))

    return once


def bare(url: str) -> Callable[[], None]:
    """Return how a client locks one row, inserts one and commits."""
    import psycopg

    connection = psycopg.connect(url)
    content = BODY * 7

    def once() -> None:
        connection.execute("UPDATE head SET sequence = sequence + 1 RETURNING sequence").fetchone()
        connection.execute("INSERT INTO events VALUES (%s, %s)", (uuid.uuid4().hex, content))
        connection.commit()

    return once


def floor(url: str) -> Callable[[], None]:
    """Return how a client reads and writes as many rows as a reservation, and checks nothing."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    for number, statement in enumerate(_STATEMENTS):
        connection.execute(f"PREPARE s{number} AS {statement}")
    content = BODY * 7

    def once() -> None:
        name = uuid.uuid4().hex * 2
        found = connection.execute(f"BEGIN; EXECUTE s0; EXECUTE s1('{name}'); EXECUTE s2")
        found.nextset()
        number = found.fetchone()[0] + 1
        calls = [f"s3({number}, '{name}')", f"s4({number}, '{name}')", f"s5({number})"]
        calls += [f"s6({number}, '{content}', '{name}')", f"s7({number}, '{name}')"]
        connection.execute("; ".join([f"EXECUTE {each}" for each in calls] + ["COMMIT"]))

    return once


if __name__ == "__main__":
    sys.exit(not show(TITLE, rows()))
