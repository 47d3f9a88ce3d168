"""How long do a durable reservation, opening and verifying a long record take?

    python -m benchmarks.ledger [folder on the disk to measure]

A reservation is compared with the least that is durable on the same disk: one row updated in SQLite, with its
usual journal, which is removed after each commit, and the syncs that makes durable (synchronous=EXTRA). The
ledger keeps its journal, which is faster; the same row with that journal is shown, too. All take turns, so
that another load on the machine meets them alike.
The long record of 100,000 events is written in one transaction, because only reading it is measured.
"""

from __future__ import annotations

import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from dovetail.ledger import Ledger
from dovetail.noise import GeometricMixture
from dovetail.privacy import Budget, privacy_loss
from dovetail.release.account import Request, Reservation

from .report import Row, show, timed

TITLE = "Ledger on SQLite"
EVENTS = 100_000
CHARGE = privacy_loss(GeometricMixture("0.002", "0.01", 50)).charge()
# As long as a typed query is: a count with a condition, its noise and its neighbours.
BODY = '{"query":{"count":{"where":["=","ward",%d]}},"noise":{"rates":["1/500","1/100"],"breaks":[50]}}'


def rows(folder: str | None = None) -> Iterator[Row]:
    """Measure and give one row after another."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        yield from _reservations(Path(place))
        path = Path(place) / "long.ledger"
        _fill(path)
        yield from _opening(path)
        yield _verifying(path)


def bare_commits(path: Path, level: str, journal: str = "DELETE") -> Callable[[], None]:
    """Return the smallest durable transaction: one row updated."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={journal}")
    connection.execute(f"PRAGMA synchronous={level}")
    connection.execute("CREATE TABLE one (x INTEGER)")
    connection.execute("INSERT INTO one VALUES (0)")

    def update() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE one SET x = x + 1")
        connection.execute("COMMIT")

    return update


def _reservations(place: Path) -> Iterator[Row]:
    ledger = Ledger.create(place / "short.ledger")
    account = ledger.account("visits", budget=Budget.approximate(1000, "1e-6"))
    number = count()
    witnessed = Ledger.create(place / "seen.ledger", witness=place / "witness")
    seen = witnessed.account("visits", budget=Budget.approximate(1000, "1e-6"))
    times = timed(
        {
            "reserve": lambda: account.reserve(Request(BODY % next(number), CHARGE, "ann")),
            "seen": lambda: seen.reserve(Request(BODY % next(number), CHARGE, "ann")),
            "bare": bare_commits(place / "bare.db", "EXTRA"),
            "full": bare_commits(place / "full.db", "FULL"),
            "kept": bare_commits(place / "kept.db", "EXTRA", "PERSIST"),
        },
        rounds=300,
    )
    for case, ours, theirs, target in (
        ("durable reservation, one bare row", "reserve", "bare", 0.5),
        ("… a bare row with synchronous=FULL", "reserve", "full", None),
        ("… a bare row whose journal is kept", "reserve", "kept", None),
        ("… with a witness, one bare row", "seen", "bare", None),
    ):
        yield Row(case, _ms(times[ours]), _ms(times[theirs]), times.ratio(theirs, ours), target)
    ledger.close()
    witnessed.close()


def _fill(path: Path) -> None:
    with Ledger.create(path) as ledger:
        account = ledger.account("visits", budget=Budget.approximate(10**6, "1e-6"))
        store: Any = account._store
        with store.writing() as writer, mock.patch.object(store, "writing", return_value=nullcontext(writer)):
            for number in range((EVENTS - 1) // 2):
                made = account.reserve(Request(BODY % number, CHARGE, "ann"))
                assert isinstance(made, Reservation)
                account.settle(made, f'{{"rows":[{{"keys":{{}},"value":{number}}}]}}')


def _opening(path: Path) -> Iterator[Row]:
    def opened() -> None:
        with Ledger.open(path) as ledger:
            ledger.account("visits").spent()

    again = timed({"open": opened}, rounds=15)["open"]
    first = statistics.median(_first_opening(path) for _ in range(7))
    case = f"open at {EVENTS:,} events, in a new process"
    yield Row(case, _ms(first), "100 ms", 0.1 / first, 1.0)
    yield Row("… once more in the same process", _ms(again), "100 ms", 0.1 / again, 1.0)


def _first_opening(path: Path) -> float:
    """Time the first opening in a process that has imported the package."""
    script = f"""
import time
from dovetail.ledger import Ledger
begin = time.perf_counter()
Ledger.open({str(path)!r}).account("visits").spent()
print(time.perf_counter() - begin)
"""
    return float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout)


def _verifying(path: Path) -> Row:
    with Ledger.open(path) as ledger:
        seconds = timed({"verify": ledger.verify}, rounds=5)["verify"]
    return Row(f"verify {EVENTS:,} events", f"{seconds:.2f} s", "2 s", 2 / seconds, 1.0)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


if __name__ == "__main__":
    sys.exit(not show(TITLE, rows(*sys.argv[1:2])))
