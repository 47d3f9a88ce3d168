"""A charge on a server lets others go on before it is on disk, and returns when it is."""

from __future__ import annotations

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace

import psycopg
import pytest

from dovetail.errors import LedgerError, LedgerUnavailable
from dovetail.ledger import Ledger, server_exchange
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Request, Reservation
from server_crash import crash, writer

PRICE = Charge.approximate("0.1")
# Waits until they have ended: a connection whose end is on its way still looks whole.
_END_OTHERS = (
    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def charged_then_crashed(url: str) -> Charge:
    """Return what is on record after a charge that a crash follows at once."""
    with Ledger.create(url) as ledger:
        ledger.account("visits", budget=Budget.pure(1))
    victim = writer(url)
    os.kill(victim, signal.SIGSTOP)
    with Ledger.open(url) as ledger:
        ledger.account("visits").reserve(Request("{}", PRICE, "ann"))
        crash(url, victim)
    with Ledger.open(url) as ledger:
        ledger.verify()
        return ledger.account("visits").spent()


def test_a_charge_that_was_returned_survives_a_crash(postgres_url: str) -> None:
    assert charged_then_crashed(postgres_url) == PRICE


def test_without_waiting_for_the_disk_a_crash_would_forget_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_exchange, "WAIT_FOR_DISK", "SELECT 1")
    assert charged_then_crashed(postgres_url) == Charge.zero()


def test_where_the_server_does_not_let_it_wait_a_charge_is_committed_as_others(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = "SELECT false FROM pg_proc LIMIT 1"
    monkeypatch.setattr("dovetail.ledger.databases._MAY_WAIT", refused)
    monkeypatch.setattr(server_exchange, "WAIT_FOR_DISK", "SELECT nothing_of_this_name()")
    with Ledger.create(postgres_url) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        account.reserve(Request("{}", PRICE, "ann"))
        assert (account.spent(), ledger.verify().sequence) == (PRICE, ledger.head.sequence)


def test_a_wait_that_fails_is_told_and_the_charge_stays(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.create(postgres_url) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        with monkeypatch.context() as broken:
            broken.setattr(server_exchange, "WAIT_FOR_DISK", "SELECT nothing_of_this_name()")
            with pytest.raises(LedgerError):
                account.reserve(Request("{}", PRICE, "ann"))
        assert account.spent() == PRICE
        ledger.verify()


def test_a_lost_connection_is_an_error_and_nothing_else(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Ledger.create(postgres_url) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))

        def reserve_and_lose() -> None:
            with ledger._store.writing() as writing:
                with psycopg.connect(postgres_url) as other:
                    other.execute(_END_OTHERS)
                account.reserve_with(writing, Request("{}", PRICE, "ann"))

        with pytest.raises(LedgerUnavailable):
            reserve_and_lose()
        assert account.spent() == Charge.zero()
    assert caplog.records == []


def test_what_several_clients_were_returned_survives_a_crash(postgres_url: str) -> None:
    """Each builds on charges of others that are not on disk yet; what is forgotten was returned to nobody."""
    with Ledger.create(postgres_url) as ledger:
        ledger.account("visits", budget=Budget.pure(1000))
    victim = writer(postgres_url)
    os.kill(victim, signal.SIGSTOP)
    with Ledger.open(postgres_url) as ledger, ThreadPoolExecutor(4) as pool:
        account = ledger.account("visits")

        def reserve_until_lost(client: int) -> list[tuple[int, str]]:
            returned: list[tuple[int, str]] = []
            with suppress(LedgerError):
                while True:
                    body = f"client {client}, question {len(returned)}"
                    made = account.reserve(Request(body, PRICE, "ann"))
                    assert isinstance(made, Reservation)
                    returned.append((made.id, body))
            return returned

        clients = [pool.submit(reserve_until_lost, number) for number in range(4)]
        while (account.spent().epsilon or 0) < 2:
            time.sleep(0.01)
        crash(postgres_url, victim)
        returned = [each for client in clients for each in client.result()]
    with Ledger.open(postgres_url) as ledger:
        ledger.verify()
        record = {entry.sequence: entry.body for entry in ledger.show().entries if entry.charge}
        spent = ledger.account("visits").spent()
    assert len(returned) >= 16
    assert set(returned) <= set(record.items())
    assert spent == PRICE.times(len(record))


@pytest.mark.parametrize("transaction", ["reading", "writing"])
def test_a_connection_lost_in_mid_transaction_is_a_ledger_out_of_reach(
    postgres_url: str, transaction: str
) -> None:
    """SQLAlchemy gives such a connection up before we look at it: to look then failed with another error."""
    with Ledger.create(postgres_url) as ledger:

        def ask_and_lose() -> None:
            with getattr(ledger._store, transaction)() as opened:
                connection = opened if transaction == "reading" else opened.connection
                connection.exec_driver_sql("SELECT 1")
                with psycopg.connect(postgres_url, autocommit=True) as other:
                    other.execute(_END_OTHERS)
                connection.exec_driver_sql("SELECT 1")

        with pytest.raises(LedgerUnavailable):
            ask_and_lose()
        assert ledger.verify().sequence == ledger.head.sequence


class Wire:
    """An exchange whose server is a list of what was sent to it."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, settings: bytes | None = None, status: int = 0
    ) -> None:
        self.sent: list[bytes] = []
        monkeypatch.setattr(server_exchange, "_sent", lambda _driver, text: self.sent.append(text) or [])
        self.exchange = made = object.__new__(server_exchange.Exchange)
        level = psycopg.IsolationLevel.READ_COMMITTED
        made._driver = SimpleNamespace(
            pgconn=SimpleNamespace(transaction_status=status), isolation_level=level
        )
        made._escape = lambda plain: b"'" + plain.replace(b"'", b"''") + b"'"
        made._encoding, made._settings, made._owner, made._prepared = "utf-8", settings, "me", {}

    def parts(self) -> list[bytes]:
        """What was sent last, without the numbers of statements."""
        return [re.sub(rb"dovetail_me_\d+", b"N", part) for part in self.sent[-1].split(b"; ")]


FIND = server_exchange.Call("SELECT %(a)s %% %(b)s, %(a)s", {"a": 7, "b": "it's", "c": 1})


def test_a_statement_is_prepared_once_and_run_with_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch)
    wire.exchange.write([FIND, FIND], end=False)
    run, begin = b"EXECUTE N(7, 'it''s')", b"BEGIN ISOLATION LEVEL READ COMMITTED"
    assert wire.parts() == [begin, b"PREPARE N AS SELECT $1 % $2, $1", run, run]
    wire.exchange._driver.pgconn.transaction_status = 2
    wire.exchange.write([FIND, server_exchange.Call("SELECT 1", {})], end=True)
    assert wire.parts() == [run, b"PREPARE N AS SELECT 1", b"EXECUTE N", b"COMMIT"]


def test_through_a_pooler_nothing_is_prepared_and_each_transaction_has_its_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = Wire(monkeypatch, b"SET LOCAL x = 1")
    wire.exchange.write([FIND], end=True)
    begin, spelled = b"BEGIN ISOLATION LEVEL READ COMMITTED", b"SELECT 7 % 'it''s', 7"
    assert wire.parts() == [begin, b"SET LOCAL x = 1", spelled, b"COMMIT"]
    wire.exchange.write([FIND], end=True, early=True)
    assert wire.parts()[:3] == [begin, b"SET LOCAL x = 1", server_exchange._LATER]
    waiting = server_exchange.WAIT_FOR_DISK.encode()
    assert wire.parts()[3:] == [spelled, b"COMMIT", b"SET LOCAL x = 1", waiting]
    wire.exchange.write([FIND], end=False, early=True)
    assert wire.parts()[2:] == [spelled]


def test_a_commit_that_others_need_not_wait_for_is_waited_for_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = Wire(monkeypatch, status=2)
    wire.exchange.write([], end=True, early=True)
    assert wire.parts()[:2] == [server_exchange._LATER, b"COMMIT"]
    assert wire.parts()[2].startswith(b"PREPARE N AS ")
    assert wire.parts()[3:] == [b"EXECUTE N"]


def test_values_are_written_as_the_server_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = Wire(monkeypatch).exchange
    written = [exchange._literal(value) for value in (None, 12, -3, "it's", b"\x00\xff")]
    assert written == [b"NULL", b"12", b"-3", b"'it''s'", b"'\\x00ff'"]


def test_an_open_transaction_is_not_taken_for_a_committed_one() -> None:
    for status, done in ((0, True), (1, False), (2, False)):
        driver = SimpleNamespace(pgconn=SimpleNamespace(transaction_status=status))
        assert server_exchange.committed(driver) is done
    assert server_exchange.committed(object()) is False
