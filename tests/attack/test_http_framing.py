"""Requests that say two things about where they end: no second request passes a proxy in one body."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from console_service import Running, running

HOST = b"Host: localhost\r\n"
BODY = b'{"question": {"ask": "count"}, "pay": {"within": 100}}'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(Path(tmp_path_factory.mktemp("service"))) as made:
        yield made


def exchanged(service: Running, sent: bytes) -> tuple[list[int], bool]:
    """Return the statuses of what comes back, and whether the service closed the connection."""
    parts = urlsplit(service.address)
    got, closed = b"", False
    with socket.create_connection((parts.hostname, parts.port), timeout=1.5) as made:
        made.sendall(sent)
        try:
            while piece := made.recv(65536):
                got += piece
            closed = True
        except TimeoutError:
            pass
        except ConnectionResetError:
            # What was not read when the service closed it takes the reply along.
            closed = True
    return [int(each) for each in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", got)], closed


def head(service: Running, line: bytes, *more: bytes) -> bytes:
    key = service.keys["ann"].encode()
    lines = [line, b"Authorization: Bearer " + key, b"Content-Type: application/json", *more]
    return lines[0] + b"\r\n" + HOST + b"\r\n".join(lines[1:]) + b"\r\n\r\n"


@pytest.mark.parametrize("order", [1, -1])
def test_a_body_with_two_lengths_ends_the_connection(service: Running, order: int) -> None:
    hidden = head(service, b"GET /v1/me HTTP/1.1")
    lengths = [b"Content-Length: 5", b"Transfer-Encoding: chunked"][::order]
    sent = head(service, b"POST /v1/datasets/adult/quotes HTTP/1.1", *lengths) + b"0\r\n\r\n" + hidden
    assert exchanged(service, sent) == ([400], True)
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    sent = head(service, b"POST /v1/datasets/adult/quotes HTTP/1.1", *lengths) + chunked + hidden
    assert exchanged(service, sent) == ([400], True)


def test_pieces_are_for_newer_clients(service: Running) -> None:
    sent = head(service, b"POST /v1/datasets/adult/quotes HTTP/1.0", b"Transfer-Encoding: chunked")
    assert exchanged(service, sent + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)) == ([400], True)


@pytest.mark.parametrize(
    "more",
    [
        (b"Content-Length: 5", b"Content-Length: %d" % len(BODY)),
        (b"Content-Length: +%d" % len(BODY),),
        (b"Content-Length: -1",),
        (b"Content-Length : %d" % len(BODY),),
        (b"Content-Length: " + b"9" * 5000,),
        (b"Transfer-Encoding: xchunked",),
        (b"Transfer-Encoding: chunked, identity",),
        (b"X-Header: a\0b", b"Content-Length: %d" % len(BODY)),
        (b"X-Header: " + b"a" * 200_000, b"Content-Length: %d" % len(BODY)),
        (HOST.strip(), b"Content-Length: %d" % len(BODY)),
    ],
)
def test_a_head_that_is_not_clear_is_refused(service: Running, more: tuple[bytes, ...]) -> None:
    sent = head(service, b"POST /v1/datasets/adult/quotes HTTP/1.1", *more) + BODY
    statuses, closed = exchanged(service, sent)
    assert statuses in ([400], [413]) or (not statuses and len(sent) > 1 << 16)
    assert closed


def test_what_stands_in_a_body_is_no_request(service: Running) -> None:
    hidden = head(service, b"GET /v1/me HTTP/1.1")
    sent = head(service, b"GET /v1/datasets HTTP/1.1", b"Content-Length: %d" % len(hidden)) + hidden
    assert exchanged(service, sent)[0] == [200]


def test_requests_in_a_row_are_each_answered_once(service: Running) -> None:
    pieces = [head(service, b"GET /v1/me HTTP/1.1"), head(service, b"GET /v1/nothing HTTP/1.1")]
    length = b"Content-Length: %d" % len(BODY)
    asked = head(service, b"POST /v1/datasets/adult/quotes HTTP/1.1", length) + BODY
    assert exchanged(service, b"".join([*pieces, asked, pieces[0]]))[0] == [200, 404, 200, 200]
    assert exchanged(service, b"G\x7fT / HTTP/1.1\r\n" + HOST + b"\r\n")[0] == [400]
