"""Processes that ask of one online run, and die where they are told to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet

import dovetail as dv
from dovetail.errors import UpdatesExhausted
from dovetail.ledger import Ledger
from dovetail.ledger.account import DatasetAccount
from dovetail.ledger.new_account import NewAccount
from dovetail.online.durable_run import Online

UPDATES = 6
SCHEMA = dv.Schema([dv.Column("town", "integer", values=list(range(12)))])
QUESTIONS = [f"town = {number}" for number in range(12)]


def write_towns(folder: Path) -> None:
    """Write a table in which guesses from even counts are wrong about nearly every town."""
    towns = [town for town in range(12) for _ in range(40 * town)]
    parquet.write_table(pyarrow.table({"town": towns}), folder / "towns.parquet")


def ledger_place(folder: Path) -> str:
    """Return where the ledger is: the server that the folder names, else a file in it."""
    named = folder / "ledger-url"
    return named.read_text() if named.exists() else str(folder / "towns.ledger")


def opened(folder: Path) -> tuple[dv.Session, Online]:
    """Open the session and its run, as every process does."""
    session = dv.Session(
        folder / "towns.parquet",
        schema=SCHEMA,
        budget=dv.Budget.pure(5),
        ledger=Ledger.open(ledger_place(folder), create="later", patience=60),
    )
    run = session.online("town", queries=50, ways=1, base=None, updates=UPDATES)
    return session, run


def ask_all(folder: Path, number: int) -> None:
    """Ask every question, each process from another one on; write down what was shown."""
    session, run = opened(folder)
    with session, session._ledger, (folder / f"told-{number}").open("a", buffering=1) as file:
        for where in QUESTIONS[number:] + QUESTIONS[:number]:
            try:
                answer = run.count(where)
            except UpdatesExhausted:
                return
            file.write(json.dumps([where, answer.value, answer.origin]) + "\n")


def die_at(folder: Path, method: str, after: bool) -> None:
    """Ask until a write to the ledger, and be killed right before or after it."""
    for kind in (DatasetAccount, NewAccount):
        write = getattr(kind, method, None)
        if write is not None:
            setattr(kind, method, _deadly(write, after))
    ask_all(folder, 0)


def _deadly(write: Any, after: bool) -> Any:
    def dying(*given: Any, **named: Any) -> Any:
        if after:
            write(*given, **named)
        os.kill(os.getpid(), 9)

    return dying
