"""Until the tick, nothing tells whoever asks that an answer is there, and every clock shows the tick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from threading import current_thread
from typing import Any

import pytest

from dovetail.errors import DataError
from dovetail.privacy import Budget
from dovetail.service.settings import DeclaredDataset

TICK = 0.5
PACED = DeclaredDataset("adult", {"shipped": "adult"}, Budget.pure(3), pacing=TICK, about={"public": True})
COUNT = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.1"}}}
ANSWERS = "/v1/datasets/adult/answers"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[Any]]:
    """Return what looks around while an answer that is ready waits for its tick."""

    def look(at: Callable[[], Any]) -> list[Any]:
        found: list[Any] = []
        monkeypatch.setattr("dovetail.ledger.account.sleep", lambda seconds: found.append((seconds, at())))
        return found

    return look


def seen(house: Any, key: str) -> dict[str, Any]:
    """Return everything that an analyst can look at about an answer that was asked for."""
    (line, *_) = house.ann.get("/v1/answers").json()["answers"]
    return {
        "history": {name: line[name] for name in ("state", "answered_at")},
        "poll": house.ann.get(f"/v1/answers/{line['id']}").json()["state"],
        "retry": house.ann.post(ANSWERS, COUNT, key=key).json()["state"],
        "quote": house.ann.post("/v1/datasets/adult/quotes", COUNT).json()["stored"],
        "record": house.nobody.get("/v1/record?dataset=adult").json()["releases"][0]["state"],
    }


UNDER_WAY = {
    "history": {"state": "running", "answered_at": None},
    "poll": "running",
    "retry": "running",
    "quote": None,
    "record": "reserved",
}


def test_before_the_tick_nothing_tells_that_the_answer_is_ready(started: Any, looked: Any) -> None:
    house = started(declared=(PACED,))
    found = looked(lambda: seen(house, "one"))
    given = house.ann.post(ANSWERS, COUNT, key="one")
    assert given.status_code == 200
    ((waited, before),) = found
    assert 0 < waited <= TICK
    assert before == UNDER_WAY
    assert seen(house, "one")["poll"] == "answered"


def test_a_failure_is_told_at_the_tick_too(
    started: Any, looked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = started(declared=(PACED,))

    def unreadable(*_: Any) -> Any:
        raise DataError("The rows cannot be read.")

    monkeypatch.setattr("dovetail.release.releaser.true_cells", unreadable)
    found = looked(lambda: seen(house, "one"))
    assert house.ann.post(ANSWERS, COUNT, key="one").status_code == 503
    assert [before for _, before in found] == [UNDER_WAY]
    assert house.ann.get("/v1/answers").json()["answers"][0]["state"] == "failed"


def test_the_times_that_are_shown_are_those_of_the_tick(started: Any) -> None:
    house = started(declared=(PACED,))
    given = house.ann.post(ANSWERS, COUNT).json()
    (line,) = house.ann.get("/v1/answers").json()["answers"]
    again = house.ann.get(f"/v1/answers/{given['id']}").json()
    asked = datetime.fromisoformat(line["asked_at"])
    for shown in (line, given, given["answers"][0], again, again["answers"][0]):
        assert (datetime.fromisoformat(shown["answered_at"]) - asked).total_seconds() >= TICK - 0.05


def test_another_analyst_of_shared_answers_sees_none_before_the_tick(started: Any, looked: Any) -> None:
    house = started(declared=(replace(PACED, answers="shared"),))
    found = looked(lambda: house.bob.post("/v1/datasets/adult/quotes", COUNT).json()["stored"])
    house.ann.post(ANSWERS, COUNT)
    assert [before for _, before in found] == [None]
    assert house.bob.post("/v1/datasets/adult/quotes", COUNT).json()["stored"]["stored"] is True


def test_what_a_question_alone_decides_is_told_at_once(started: Any, looked: Any) -> None:
    house = started(declared=(PACED,))
    found = looked(lambda: None)
    unknown = COUNT | {"question": {"ask": "count", "where": "shoe = 1"}}
    assert house.ann.post(ANSWERS, unknown).status_code == 400
    assert house.ann.post(ANSWERS, COUNT | {"pay": {"spend": {"epsilon": 9}}}).status_code == 409
    assert found == []
    house.ann.post(ANSWERS, COUNT)
    house.ann.post(ANSWERS, COUNT)  # stored: no row is read
    assert len(found) == 1


def test_another_name_keeps_the_pace(started: Any, looked: Any) -> None:
    house = started(declared=(PACED,))
    assert house.carl.send("PATCH", "/v1/datasets/adult", json={"name": "census"}).json()["pacing"] == TICK
    found = looked(lambda: None)
    assert house.ann.post("/v1/datasets/census/answers", COUNT).status_code == 200
    assert len(found) == 1


def test_a_curator_sets_the_pace(house: Any, looked: Any) -> None:
    found = looked(lambda: None)
    assert house.carl.send("PATCH", "/v1/datasets/adult", json={"pacing": 0.2}).json()["pacing"] == 0.2
    house.ann.post(ANSWERS, COUNT)
    assert len(found) == 1
    assert house.carl.send("PATCH", "/v1/datasets/adult", json={"pacing": 0}).json()["pacing"] is None
    house.ann.post(ANSWERS, COUNT | {"question": {"ask": "count", "where": "age > 30"}})
    assert len(found) == 1
    assert house.carl.send("PATCH", "/v1/datasets/adult", json={"pacing": 61}).status_code == 400


def test_an_online_run_tells_at_a_tick(started: Any, looked: Any) -> None:
    house = started(declared=(PACED,))
    found = looked(lambda: house.ann.get("/v1/runs").json()["runs"])
    wish = {"columns": ["sex"], "queries": 10, "ways": 1, "spend": {"epsilon": "0.5"}}
    run = house.ann.post("/v1/datasets/adult/runs", wish).json()["id"]
    opened = len(found)
    assert opened >= 1
    assert house.ann.post(f"/v1/runs/{run}/answers", {"question": {"ask": "count"}}).status_code == 200
    assert len(found) > opened
    assert all(each["updates_left"] is None for _, runs in found for each in runs)


def test_no_wait_for_a_tick_takes_a_thread_of_everything_else(started: Any, looked: Any) -> None:
    """Forty questions to a run, which any analyst may send, kept a worker from telling that it is alive."""
    house = started(declared=(PACED,))
    found = looked(lambda: current_thread().name)
    wish = {"columns": ["sex"], "queries": 10, "ways": 1, "spend": {"epsilon": "0.5"}}
    run = house.ann.post("/v1/datasets/adult/runs", wish).json()["id"]
    opened = len(found)
    house.ann.post(f"/v1/runs/{run}/answers", {"question": {"ask": "count"}})
    asked = len(found)
    house.ann.post(ANSWERS, COUNT)
    assert 0 < opened < asked < len(found)
    assert all(name.startswith("answer") for _, name in found)


@pytest.mark.parametrize(("passed", "waited"), [(0.1, 0.4), (0.4, 0.1), (0.7, 0.3)])
def test_the_wait_ends_at_a_tick_whatever_has_passed(
    passed: float, waited: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dovetail.ledger import account

    waits: list[float] = []
    monkeypatch.setattr(account, "monotonic", lambda: 100 + passed)
    monkeypatch.setattr(account, "sleep", waits.append)
    account.wait_for_tick(100, TICK)
    assert waits == [pytest.approx(waited)]
