"""Chromium, a running service, and people who sign in to its console."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from console_service import Running, running

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Debian's Chromium once."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, NAMES)), None)
    assert path, "There is no Chromium; `make test-console` installs it."
    assert (ROOT / "src/dovetail/service/console/index.html").exists(), "Build it first: make console."
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    """Serve the Adult data."""
    with running(tmp_path) as made:
        yield made


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return what opens a page; faults of scripts and of the content policy fail the test."""
    contexts: list[Any] = []
    faults: list[str] = []

    def heard(message: Any) -> None:
        # A refusal that the server sends is logged by the browser too; that is no fault.
        if message.type == "error" and "Failed to load resource" not in message.text:
            faults.append(message.text)

    def open_page(service: Running, *, width: int = 1280, theme: str = "light", **more: Any) -> Any:
        context = browser.new_context(
            base_url=service.address,
            viewport={"width": width, "height": 900 if width > 600 else 844},
            color_scheme=theme,
            **more,
        )
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto("/")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


@pytest.fixture
def signed_in(opened: Callable[..., Any]) -> Callable[..., Any]:
    """Return what opens a page and signs somebody in with their key."""

    def enter(service: Running, name: str, path: str = "", **more: Any) -> Any:
        page = opened(service, **more)
        page.get_by_label("Your key").fill(service.keys[name])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("navigation", name="Screens").wait_for()
        if path:
            page.goto(f"/#/{path}")
        return page

    return enter
