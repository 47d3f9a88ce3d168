"""What requests may make the service hold: no more than a limit, nothing before it is known who asks."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

import dovetail as dv
from dovetail.ledger import expected_reads
from dovetail.ledger.expected_reads import Expectations
from dovetail.service import served_datasets
from dovetail.service.endpoints.questions import Asker
from dovetail.service.served_datasets import ServedDataset
from dovetail.service.settings import Limits

PIECE, PIECES = b" " * 65_536, 1000
LIMIT = 1 << 20


def sent(house: Any, key: str | None, *, length: int | None = None) -> tuple[int, int, int]:
    """Send 64 MB in pieces; return the status, how many were taken, and the most memory that was held."""
    taken, status = 0, 0
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"idempotency-key", b"one")]
    if key is not None:
        headers.append((b"authorization", f"Bearer {key}".encode()))
    headers.append(
        (b"transfer-encoding", b"chunked") if length is None else (b"content-length", b"%d" % length)
    )

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": bytes(PIECE), "more_body": taken < PIECES}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    path = "/v1/datasets/adult/answers"
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "headers": headers,
    }
    scope |= {"query_string": b"", "client": ("127.0.0.1", 1), "server": ("localhost", 80), "scheme": "http"}
    scope |= {"http_version": "1.1", "root_path": "", "asgi": {"version": "3.0"}, "state": {}}
    tracemalloc.start()
    try:
        asyncio.run(house.app(scope, receive, send))
        return status, taken, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_body_without_a_length_is_read_up_to_the_limit_only(house: Any) -> None:
    status, taken, held = sent(house, house.ann.key)
    assert (status, taken) == (413, LIMIT // len(PIECE) + 1)
    assert held < 8 * LIMIT


def test_a_body_that_says_that_it_is_too_long_is_not_read(house: Any) -> None:
    assert sent(house, house.ann.key, length=LIMIT + 1)[:2] == (413, 0)


@pytest.mark.parametrize("length", [None, LIMIT])
def test_a_large_body_is_not_read_before_it_is_known_who_sends_it(house: Any, length: int | None) -> None:
    wrong = house.ann.key[:-8] + "A" * 8
    for key in (None, "dvt_nobody", wrong):
        assert sent(house, key, length=length)[:2] == (401, 0)


def test_a_body_that_says_less_than_it_sends_is_stopped_at_the_limit(house: Any) -> None:
    status, taken, held = sent(house, house.ann.key, length=100)
    assert (status, taken) == (413, LIMIT // len(PIECE) + 1)
    assert held < 8 * LIMIT


@pytest.fixture
def busy(started: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Event]]:
    """Return a service of two threads whose answers wait for a word."""
    go, answer = Event(), Asker.answer

    def waiting(self: Asker, *given: Any) -> Any:
        go.wait(60)
        return answer(self, *given)

    monkeypatch.setattr(Asker, "answer", waiting)
    yield started(threads=2, limits=Limits(patience=60)), go
    go.set()


def test_a_wrong_key_does_not_wait_for_those_who_are_answered(busy: tuple[Any, Event]) -> None:
    house, go = busy
    body = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.01"}}}
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(house.ann.post, "/v1/datasets/adult/answers", body) for _ in range(3)]
        while not house.app.service.pool.full:
            sleep(0.01)
        headers = {"Authorization": f"Bearer {house.ann.key[:-8]}AAAAAAAA", "Idempotency-Key": "other"}
        refused = house.client.post("/v1/datasets/adult/answers", json=body, headers=headers)
        assert refused.status_code == 401
        assert not any(each.done() for each in asked)
        go.set()
        assert [each.result().status_code for each in asked] == [200] * 3
    assert not house.app.service.pool.full


def test_what_is_kept_open_for_callers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are kept by person and vintages, runs by person and name: a client can send many of them."""
    for name in ("_MOST_SESSIONS", "_MOST_VINTAGES", "_MOST_RUNS"):
        monkeypatch.setattr(served_datasets, name, 8)
    entry: Any = SimpleNamespace(said={})
    session: Any = SimpleNamespace(on_behalf_of=lambda name, pacing: f"of {name}")
    dataset = ServedDataset(entry, dv.Schema(), session, lambda vintages: session, [])
    for number in range(50):
        caller: Any = SimpleNamespace(name=f"a{number}", principal=SimpleNamespace(id=number))
        assert dataset.session_of(caller) == dataset.session_of(caller, (f"v{number}",)) == f"of a{number}"
        dataset.keep_run(caller, "run", caller)
        assert max(map(len, (dataset.sessions, dataset.by_vintages, dataset.runs))) <= 8
    assert (49, "run") in dataset.runs


def test_what_a_ledger_expects_of_analysts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_reads, "_MOST_KNOWN", 8)
    expected = Expectations()
    for number in range(50):
        request: Any = SimpleNamespace(vintages=(), version=None, analyst=f"a{number}")
        expected.remember(request, SimpleNamespace())  # type: ignore[arg-type]
        assert len(expected._known) <= 8
