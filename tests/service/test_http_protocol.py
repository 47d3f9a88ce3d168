"""Clients that do not say what they want: silent, or in the middle of a head for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import pytest
import uvicorn

from dovetail.service import http_protocol
from dovetail.service.server import configured

PATIENCE = 30
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def address(house: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """Serve as `dovetail serve` does, with little patience."""
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 1.0)
    server = uvicorn.Server(configured(house.settings, house.app))
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started:
            sleep(0.02)
        yield bound.getsockname()
        server.should_exit = True
        thread.join(PATIENCE)


def ended_after(made: socket.socket) -> float:
    """Return the seconds until the service ends a connection."""
    begun = monotonic()
    made.settimeout(PATIENCE)
    while made.recv(65536):
        pass
    return monotonic() - begun


@pytest.mark.parametrize(
    ("said", "first"),
    [(b"", True), (b"GET /heal", True), (WHOLE[:-2], True), (b"GET /heal", False), (WHOLE[:-2], False)],
)
def test_a_head_that_does_not_end_ends_the_connection(
    address: tuple[str, int], said: bytes, first: bool
) -> None:
    with socket.create_connection(address) as made:
        if not first:
            made.sendall(WHOLE)
            assert b"200 OK" in made.recv(65536)
        made.sendall(said)
        assert 0.5 < ended_after(made) < 10


def whole_reply(connection: socket.socket) -> bytes:
    """Return a reply up to the end of its body, in however many parts it comes."""
    found = b""
    while not found.endswith(b'{"status":"ok"}'):
        part = connection.recv(65536)
        assert part
        found += part
    return found


def test_a_second_request_has_time_of_its_own(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as made:
        made.settimeout(PATIENCE)
        for _ in range(4):
            made.sendall(WHOLE)
            assert b"200 OK" in whole_reply(made)
            sleep(0.5)
        # It is idle now, which is allowed for longer.
        sleep(1)
        made.sendall(WHOLE)
        assert b"200 OK" in whole_reply(made)


def test_a_head_without_end_is_not_kept_in_memory(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as made:
        made.settimeout(PATIENCE)
        with pytest.raises(ConnectionError):  # noqa: PT012 - which of the two it is depends on the moment
            for _ in range(1000):
                made.sendall(b"X-Header: " + b"a" * 65536 + b"\r\n")
            if made.recv(65536):
                raise ConnectionResetError
