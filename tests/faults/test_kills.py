"""kill -9 under load: of workers, and of the PostgreSQL server that keeps the ledger.

`make faults` runs this; KILLS says how many kills must hit a process between reservation and answer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from kill_campaign import Campaign
from running_service import children

pytestmark = pytest.mark.faults

HITS = int(os.environ.get("KILLS", "200"))


def report(capsys: Any, what: str, campaign: Campaign) -> None:
    """Print what a campaign has found so far."""
    statuses = ", ".join(f"{status or 'lost'}: {many}" for status, many in sorted(campaign.statuses.items()))
    slowest = max(campaign.recovery)
    with capsys.disabled():
        print(
            f"\n{what}: {campaign.kills} kills, {campaign.hits} of them between reservation and answer, "
            f"{campaign.taken_over} requests taken over; whole again within {slowest:.1f} s; {statuses}"
        )


def run(capsys: Any, what: str, campaign: Campaign, kill: Callable[[], None], hits: int) -> None:
    """Kill until so many kills have hit, then let the command line verify the record."""
    while campaign.hits < hits:
        campaign.cycle(kill)
        if campaign.kills % 10 == 0:
            report(capsys, what, campaign)
    campaign.end()
    report(capsys, what, campaign)
    verify = [sys.executable, "-m", "dovetail", "ledger", "verify", campaign.place]
    subprocess.run(verify, check=True, capture_output=True)


def test_workers_with_a_ledger_in_a_file(serve: Any, tmp_path: Path, capsys: Any) -> None:
    campaign = serve(str(tmp_path / "a.ledger"))
    run(capsys, "workers, SQLite", campaign, campaign.kill_a_worker, HITS // 2)


def test_workers_with_a_ledger_on_a_server(serve: Any, own_server: Any, capsys: Any) -> None:
    campaign = serve(own_server.get_uri())
    run(capsys, "workers, PostgreSQL", campaign, campaign.kill_a_worker, HITS - HITS // 2)


def test_the_server_of_the_ledger(serve: Any, own_server: Any, capsys: Any) -> None:
    """The server ends without a word, with all its processes, and is started again."""
    campaign = serve(own_server.get_uri())

    def kill() -> None:
        first = own_server.get_pid()
        for each in [first, *children(first)]:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        sleep(0.5)
        # Whoever should have buried the process may not have done so: it would be taken for a running one.
        for left in (*own_server.pgdata.glob("postmaster.pid"), *own_server.pgdata.glob(".s.PGSQL.*")):
            left.unlink()
        own_server.ensure_postgres_running()

    run(capsys, "PostgreSQL itself", campaign, kill, max(1, HITS // 10))
