"""Workers and clients that freeze: others are served, nothing is spent twice, nobody has to help."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from fractions import Fraction
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from dovetail.ledger import Ledger
from kill_campaign import Campaign
from running_service import PATIENCE, Running, analyst, configured, connected, head

pytestmark = pytest.mark.faults

HITS = max(2, int(os.environ.get("KILLS", "200")) // 20)
PATH = "/v1/datasets/adult/answers"
FROZEN_CLIENTS = 12
# 20,160 cells: a reply that no buffer on the way takes as a whole.
COLUMNS = ["education", "occupation", "marital_status", "relationship", "sex"]
LARGE = {"question": {"ask": "histogram", "columns": COLUMNS}, "pay": {"spend": {"epsilon": "0.01"}}}


def until(reached: Callable[[], bool]) -> None:
    """Wait for something that comes without help."""
    end = monotonic() + PATIENCE
    while not reached():
        assert monotonic() < end
        sleep(0.2)


def ticks(process: int) -> int:
    """Return how much processor time a process has taken, in hundredths of a second."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class Freezer:
    """Freezes a worker at a random moment, and wakes it up."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._frozen = 0

    def freeze(self) -> None:
        self._frozen = self._campaign.random.choice(self._campaign.service.workers)
        os.kill(self._frozen, signal.SIGSTOP)

    def wake(self) -> None:
        """Let the worker finish what others have taken over since; it may have been replaced."""
        with suppress(OSError):
            os.kill(self._frozen, signal.SIGCONT)
            busy = True
            while busy:
                before = ticks(self._frozen)
                sleep(1)
                busy = ticks(self._frozen) > before + 5


def run(campaign: Campaign, capsys: Any, what: str) -> None:
    """Freeze workers until enough of them had reserved something, which a retry then takes over."""
    freezer = Freezer(campaign)
    while campaign.hits < HITS:
        campaign.cycle(freezer.freeze, freezer.wake)
    with capsys.disabled():
        print(
            f"\nfrozen workers, {what}: {campaign.kills}, of which {campaign.hits} between reservation and "
            f"answer; {campaign.taken_over} requests taken over; {dict(campaign.statuses)}"
        )


def test_workers_that_freeze_with_a_ledger_in_a_file(serve: Any, tmp_path: Path, capsys: Any) -> None:
    """One that holds the lock of the file is replaced after a minute; until then nobody can write."""
    run(serve(str(tmp_path / "a.ledger"), timeout=5), capsys, "SQLite")


def test_workers_that_freeze_with_a_ledger_on_a_server(serve: Any, own_server: Any, capsys: Any) -> None:
    run(serve(own_server.get_uri(), timeout=5), capsys, "PostgreSQL")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path, configured(tmp_path, "a.ledger", workers=2, lease=2))
    yield made
    made.stop()
    with Ledger.open(tmp_path / "a.ledger") as ledger:
        ledger.verify()


def count(age: int) -> dict[str, Any]:
    return {"question": {"ask": "count", "where": f"age >= {age}"}, "pay": {"spend": {"epsilon": "0.01"}}}


def test_a_frozen_worker_is_replaced_and_holds_up_nobody(service: Running) -> None:
    key = analyst(service, service.key, "1")
    frozen, other = service.workers
    os.kill(frozen, signal.SIGSTOP)
    assert [service.ask("POST", PATH, key, count(20 + n)).status_code for n in range(20)] == [200] * 20
    # Another one that is killed meanwhile does not wait for the frozen one.
    os.kill(other, signal.SIGKILL)
    until(lambda: other not in service.workers and len(service.workers) == 2)
    assert frozen in service.workers
    assert service.ask("POST", PATH, key, count(50)).status_code == 200
    until(lambda: frozen not in service.workers and len(service.workers) == 2)
    mine = service.ask("GET", "/v1/datasets/adult", key).json()["mine"]
    assert Fraction(mine["spent"]["epsilon"]) == Fraction("0.21")


def connections(service: Running) -> int:
    """Return how many files and connections the workers have open."""
    return sum(len(os.listdir(f"/proc/{each}/fd")) for each in service.workers)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="needs Linux")
def test_clients_that_do_not_read_their_reply_are_given_up(service: Running) -> None:
    """They ask for a large stored answer, which is free, take a little of it and stop."""
    key = analyst(service, service.key, "1")
    place = f"/v1/answers/{service.ask('POST', PATH, key, LARGE, 'large').json()['id']}"
    until(lambda: service.ask("GET", place, key).json()["state"] == "answered")
    whole, before = service.ask("GET", place, key), connections(service)
    with ExitStack() as open_sockets:
        clients = [
            open_sockets.enter_context(connected(service, received=4096)) for _ in range(FROZEN_CLIENTS)
        ]
        for client in clients:
            client.sendall(head(key, place, method="GET"))
        assert [client.recv(12) for client in clients] == [b"HTTP/1.1 200"] * FROZEN_CLIENTS
        assert connections(service) >= before + FROZEN_CLIENTS
        assert [service.ask("POST", PATH, key, count(20 + n)).status_code for n in range(10)] == [200] * 10
        until(lambda: connections(service) <= before + 4)
        again = service.ask("GET", place, key)
    assert again.json()["answers"][0]["released"] == whole.json()["answers"][0]["released"]
