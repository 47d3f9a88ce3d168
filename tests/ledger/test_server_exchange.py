"""A charge on a server lets others go on before it is on disk, and returns when it is."""

from __future__ import annotations

import os
import signal
import time

import psycopg
import pytest

from dovetail.errors import LedgerError
from dovetail.ledger import Ledger, server_exchange
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Request

PRICE = Charge.approximate("0.1")
_WRITER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"


def writer(url: str) -> int:
    """Return the process of the server that writes to disk what nobody waits for."""
    with psycopg.connect(url) as connection:
        row = connection.execute(_WRITER).fetchone()
    assert row is not None
    return int(row[0])


def crash(url: str, victim: int) -> None:
    """Let the server lose what it has only in memory, and wait until it is back."""
    os.kill(victim, signal.SIGKILL)
    for _ in range(600):
        try:
            if writer(url) != victim:
                return
        except (psycopg.Error, AssertionError):
            pass
        time.sleep(0.1)
    raise AssertionError("the server did not come back")


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
