"""Clients that vanish or dawdle: others are served, and what was charged is told again, free."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import dovetail as dv
from dovetail.ledger import Ledger
from running_service import Running, analyst, configured, connected, head

pytestmark = pytest.mark.faults

PATH = "/v1/datasets/adult/answers"
MANY = 60


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    """Return a service whose clients have three seconds to send a body."""
    words = configured(tmp_path, "a.ledger", workers=2, lease=2)
    config = Path(words[1])
    config.write_text(config.read_text().replace("[limits]", "[limits]\nbody_seconds = 3"))
    made = Running(tmp_path, words)
    yield made
    made.stop()
    with Ledger.open(tmp_path / "a.ledger") as ledger:
        ledger.verify()


def count(age: int) -> dict[str, Any]:
    return {"question": {"ask": "count", "where": f"age >= {age}"}, "pay": {"spend": {"epsilon": "0.01"}}}


def spent(service: Running, key: str) -> Fraction:
    standing = service.ask("GET", "/v1/datasets/adult", key).json()["mine"]["spent"]["epsilon"]
    return Fraction(standing)


def test_bodies_that_never_end_are_refused_and_hold_up_nobody(service: Running) -> None:
    """Some clients send half of a body and are gone without a word; nobody closes their connections."""
    key = analyst(service, service.key, "1")
    body = json.dumps(count(20)).encode()
    with ExitStack() as open_sockets:
        halves = [open_sockets.enter_context(connected(service)) for _ in range(MANY)]
        for each in halves:
            each.sendall(head(key, PATH, len(body)) + body[: len(body) // 2])
        for number in range(10):
            assert service.ask("POST", PATH, key, count(30 + number)).status_code == 200
        assert all(b" 408 " in each.recv(65536) for each in halves)
    assert spent(service, key) == Fraction("0.1")


def request_of(client: socket.socket) -> bytes:
    """Return a whole request, as one whose connection ends with its reply."""
    sent = b""
    while b"\r\n\r\n" not in sent:
        sent += client.recv(1 << 16)
    length = re.search(rb"content-length: (\d+)", sent, re.IGNORECASE)
    while length and len(sent.partition(b"\r\n\r\n")[2]) < int(length[1]):
        sent += client.recv(1 << 16)
    return re.sub(rb"connection: keep-alive", b"Connection: close", sent, flags=re.IGNORECASE)


@contextmanager
def cutting_proxy(service: Running) -> Iterator[str]:
    """Hand every request on, and lose every second reply after the service gave it."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for number in range(10**6):
            try:
                client = listening.accept()[0]
            except OSError:
                return
            with client, connected(service) as behind, suppress(OSError):
                behind.sendall(request_of(client))
                reply = b"".join(iter(lambda: behind.recv(1 << 20), b""))
                if number % 2:
                    client.sendall(reply)

    thread = Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


def test_lost_replies_are_paid_once(service: Running) -> None:
    key = analyst(service, service.key, "1")
    with cutting_proxy(service) as address:
        session = dv.connect(address, key=key)
        first = [session.count(where=f"age >= {30 + n}", spend=dv.Budget.pure("0.01")) for n in range(5)]
        session.close()
    assert spent(service, key) == Fraction("0.05")
    again = [service.ask("POST", PATH, key, count(30 + n)).json() for n in range(5)]
    assert [each["stored"] for each in again] == [True] * 5
    assert [str(each.value) for each in first] == [each["answers"][0]["rows"][0]["value"] for each in again]
