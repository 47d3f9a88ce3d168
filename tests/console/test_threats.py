"""What an enemy tries in a browser, and what happens when things break."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from console_service import Running, running
from dovetail.privacy import Budget

pytestmark = pytest.mark.browser
BAD = "<img src=x onerror=window.hacked=1>"
WORSE = '"><script>window.hacked=1</script>'


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[Running]:
    """Serve data whose columns, values, title and description are scripts."""
    from dovetail.service.settings import DeclaredDataset

    file = tmp_path / "evil.csv"
    file.write_text('kind,"' + BAD.replace('"', '""') + '"\n' + f"{BAD},1\n" * 30, encoding="utf-8")
    schema = dv.Schema(
        [
            dv.Column("kind", "text", values=[BAD, WORSE.replace('"', "'"), "plain"]),
            dv.Column(BAD, "integer", low=0, high=9),
        ]
    )
    about = {"title": BAD, "description": WORSE, "contact": "javascript:window.hacked=1", "public": True}
    declared = DeclaredDataset("evil", {"path": str(file)}, Budget.pure(5), schema, about=about)
    with running(tmp_path, budget=Budget.pure(5), declared=(declared,)) as made:
        made.ledger.people.add(BAD, "analyst")
        yield made


def test_scripts_in_names_and_values_are_only_text(
    hostile: Running, signed_in: Callable[..., Any], opened: Callable[..., Any]
) -> None:
    dialogs: list[Any] = []
    page = signed_in(hostile, "ann", "datasets")
    page.on("dialog", lambda dialog: dialogs.append(dialog))
    page.get_by_role("link", name=BAD).click()
    page.get_by_role("heading", name="Columns").wait_for()
    assert BAD in page.get_by_role("main").inner_text()
    page.goto("/#/ask/evil")
    page.get_by_label("For each", exact=True).select_option("kind")
    page.get_by_role("button", name="Ask for ε").click()
    page.get_by_role("region", name="This answer").wait_for()
    assert BAD in page.get_by_role("main").inner_text()
    for screen in ("history", "design/evil", "plans"):
        page.goto(f"/#/{screen}")
        page.wait_for_load_state("networkidle")
    curator = signed_in(hostile, "carl", "people")
    curator.get_by_role("link", name=BAD).click()
    for screen in ("overview", "record/evil", "datasets/evil/schema", "datasets/evil/budget", "verify"):
        curator.goto(f"/#/{screen}")
        curator.wait_for_load_state("networkidle")
    public = opened(hostile)
    public.goto("/#/record/evil")
    public.get_by_role("heading", name="The record of").wait_for()
    for each in (page, curator, public):
        assert each.evaluate("window.hacked") is None
        assert each.locator("main img, main script, a[href^='javascript:']").count() == 0
    assert not dialogs


def test_the_policy_is_strict_and_scripts_cannot_be_added(service: Running, browser: Any) -> None:
    context = browser.new_context(base_url=service.address)
    page = context.new_page()
    page.goto("/")
    policy = page.request.get("/").headers["content-security-policy"]
    for part in (
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<p>' } catch (error) { return error.name } }"
    )
    assert refused == "TypeError"
    context.close()


def test_nothing_is_kept_where_scripts_can_read_it(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_role("button", name="Ask for ε").wait_for()
    assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert service.keys["ann"] not in page.content()


@pytest.fixture
def foreign() -> Iterator[str]:
    """Serve an empty page from another origin of the same machine."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_a_foreign_page_can_neither_ask_nor_read(
    service: Running, foreign: str, signed_in: Callable[..., Any], browser: Any
) -> None:
    page = signed_in(service, "ann", "datasets")
    # A page of its own: what the browser says about refused requests is not a fault of the console.
    other = page.context.new_page()
    other.goto(foreign)
    attack = """async (address) => {
        const body = JSON.stringify({question: {ask: 'count'}, pay: {within: 20}})
        const sent = []
        for (const type of ['application/json', 'text/plain']) {
            for (const mode of ['cors', 'no-cors']) {
                try {
                    const reply = await fetch(address + '/v1/datasets/adult/answers',
                        {method: 'POST', credentials: 'include', mode, body, headers: {'Content-Type': type}})
                    sent.push(await reply.text())
                } catch (error) { sent.push('refused') }
            }
        }
        try { sent.push(await (await fetch(address + '/v1/me', {credentials: 'include'})).text()) }
        catch (error) { sent.push('refused') }
        return sent
    }"""
    told = other.evaluate(attack, service.address)
    assert set(told) <= {"refused", ""}
    (grant,) = service.ledger.people.grants("ann", "adult")
    assert not grant.spent.epsilon


def framed(page: Any, foreign: str, address: str) -> str:
    """Return what a frame of the service on a foreign page holds once the browser has decided about it."""
    page.goto(foreign)
    page.evaluate(
        """address => new Promise(decided => {
            const frame = document.createElement('iframe')
            frame.onload = decided
            frame.src = address
            document.body.append(frame)
        })""",
        address,
    )
    (frame,) = (each for each in page.frames if each != page.main_frame)
    return str(frame.content())


def test_the_console_cannot_be_framed(service: Running, foreign: str, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    refusals: list[str] = []
    page.on("console", lambda message: refusals.append(message.text))
    assert 'id="app"' not in framed(page, foreign, service.address)
    assert any("frame-ancestors 'none'" in each for each in refusals)

    def without_policy(route: Any) -> None:
        given = route.fetch()
        kept = {name: text for name, text in given.headers.items() if name != "content-security-policy"}
        route.fulfill(response=given, headers=kept)

    page.route(f"{service.address}/", without_policy)
    assert 'id="app"' in framed(page, foreign, service.address), "without the policy it would be framed"
    context.close()


def test_an_expired_key_ends_the_session(service: Running, signed_in: Callable[..., Any]) -> None:
    until = datetime.now(UTC) + timedelta(seconds=4)
    service.keys["bob"] = service.ledger.people.make_key("bob", expires=until).text
    page = signed_in(service, "bob", "datasets")
    page.get_by_role("link", name="Adult census").wait_for()
    page.wait_for_timeout(max(0, (until - datetime.now(UTC)).total_seconds() * 1000 + 200))
    page.goto("/#/history")
    page.get_by_text("Your session has ended").wait_for()


def test_a_wrong_key_is_refused_and_not_repeated(service: Running, opened: Callable[..., Any]) -> None:
    page = opened(service)
    wrong = service.keys["ann"][:-3] + "aaa"
    page.get_by_label("Your key").fill(wrong)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    assert wrong not in page.content()
    assert page.get_by_label("Your key").input_value() == ""


def test_a_server_that_is_gone_says_what_is_safe(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_role("button", name="Ask for ε").wait_for()
    service.stop()
    page.get_by_role("button", name="Ask for ε").click()
    page.get_by_text("The server does not answer.").wait_for()
    assert "charged at most once" in page.content()
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Try again").wait_for()
