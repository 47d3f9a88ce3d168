"""A connection sends again what was lost, under the same name, and tells errors as the library does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from dovetail import errors
from dovetail.client import connect
from dovetail.client.connection import ServiceConnection
from dovetail.errors.reading import read_error, read_remedy
from dovetail.errors.remedies import AskForLess, DidYouMean

KEY = "dvt_abc_secret"


class Service:
    """Replies one after another; an exception is a reply that is lost."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        made: httpx2.Response = reply
        return made


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    clock = [0.0]

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr("dovetail.client.connection.time.sleep", sleep)
    monkeypatch.setattr("dovetail.client.connection.time.monotonic", lambda: clock[0])
    return waits


def connected(service: Callable[[httpx2.Request], httpx2.Response]) -> ServiceConnection:
    return ServiceConnection("https://counts.test", KEY, transport=httpx2.MockTransport(service))


@pytest.mark.parametrize("lost", [httpx2.ConnectError("gone"), httpx2.ReadTimeout("slow")], ids=type)
def test_a_lost_reply_is_asked_for_under_the_same_name(lost: Exception, slept: list[float]) -> None:
    service = Service(lost, lost, httpx2.Response(200, json={"answers": []}))
    assert connected(service).post("/v1/datasets/a/answers", {"a": 1}, once="mine") == {"answers": []}
    assert [each.headers["Idempotency-Key"] for each in service.asked] == ["mine"] * 3
    assert len({each.content for each in service.asked}) == 1
    assert len(slept) == 2


def test_a_busy_service_is_waited_for_as_long_as_it_says(slept: list[float]) -> None:
    busy = httpx2.Response(503, headers={"Retry-After": "7"}, json={"code": "ledger-busy"})
    service = Service(
        busy, httpx2.Response(429, headers={"Retry-After": "999"}), httpx2.Response(200, json={})
    )
    assert connected(service).get("/v1/me") == {}
    assert slept == [7, 30]


@pytest.mark.parametrize(
    "address", ["http://counts.test/v1/answers/5d", "//elsewhere.test/v1/answers/5d", "/proxy/v1/answers/5d"]
)
def test_an_answer_is_looked_for_at_the_service_itself(address: str, slept: list[float]) -> None:
    """A proxy that makes addresses whole again may name http, or another host: the key would go there."""
    running = httpx2.Response(202, headers={"Location": address}, json={})
    service = Service(running, httpx2.Response(200, json={"answers": []}))
    assert connected(service).post("/v1/datasets/a/answers", {}, once="mine") == {"answers": []}
    assert str(service.asked[1].url) == "https://counts.test/v1/answers/5d"


@pytest.mark.parametrize(
    "headers", [{}, {"Location": "https://elsewhere.test/"}, {"Location": "/v1/answers/"}]
)
def test_an_answer_without_a_place_is_none_of_a_service(headers: dict[str, str], slept: list[float]) -> None:
    service = Service(httpx2.Response(202, headers=headers, json={}))
    with pytest.raises(errors.DataError, match="not that of a Dovetail service"):
        connected(service).post("/v1/datasets/a/answers", {}, once="mine")
    assert len(service.asked) == 1


def test_an_answer_that_takes_long_is_fetched_when_it_is_there(slept: list[float]) -> None:
    running = httpx2.Response(202, headers={"Location": "/v1/answers/5d", "Retry-After": "1"}, json={})
    service = Service(running, running, httpx2.Response(200, json={"id": "5d"}))
    assert connected(service).post("/v1/datasets/a/answers", {}, once="x") == {"id": "5d"}
    assert [(each.method, each.url.path) for each in service.asked[1:]] == [("GET", "/v1/answers/5d")] * 2


def test_a_question_whose_worker_died_is_asked_again_under_its_name(slept: list[float]) -> None:
    running = httpx2.Response(202, headers={"Location": "/v1/answers/5d", "Retry-After": "1"}, json={})
    stopped = httpx2.Response(503, headers={"Retry-After": "5"}, json={"code": "interrupted"})
    service = Service(running, stopped, httpx2.Response(200, json={"id": "5d"}))
    assert connected(service).post("/v1/datasets/a/answers", {}, once="x") == {"id": "5d"}
    assert [each.method for each in service.asked] == ["POST", "GET", "POST"]
    assert service.asked[2].headers["Idempotency-Key"] == "x"


def test_what_stays_away_is_given_up_with_a_word_on_what_was_charged(slept: list[float]) -> None:
    def gone(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("gone")

    with pytest.raises(errors.DataError, match=r"cannot be reached .*asked again, free"):
        connected(gone).get("/v1/me")
    assert 60 < sum(slept) < 300


def test_a_service_that_stays_busy_says_so_itself(slept: list[float]) -> None:
    def busy(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(503, json={"code": "ledger-busy", "detail": "The ledger is busy."})

    with pytest.raises(errors.LedgerBusy, match="The ledger is busy"):
        connected(busy).get("/v1/me")


def test_a_key_goes_to_its_service_only() -> None:
    service = Service(httpx2.Response(302, headers={"Location": "https://elsewhere.test/"}))
    with pytest.raises(errors.DataError, match="status 302"):
        connected(service).get("/v1/me")
    assert [each.url.host for each in service.asked] == ["counts.test"]
    assert service.asked[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "url",
    ["http://counts.test", "ftp://counts.test", "counts.test", "", "https://ann:pw@counts.test", 3, "http://[",
     "http://localhost/\ud800", "https://counts.test/?key=dvt_abc"],
)  # fmt: skip
def test_an_address_that_would_tell_the_key_is_refused(url: Any) -> None:
    with pytest.raises(errors.InvalidParameter, match="url"):
        ServiceConnection(url, KEY)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8321", "http://localhost:8321/", "http://[::1]:1", "https://a"]
)
def test_an_address_on_this_machine_or_encrypted_is_fine(url: str) -> None:
    assert ServiceConnection(url, KEY).url == url.rstrip("/")


@pytest.mark.parametrize("key", ["", None, "dvt_\n", "dvt_é", "a b"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOVETAIL_KEY", raising=False)
    with pytest.raises(errors.InvalidParameter) as refused:
        connect("https://counts.test", key=key, dataset="a")
    assert not key or key not in str(refused.value)


def test_the_error_of_a_service_is_the_error_of_the_library() -> None:
    told = {
        "code": "budget-exceeded",
        "detail": "This costs epsilon 0.5.",
        "requested": "epsilon 0.5",
        "remaining": "epsilon 0.2",
        "remedies": [
            {"remedy": "ask-for-less", "within": "15", "probability": "19/20", "smaller_delta": False},
            {"remedy": "something-new"},
        ],
        "fix": ["Ask for less.", "Do the new thing."],
        "place": None,
    }
    service = Service(httpx2.Response(409, json=told))
    with pytest.raises(errors.BudgetExceeded) as refused:
        connected(service).get("/v1/me")
    assert (refused.value.requested, refused.value.remaining) == ("epsilon 0.5", "epsilon 0.2")
    assert isinstance(refused.value.remedies[0], AskForLess)
    assert "Do the new thing." in str(refused.value)


def test_every_error_is_read_back() -> None:
    given = errors.InvalidParameter("within", -1, "a number above 0", DidYouMean("1"))
    place = errors.UnsupportedSQL("A join cannot be answered.", place=errors.Place(2, 7))
    for error in (given, place, errors.MissingPrice(), errors.UpdatesExhausted("Used.", asked=3, updates=2)):
        again = read_error(json.loads(json.dumps(error.to_dict())))
        assert type(again) is type(error)
        assert again.to_dict() == error.to_dict()
        assert str(again) == str(error)
        assert again.__dict__ == error.__dict__
    assert read_remedy({"remedy": "never-heard-of"}) is None
    assert type(read_error({"code": "not-found", "detail": "No."})) is errors.DovetailError


def test_a_reply_of_something_else_is_told_as_such() -> None:
    service = Service(httpx2.Response(200, text="<html>a login page</html>"))
    with pytest.raises(errors.DataError, match="not that of a Dovetail service"):
        connected(service).get("/v1/me")
