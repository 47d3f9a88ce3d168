"""The gate itself: a body that never ends, the console's files, ETags, figures."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dovetail.service.endpoints import console
from dovetail.service.middleware import Middleware
from dovetail.service.settings import Limits, Settings


async def silent() -> Any:
    await asyncio.sleep(60)


def dripping() -> Any:
    """Return what sends a byte now and then, and ends at last."""
    left = 60

    async def receive() -> Any:
        nonlocal left
        await asyncio.sleep(0.02)
        left -= 1
        return {"type": "http.request", "body": b" ", "more_body": left > 0}

    return receive


@pytest.mark.parametrize("receive", [silent, dripping()], ids=["silent", "dripping"])
def test_a_body_that_takes_too_long_is_given_up(started: Any, receive: Any) -> None:
    house = started(limits=Limits(body_seconds=0.2))
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {"host": "localhost", "content-type": "application/json", "content-length": "50"}
    headers |= {"authorization": f"Bearer {house.ann.key}"}
    scope = {"type": "http", "method": "POST", "path": "/v1/datasets/adult/quotes", "query_string": b""}
    scope |= {"headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    scope |= {"raw_path": b"/", "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1)}
    scope |= {"http_version": "1.1", "root_path": "", "state": {}}
    house.client.portal.call(house.app, scope, receive, send)
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["code"] == "too-slow"


def test_what_is_known_is_not_sent_again(house: Any) -> None:
    first = house.ann.get("/v1/datasets/adult")
    again = house.ann.get("/v1/datasets/adult", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    body = {"question": {"ask": "count"}, "pay": {"within": 10}}
    assert house.ann.post("/v1/datasets/adult/answers", body).status_code == 200
    changed = house.ann.get("/v1/datasets/adult", headers={"If-None-Match": first.headers["etag"]})
    assert changed.status_code == 200


def test_the_consoles_files_are_served_and_no_others(
    house: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>console")
    (tmp_path / "assets" / "app-1234.js").write_text("1")
    files = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr(console, "bundle", lambda: files)
    for page in ("/", "/ask/adult", "/index.html"):
        assert house.nobody.get(page).text == "<!doctype html>console"
    script = house.nobody.get("/assets/app-1234.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" in script.headers["cache-control"]
    for other in ("/assets/other.js", "/../settings.py", "/%2e%2e/settings.py", "/v1/nothing"):
        assert house.nobody.get(other).status_code in (404, 200)
        assert "Settings" not in house.nobody.get(other).text


def test_without_the_console_one_page_says_how_to_build_it(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "bundle", dict)
    assert "make console" in house.nobody.get("/").text


def test_figures_count_requests_and_refusals(house: Any) -> None:
    house.ann.get("/v1/me")
    house.nobody.get("/v1/me")
    page = house.app.service.metrics.page().decode()
    assert 'dovetail_requests_total{route="/v1/me",status="200"}' in page
    assert 'dovetail_problems_total{code="unauthenticated"}' in page


def test_no_reply_shows_the_note_that_the_service_leaves_itself(house: Any) -> None:
    for reply in (house.nobody.get("/v1/me"), house.ann.get("/v1/analysts"), house.ann.get("/v1/me")):
        assert "x-problem" not in reply.headers
        assert reply.headers["x-request-id"]


class Gate:
    """The gate alone, in front of an application that reads the whole body and says so."""

    def __init__(self, **limits: Any) -> None:
        self.figures: list[Any] = []
        self.lines: list[dict[str, Any]] = []
        self.faults: list[Exception] = []
        self.bodies: list[bytes] = []
        self.reply = [(b"content-type", b"text/plain")]
        self.failing: Exception | None = None
        self.service: Any = SimpleNamespace(
            settings=Settings("x.ledger", hosts=("Example.org",), limits=Limits(**limits)),
            metrics=SimpleNamespace(observe=lambda *told: self.figures.append(told)),
            log=SimpleNamespace(
                info=lambda event, **told: self.lines.append({"event": event} | told),
                fault=lambda error, request: self.faults.append(error),
            ),
        )

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", scope["type"] == "http"
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        self.bodies.append(body)
        if self.failing:
            raise self.failing
        await send({"type": "http.response.start", "status": 200, "headers": list(self.reply)})
        await send({"type": "http.response.body", "body": b"done"})

    def sent(
        self,
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        *pieces: bytes,
        method: str = "POST",
        pause: float = 0.0,
        **more: Any,
    ) -> tuple[int, dict[bytes, bytes], Any]:
        """Send a request; return the status, the headers and the body of the reply."""
        left, replies = list(pieces or (b"",)), list[Any]()

        async def receive() -> Any:
            await asyncio.sleep(pause)
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

        async def send(message: Any) -> None:
            replies.append(message)

        given = headers if isinstance(headers, list) else [*({"host": "localhost"} | (headers or {})).items()]
        scope = {"type": "http", "method": method, "path": "/", "query_string": b"", "http_version": "1.1"}
        scope["headers"] = [(name.encode(), value.encode()) for name, value in given]
        asyncio.run(Middleware(self.app, self.service)(scope | more, receive, send))
        start, body = replies
        media = dict(start["headers"]).get(b"content-type", b"")
        told = json.loads(body["body"])["code"] if b"json" in media else body["body"]
        return start["status"], dict(start["headers"]), told


def test_a_body_in_pieces_comes_through_while_it_is_in_time() -> None:
    gate = Gate()
    status, _, body = gate.sent({"content-length": "3"}, b"a", b"b", b"c", pause=0.002)
    assert (status, body, gate.bodies) == (200, b"done", [b"abc"])


def test_whoever_waits_after_the_body_has_all_the_time() -> None:
    """A body has a tenth of a second here; whether the client leaves may be asked for longer."""
    gate, pauses = Gate(body_seconds=0.1), [0.001, 0.15]

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        gate.bodies.extend([(await receive())["body"], (await receive())["body"]])

    async def receive() -> Any:
        await asyncio.sleep(pauses.pop(0))
        return {"type": "http.request", "body": b"abc" if pauses else b""}

    async def send(_message: Any) -> None:
        raise AssertionError("nothing is refused")

    scope = {"type": "http", "method": "POST", "http_version": "1.1"}
    scope |= {"headers": [(b"host", b"localhost"), (b"content-length", b"3")]}
    asyncio.run(Middleware(app, gate.service)(scope, receive, send))
    assert gate.bodies == [b"abc", b""]


@pytest.mark.parametrize(
    ("headers", "pieces", "status"),
    [
        ({"content-length": "10"}, [b"x" * 10], 200),
        ({"content-length": "11"}, [b"x" * 11], 413),
        ({"content-length": "9"}, [b"x" * 5, b"x" * 5], 200),
        ({"content-length": "9"}, [b"x" * 5, b"x" * 6], 413),
        ({"transfer-encoding": "chunked"}, [b"x" * 10], 200),
        ({"transfer-encoding": "chunked"}, [b"x" * 5, b"x" * 6], 413),
        ({"content-length": "-1"}, [b""], 413),
        ({"content-length": "²"}, [b""], 413),
        ({"content-length": "x"}, [b""], 413),
    ],
)
def test_a_body_is_as_large_as_it_may_be(headers: Any, pieces: list[bytes], status: int) -> None:
    gate = Gate(body=10)
    found, _, told = gate.sent(headers, *pieces)
    assert found == status
    assert told == (b"done" if status == 200 else "too-large")
    assert gate.bodies == ([b"".join(pieces)] if status == 200 else [])


@pytest.mark.parametrize(
    ("headers", "version", "refused"),
    [
        ({"transfer-encoding": "chunked"}, "1.1", False),
        ({"transfer-encoding": "chunked"}, "1.0", True),
        ({"transfer-encoding": "chunked", "content-length": "0"}, "1.1", True),
        ({"content-length": "0"}, "1.0", False),
    ],
)
def test_a_body_of_two_lengths_is_refused_and_the_connection_closed(
    headers: Any, version: str, refused: bool
) -> None:
    status, given, told = Gate().sent(headers, http_version=version)
    assert (status, told) == ((400, "invalid-request") if refused else (200, b"done"))
    assert given.get(b"connection") == (b"close" if refused else None)


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost", True),
        ("LOCALHOST:8321", True),
        ("example.ORG:443", True),
        ("[::1]:80", True),
        ("[::1]", True),
        ("evil.example", False),
        ("evil.example:80", False),
        ("localhost:", False),
        ("localhost:x", False),
        ("", False),
    ],
)
def test_a_service_answers_to_its_names(host: str, known: bool) -> None:
    status, _, told = Gate().sent({"host": host})
    assert (status, told) == ((200, b"done") if known else (400, "unknown-host"))


@pytest.mark.parametrize(
    ("query", "refused"),
    [(b"dvt_abc", True), (b"KEY=1", True), (b"a=1&Api_key=2", True), (b"monkey", False), (b"", False)],
)
def test_no_key_comes_in_an_address(query: bytes, refused: bool) -> None:
    assert Gate().sent(query_string=query)[0] == (400 if refused else 200)


OWN, FOREIGN = "http://localhost", "http://evil.example"


def test_another_site_cannot_use_the_cookie_of_a_browser() -> None:
    """A browser says which site a request comes from, or at least which origin: both must be the own one."""
    for method, cookie, key, site, origin in product(
        ("GET", "HEAD", "OPTIONS", "POST", "DELETE"),
        (None, "a=b", "dovetail_session=xyz"),
        (None, "Bearer x"),
        (None, "same-origin", "same-site", "cross-site", "none"),
        (None, OWN, FOREIGN, "null", f"{FOREIGN}://localhost"),
    ):
        said = {"cookie": cookie, "authorization": key, "sec-fetch-site": site, "origin": origin}
        status, _, _ = Gate().sent({name: each for name, each in said.items() if each}, method=method)
        changes = method in ("POST", "DELETE")
        signed_in = cookie == "dovetail_session=xyz" and key is None
        own = (site == "same-origin" and origin in (None, OWN)) or (site is None and origin == OWN)
        assert status == (403 if changes and signed_in and not own else 200), (method, said)


def test_cookies_of_several_headers_are_all_looked_at() -> None:
    session, other = ("cookie", "dovetail_session=xyz"), ("cookie", "a=b")
    for cookies in ([session, other], [other, session]):
        assert Gate().sent([("host", "localhost"), *cookies])[0] == 403
    assert Gate().sent([("host", "localhost"), other, other])[0] == 200


def test_every_reply_has_the_headers_that_protect_a_browser_once() -> None:
    gate = Gate()
    status, headers, _ = gate.sent({})
    assert status == 200
    assert headers[b"cache-control"] == b"no-store"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert b"default-src 'none'" in headers[b"content-security-policy"]
    gate.reply = [(b"Content-Security-Policy", b"own"), (b"Cache-Control", b"max-age=5")]
    _, headers, _ = gate.sent({})
    assert headers[b"Content-Security-Policy"] == b"own"
    assert headers[b"Cache-Control"] == b"max-age=5"
    assert not {b"content-security-policy", b"cache-control", b"connection"} & set(headers)
    assert headers[b"referrer-policy"] == b"no-referrer"


def test_a_request_is_noted_with_its_route_its_status_and_its_problem() -> None:
    gate = Gate()
    gate.reply = [(b"X-Problem", b"own-words")]
    _, headers, _ = gate.sent({}, **{"dovetail.route": "/v1/me", "dovetail.caller": "p1"})
    gate.sent({"host": "evil.example"})
    (first, second), lines = gate.figures, gate.lines
    assert (first[0], first[1], first[3]) == ("/v1/me", 200, "own-words")
    assert (second[0], second[1], second[3]) == ("other", 400, "unknown-host")
    assert 0 <= first[2] < 60
    assert lines[0]["milliseconds"] == round(first[2] * 1000, 1)
    assert lines[0] | {"milliseconds": 0} == {
        "event": "request",
        "person": "p1",
        "request": headers[b"x-request-id"].decode(),
        "method": "POST",
        "route": "/v1/me",
        "status": 200,
        "milliseconds": 0,
        "code": "own-words",
    }
    assert b"X-Problem" not in headers
    assert lines[1]["person"] is None


def test_what_nobody_foresaw_is_logged_and_not_told() -> None:
    gate = Gate()
    gate.failing = ValueError("a private value")
    status, _, told = gate.sent({})
    assert (status, told) == (500, "internal")
    assert gate.faults == [gate.failing]


def test_what_is_no_request_goes_straight_through() -> None:
    gate = Gate()
    status, headers, _ = gate.sent({"host": "evil.example"}, type="other")
    assert (status, headers) == (200, dict(gate.reply))
    assert gate.lines == []
