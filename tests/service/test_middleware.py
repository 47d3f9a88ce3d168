"""The gate itself: a body that never ends, the console's files, ETags, figures."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.service.endpoints import console
from dovetail.service.settings import Limits


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
