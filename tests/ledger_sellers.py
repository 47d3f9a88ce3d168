"""Sellers of a limited number of units, run by several processes: the ledger, and ones that oversell."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg

from dovetail.errors import BudgetExceeded
from dovetail.ledger import Ledger
from dovetail.privacy import Charge
from dovetail.release.account import Reservation
from ledger_cases import asked

UNIT = Charge.approximate("0.001")
# Between looking and taking, so that a machine with few cores shows the race too.
BREATH = 0.002


def ledger_seller(location: str, process: int) -> Callable[[int], bool]:
    """Sell through the real thing."""
    account = Ledger.open(location, patience=120).account("visits")

    def sell(number: int) -> bool:
        try:
            request = asked(f"{process}/{number}", UNIT, analyst=f"analyst {process}")
            return isinstance(account.reserve(request), Reservation)
        except BudgetExceeded:
            return False

    return sell


def look_then_insert_in_sqlite(location: str, _process: int) -> Callable[[int], bool]:
    """Oversell: the driver begins its transaction after the look."""
    connection = sqlite3.connect(location, timeout=60)

    def sell(_number: int) -> bool:
        (sold, cap) = connection.execute("SELECT (SELECT count(*) FROM sold), cap FROM shop").fetchone()
        time.sleep(BREATH)
        if sold >= cap:
            return False
        with connection:
            connection.execute("INSERT INTO sold VALUES (1)")
        return True

    return sell


def look_then_insert_in_postgres(location: str, isolation: str, look: str) -> Callable[[int], bool]:
    """Oversell: nobody changes the row that everybody looks at."""
    connection = psycopg.connect(location, autocommit=True)

    def sell(_number: int) -> bool:
        while True:
            try:
                with connection.transaction():
                    connection.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
                    (cap,) = connection.execute(f"SELECT cap FROM shop {look}").fetchone()  # type: ignore[misc]
                    (sold,) = connection.execute("SELECT count(*) FROM sold").fetchone()  # type: ignore[misc]
                    if not look:
                        time.sleep(BREATH)
                    if sold >= cap:
                        return False
                    connection.execute("INSERT INTO sold VALUES (1)")
                return True
            except psycopg.errors.SerializationFailure:
                continue

    return sell


SELLERS: dict[str, Callable[[str, int], Callable[[int], bool]]] = {
    "ledger": ledger_seller,
    "sqlite, look then insert": look_then_insert_in_sqlite,
    "postgresql, read committed": lambda where, _: look_then_insert_in_postgres(where, "READ COMMITTED", ""),
    "postgresql, repeatable read": lambda where, _: look_then_insert_in_postgres(
        where, "REPEATABLE READ", ""
    ),
    "postgresql, repeatable read for update": lambda where, _: look_then_insert_in_postgres(
        where, "REPEATABLE READ", "FOR UPDATE"
    ),
}


def processes_context() -> Any:
    """Return a way to start processes that imports once and shares no thread or connection with us."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ledger_sellers"])
    # Older Pythons do not tell the server our path, and then preload nothing without a word.
    with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        forkserver.ensure_running()
    return context


def _work(kind: str, location: str, process: int, attempts: int, start: Any, sold: Any) -> None:
    sell = SELLERS[kind](location, process)
    start.wait()
    sold.put(sum(sell(number) for number in range(attempts)))


def sold_by_all(kind: str, location: str, processes: int, attempts: int) -> int:
    """Let `processes` sellers try `attempts` times each, at once; return how many they believe they sold."""
    context = processes_context()
    start, sold = context.Barrier(processes), context.Queue()
    workers = [
        context.Process(target=_work, args=(kind, location, process, attempts, start, sold))
        for process in range(processes)
    ]
    for worker in workers:
        worker.start()
    total = sum(sold.get(timeout=300) for _ in workers)
    for worker in workers:
        worker.join()
    return total


def sell_until_killed(location: str, process: int, life: int, told: Path) -> None:
    """Reserve and settle without end, writing down what an analyst would have been told."""
    account = Ledger.open(location, patience=120).account("visits")
    with told.open("a", buffering=1) as file:
        for number in range(10**6):
            question = f"{process}/{life}/{number}"
            try:
                made = account.reserve(asked(question, UNIT))
            except BudgetExceeded:
                return
            assert isinstance(made, Reservation)
            file.write(json.dumps(["permitted", made.id, question]) + "\n")
            account.settle(made, f"noised {question}")
            file.write(json.dumps(["answered", made.id, question]) + "\n")


def kill_hard(process: Any) -> None:
    """End one worker as a crash would."""
    os.kill(process.pid, 9)
    process.join()
