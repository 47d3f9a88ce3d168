"""Many processes at once: exactly the budget is sold, and the ways known to oversell do oversell here."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import select

from dovetail.errors import DovetailError
from dovetail.ledger import Ledger, store
from dovetail.ledger.schema import ledger as head_row
from dovetail.privacy import Budget, Charge
from dovetail.release.account import StoredAnswer
from ledger_cases import asked
from ledger_sellers import UNIT, kill_hard, processes_context, sell_until_killed, sold_by_all


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dovetail.ledger.AboveBudget")
@pytest.mark.parametrize(("allotment", "sold"), [("0.3", 500), ("0.05", 400)])
def test_eight_processes_sell_exactly_what_budget_and_allotments_allow(
    location: str, allotment: str, sold: int
) -> None:
    """Eight allotments that together pass the budget, and eight that end before it does."""
    with Ledger.create(location) as ledger:
        account = ledger.account("visits", budget=Budget.pure("0.5"))
        for process in range(8):
            ledger.people.add(f"analyst {process}")
            ledger.people.grant(f"analyst {process}", "visits", Budget.pure(allotment))
        ledger.set_policy("visits", access="granted")
        assert sold_by_all("ledger", location, processes=8, attempts=200) == sold
        assert account.spent() == UNIT.times(sold)
        spent = [grant.spent for grant in ledger.people.grants()]
        assert sum(spent, Charge.zero()) == UNIT.times(sold)
        assert all(Budget.pure(allotment).allows(Charge.zero(), each) for each in spent)
        ledger.verify()


@pytest.mark.slow
def test_looking_before_inserting_oversells_in_sqlite(tmp_path: Path) -> None:
    """Negative control: the same test must see a seller that is wrong."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE sold (x); CREATE TABLE shop (cap); INSERT INTO shop VALUES (50)"
        )
    connection.close()
    assert sold_by_all("sqlite, look then insert", str(path), processes=8, attempts=20) > 50


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "postgresql, read committed",
        "postgresql, repeatable read",
        "postgresql, repeatable read for update",
    ],
)
def test_looking_before_inserting_oversells_in_postgresql(postgres_url: str, kind: str) -> None:
    """Negative control: even a lock does not help where the snapshot is older than the lock."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE sold (x int)")
        connection.execute("CREATE TABLE shop (cap int)")
        connection.execute("INSERT INTO shop VALUES (50)")
    assert sold_by_all(kind, postgres_url, processes=8, attempts=20) > 50


def test_the_guards_hold_even_without_the_lock(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is the first defence; the guarded head and the event numbers are the second."""
    looked = (head_row.c[name] for name in ("sequence", "hash", "state", "witness", "settings"))
    monkeypatch.setattr(store, "_LOCK", select(*looked))
    with Ledger.create(postgres_url) as ledger:
        account = ledger.account("visits", budget=Budget.pure("0.02"))

        def attempt(number: int) -> bool | None:
            try:
                account.reserve(asked(f"count {number}", UNIT))
            except DovetailError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            sold = sum(map(bool, pool.map(attempt, range(60))))
        assert 0 < sold <= 20
        assert account.spent() == UNIT.times(sold)
        ledger.verify()


@pytest.mark.slow
def test_workers_killed_at_random_leave_every_promise_kept(location: str, tmp_path: Path) -> None:
    context = processes_context()
    dice = random.Random(5)
    told = [tmp_path / f"told{process}" for process in range(3)]
    with Ledger.create(location) as ledger:
        account = ledger.account("visits", budget=Budget.pure(100))
        for life in range(6):
            workers = [
                context.Process(target=sell_until_killed, args=(location, process, life, told[process]))
                for process in range(3)
            ]
            for worker in workers:
                worker.start()
            _wait_until(lambda life=life: sum(_read(file).count(f"/{life}/") for file in told) > 12)
            for worker in workers:
                time.sleep(dice.random() * 0.1)
                kill_hard(worker)
            ledger.verify()
        lines = [json.loads(line) for file in told for line in file.read_text().splitlines()]
        permitted = [line for line in lines if line[0] == "permitted"]
        answered = [line for line in lines if line[0] == "answered"]
        assert len(answered) > 20
        records = {entry.sequence: entry for entry in ledger.show().entries}
        assert all(records[number].what == question for _, number, question in permitted)
        assert all(records[number].state == "answered" for _, number, _ in answered)
        for _, _, question in answered[-5:]:
            stored = account.reserve(asked(question))
            assert isinstance(stored, StoredAnswer)
            assert stored.answer == f"noised {question}"
        sold = sum(entry.charge == UNIT for entry in records.values())
        # A worker may die between the commit and telling: spent, and shown as such.
        assert len(permitted) <= sold <= len(permitted) + 3 * 6
        assert account.spent() == UNIT.times(sold)


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def _wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)
