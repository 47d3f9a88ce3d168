"""A charge on a server lets others go on before it is on disk, and returns when it is."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

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
