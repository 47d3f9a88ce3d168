"""A client that freezes while it holds a ledger: others are told or go on, and nothing is sold twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.errors import BudgetExceeded, LedgerBusy
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked

# It takes the lock, records its charge, says so and stops before the commit; a server gives it a second.
HOLDER = """
import os, signal, sys
from dovetail.ledger import Ledger
from dovetail.privacy import Charge
from dovetail.release.account import Request

with Ledger.open(sys.argv[1], patience=float(sys.argv[2])) as ledger:
    account = ledger.account("visits")
    with ledger._store.writing() as writer:
        account.reserve_with(writer, Request("frozen", Charge.approximate(sys.argv[3]), "ann"))
        print("held", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals that stop a process")
@pytest.mark.parametrize("goes_on", [True, False])
def test_others_are_told_and_nothing_is_spent_by_them(tmp_path: Path, goes_on: bool) -> None:
    place = tmp_path / "a.ledger"
    with Ledger.create(place) as ledger:
        ledger.account("visits", budget=Budget.pure(1))
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place), "15", "0.1"], stdout=subprocess.PIPE, text=True
    ) as frozen:
        assert frozen.stdout is not None
        assert frozen.stdout.readline() == "held\n"
        try:
            with Ledger.open(place, patience=0.5) as ledger:
                account = ledger.account("visits")
                # Whoever only reads is not held up, and sees nothing that was not committed.
                assert account.spent().epsilon == 0
                with pytest.raises(LedgerBusy):
                    account.reserve(asked("other"))
                assert account.spent().epsilon == 0
        finally:
            os.kill(frozen.pid, signal.SIGCONT if goes_on else signal.SIGKILL)
    assert frozen.returncode == (0 if goes_on else -signal.SIGKILL)
    with Ledger.open(place) as ledger:
        account = ledger.account("visits")
        assert isinstance(account.reserve(asked("other")), Reservation)
        assert account.spent() == TENTH.times(2 if goes_on else 1)
        ledger.verify()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals that stop a process")
def test_a_server_goes_on_without_a_frozen_client_and_sells_nothing_twice(postgres_url: str) -> None:
    with Ledger.create(postgres_url) as ledger:
        ledger.account("visits", budget=Budget.pure("0.1"))
    holder = [sys.executable, "-c", HOLDER, postgres_url, "2", "0.1"]
    with subprocess.Popen(holder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as frozen:
        assert frozen.stdout is not None
        assert frozen.stdout.readline() == "held\n"
        try:
            with Ledger.open(postgres_url, patience=60) as ledger:
                # All that the frozen one was about to take is sold to another.
                assert isinstance(ledger.account("visits").reserve(asked("other")), Reservation)
        finally:
            os.kill(frozen.pid, signal.SIGCONT)
        _, said = frozen.communicate()
    assert frozen.returncode == 1
    assert "LedgerUnavailable" in said.splitlines()[-1]
    with Ledger.open(postgres_url) as ledger:
        assert ledger.account("visits").spent() == TENTH
        with pytest.raises(BudgetExceeded):
            ledger.account("visits").reserve(asked("frozen"))
        ledger.verify()
