"""Ctrl-C while an engine works stays an interruption, and the charge is recorded as stopped."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Timer, get_ident
from time import sleep
from typing import Any

import duckdb
import psycopg
import pytest

import dovetail as dv
from dovetail.engines import interrupts
from dovetail.engines.failure import unreadable
from dovetail.engines.interrupts import interruptible

# It takes hours and hardly any memory.
ENDLESS = "SELECT LENGTH(MD5(CAST(i AS VARCHAR))) AS n FROM range(100000000000) AS t(i)"


@contextmanager
def interrupted(ledger: Path | None = None) -> Iterator[None]:
    """Press Ctrl-C a moment into what follows, and after the charge, which must go on for longer."""

    def press() -> None:
        while ledger is not None and not charged(ledger):
            sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    # Where the tests were started in the background, Ctrl-C is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pressing = Timer(0.7, press)
    pressing.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
        pressing.join()
    finally:
        signal.signal(signal.SIGINT, before)


def charged(ledger: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as record:
            return bool(record.execute("SELECT COUNT(*) FROM dovetail_attempts").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet, or held by the writer
        return False


def check_stopped(source: Any, table: str, folder: Path) -> None:
    ledger = folder / "b.ledger"
    with dv.Session(source, name="endless", table=table, budget=dv.Budget.pure(1), ledger=ledger) as session:
        with interrupted(ledger):
            session.count(where="n > 1", noise=dv.Geometric("0.25"))
        assert str(session.remaining) == "epsilon 0.75"
    with closing(sqlite3.connect(ledger)) as record:
        ((told,),) = record.execute("SELECT content FROM dovetail_events WHERE kind = 'failure'")
    assert "stopped on the way" in told


def test_duckdb(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW endless AS {ENDLESS}")
        check_stopped(connection, "endless", tmp_path)


def test_postgresql(postgres_url: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE VIEW endless AS SELECT LENGTH(pg_sleep(60)::text) AS n")
    check_stopped(postgres_url, "endless", tmp_path)


@pytest.mark.spark
def test_spark(spark: Any, tmp_path: Path) -> None:
    spark.range(10**12).selectExpr("LENGTH(MD5(CAST(id AS STRING))) AS n").createOrReplaceTempView("endless")
    check_stopped(spark, "endless", tmp_path)


def test_only_an_interruption_is_taken_for_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        unreadable("people", RuntimeError("Query interrupted"))
    assert isinstance(unreadable("people", RuntimeError("another")), dv.DataError)


def test_the_command_line_stops_with_the_code_of_a_signal(tmp_path: Path) -> None:
    database = tmp_path / "endless.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE VIEW endless AS {ENDLESS}")
    words = ["release", str(database), "--table", "endless", "--where", "n > 1", "--noise", "geometric:0.25"]
    words += ["--budget", "epsilon=1", "--ledger", str(tmp_path / "b.ledger")]
    running = subprocess.Popen(
        [sys.executable, "-m", "dovetail", *words],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    # The ledger is there when the question has been paid for, or is about to be.
    while not (tmp_path / "b.ledger").exists():
        assert running.poll() is None
    Timer(1.5, running.send_signal, (signal.SIGINT,)).start()
    try:
        _, told = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert told.strip() == "Stopped. If the charge was already recorded, it stays."


def test_work_in_another_thread_is_done_there() -> None:
    found: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: interruptible(get_ident, lambda: found.append(0)))
        assert asked.result() == pool.submit(get_ident).result()
    assert interruptible(get_ident, lambda: found.append(0)) != get_ident()
    assert found == []
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, lambda: found.append(0))


def test_an_interruption_while_the_work_starts_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, start = Event(), interrupts.Thread.start

    def interrupted_start(worker: Any) -> None:
        start(worker)
        raise KeyboardInterrupt

    monkeypatch.setattr(interrupts.Thread, "start", interrupted_start)
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: stopped.wait(60), stopped.set)
    assert stopped.is_set()


def test_work_that_does_not_stop_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_PAUSE", 0.001)
    told: list[int] = []
    leaving = Event()
    with interrupted():
        interruptible(lambda: leaving.wait(60), lambda: told.append(0))
    leaving.set()
    assert len(told) == interrupts._STOPS
