"""A client that freezes while it holds an embedded ledger: others are told, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.errors import LedgerBusy
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked

# It takes the lock, records its charge, says so and stops before the commit.
HOLDER = """
import os, signal, sys
from dovetail.ledger import Ledger
from dovetail.privacy import Charge
from dovetail.release.account import Request

with Ledger.open(sys.argv[1]) as ledger:
    account = ledger.account("visits")
    with ledger._store.writing() as writer:
        account.reserve_with(writer, Request("frozen", Charge.approximate("0.1"), "ann"))
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
        [sys.executable, "-c", HOLDER, str(place)], stdout=subprocess.PIPE, text=True
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
