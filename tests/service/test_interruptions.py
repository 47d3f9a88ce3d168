"""A worker that stops between charge and answer, and clocks that jump: nothing is paid twice, or lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any, TextIO, cast

import pytest
from fastapi.testclient import TestClient

import dovetail as dv
from dovetail.errors import LedgerUnavailable
from dovetail.ledger import DatasetAccount, chain
from dovetail.service.logs import Log
from dovetail.service.settings import Limits

PATH = "/v1/datasets/adult/answers"
COUNT = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.1"}, "fresh": True}}
TENTH = dv.Charge.approximate("0.1")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return how to set the clock, by so much from now."""

    def set_clock(**by: float) -> None:
        monkeypatch.setattr(chain, "now", lambda: datetime.now(UTC) + timedelta(**by))

    return set_clock


def interrupted(house: Any, monkeypatch: pytest.MonkeyPatch, key: str) -> str:
    """Ask, and let the disk fail before the answer is stored; return where the answer would be."""

    def fail(*_: Any) -> Any:
        raise LedgerUnavailable("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(DatasetAccount, "settle_with_standing", fail)
        refused = house.ann.post(PATH, COUNT, key=key)
    assert (refused.status_code, refused.json()["code"]) == (503, "ledger-unavailable")
    assert "retry-after" in refused.headers
    assert "disk" not in refused.text, "that is for the operator"
    return "/v1/answers/" + house.ann.get("/v1/answers").json()["answers"][0]["id"]


def test_what_was_interrupted_says_so_once_its_lease_is_over(
    house: Any, monkeypatch: pytest.MonkeyPatch, clock: Callable[..., None]
) -> None:
    place = interrupted(house, monkeypatch, "k")
    assert house.ann.get(place).status_code == 202
    assert house.ann.post(PATH, COUNT, key="k").status_code == 202
    clock(minutes=11)
    stopped = house.ann.get(place)
    assert (stopped.status_code, stopped.json()["code"]) == (503, "interrupted")
    answered = house.ann.post(PATH, COUNT, key="k")
    assert answered.status_code == 200
    assert f"/v1/answers/{answered.json()['id']}" == place
    assert house.ann.get(place).status_code == 200
    assert house.ledger.account("adult").spent() == TENTH
    house.ledger.verify()


@pytest.mark.parametrize("days", [-400, 400])
def test_a_clock_that_jumps_pays_nothing_twice_and_opens_nothing(
    house: Any, monkeypatch: pytest.MonkeyPatch, clock: Callable[..., None], days: int
) -> None:
    first = house.ann.post(PATH, COUNT, key="before").json()
    interrupted(house, monkeypatch, "left")
    clock(days=days)
    again = house.ann.post(PATH, COUNT, key="before").json()
    assert again["answers"][0]["released"] == first["answers"][0]["released"]
    # A clock that was set back makes a lease longer; it never makes two answers of one charge.
    assert house.ann.post(PATH, COUNT, key="left").status_code == (200 if days > 0 else 202)
    assert house.ann.post(PATH, COUNT, key="after").status_code == 200
    assert house.nobody.get("/readyz").status_code == 200
    clock(days=0)
    assert house.ledger.account("adult").spent() == TENTH.times(3)
    house.ledger.verify()


def test_a_worker_that_was_taken_for_dead_tells_the_stored_answer(
    started: Any, monkeypatch: pytest.MonkeyPatch, clock: Callable[..., None]
) -> None:
    """It slept past its lease, as a stopped process does, and a retry has answered meanwhile."""
    house = started(limits=Limits(patience=60))
    settle, asleep, awake = DatasetAccount.settle_with_standing, Event(), Event()
    replies: list[Any] = []

    def sleepy(account: Any, reservation: Any, *given: Any) -> Any:
        if reservation.attempt == 1:
            asleep.set()
            awake.wait(60)
        return settle(account, reservation, *given)

    monkeypatch.setattr(DatasetAccount, "settle_with_standing", sleepy)
    first = Thread(target=lambda: replies.append(house.ann.post(PATH, COUNT, key="k")))
    first.start()
    assert asleep.wait(60)
    clock(minutes=11)
    second = house.ann.post(PATH, COUNT, key="k")
    assert second.status_code == 200
    awake.set()
    first.join()
    assert replies[0].status_code == 202
    told = house.ann.get(replies[0].headers["location"]).json()
    assert told["answers"][0]["released"] == second.json()["answers"][0]["released"]
    assert house.ledger.account("adult").spent() == TENTH
    house.ledger.verify()


def test_a_log_that_cannot_be_written_stops_no_reply(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

        flush = write

    monkeypatch.setattr(house.app.service, "log", Log(file=cast(TextIO, Full())))
    with TestClient(house.app, base_url="http://localhost", raise_server_exceptions=True) as client:
        headers = {"Authorization": f"Bearer {house.ann.key}"}
        assert client.get("/v1/me", headers=headers).status_code == 200
