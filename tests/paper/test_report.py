"""The report: valid, self-contained, and quiet in a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dovetail.paper.claims import claims
from dovetail.paper.reproduction import Reproduction

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class _Strict(HTMLParser):
    """Refuse unbalanced tags, repeated ids, links to elsewhere and images without words."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"an attribute of <{tag}> is repeated"
        if "id" in given:
            assert given["id"] not in self.ids, given["id"]
            self.ids.add(str(given["id"]))
        for name in ("src", "href"):
            value = given.get(name)
            assert value is None or value.startswith(("#", "data:")), value
            if name == "href" and value is not None and value.startswith("#"):
                self.anchors.add(value[1:])
        assert tag != "script"
        assert tag != "img" or given.get("alt")
        assert tag != "tr" or self.open[-1] in ("thead", "tbody")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _checked(page: str) -> _Strict:
    parser = _Strict()
    parser.feed(page)
    parser.close()
    assert not parser.open
    assert parser.anchors <= parser.ids
    return parser


def test_the_checker_refuses_a_broken_page() -> None:
    for broken in (
        "<p><b></p></b>",
        "<p id=a></p><p id=a></p>",
        '<img src="http://x/y.png" alt="x">',
        "<div>",
    ):
        with pytest.raises(AssertionError):
            _checked(broken)


@pytest.mark.slow
def test_the_page_is_valid_and_asks_for_nothing_outside(quick: Reproduction) -> None:
    page = quick.report.read_text(encoding="utf-8")
    parser = _checked(page)
    assert page.startswith("<!DOCTYPE html>")
    assert "url(" not in page
    assert "@import" not in page
    assert {f"claim-{name}" for name in claims()} <= parser.ids


@pytest.mark.slow
def test_every_figure_is_in_the_page_and_in_both_formats(quick: Reproduction) -> None:
    page = quick.report.read_text(encoding="utf-8")
    names = [name for kept in quick.items.values() for name, _ in kept.figures]
    assert {f"fig{number}" for number in range(1, 13)} <= set(names)
    assert page.count("data:image/svg+xml;base64,") == len(names)
    for name in names:
        assert (quick.folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_zeta_never_stands_without_the_worst_case(quick: Reproduction) -> None:
    for path in (quick.folder / "tables").glob("*.csv"):
        header = path.read_text(encoding="utf-8").partition("\n")[0]
        assert "zeta" not in header or "worst_case_epsilon" in header or path.stem == "table1_agreement"


_in_a_browser = pytest.mark.skipif(
    _BROWSER is None, reason="no Chromium is installed: the page was not opened in a browser"
)


@pytest.mark.slow
@_in_a_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_opens_in_a_browser_without_errors_or_requests(
    quick: Reproduction, tmp_path: Path, width: int
) -> None:
    dom, messages, requested = _opened(quick.report, tmp_path, width)
    assert 'id="claim-fig12-same"' in dom
    assert "CONSOLE" not in messages
    assert requested == []


@pytest.mark.slow
@_in_a_browser
def test_a_page_that_asks_outside_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "asks.html"
    page.write_text('<!DOCTYPE html><title>x</title><img src="http://127.0.0.1:9/x.png" alt="x">')
    _, _, requested = _opened(page, tmp_path, 390)
    assert requested == ["http://127.0.0.1:9/x.png"]


def _opened(page: Path, folder: Path, width: int) -> tuple[str, str, list[str]]:
    """Return the page as the browser built it, what the browser said, and what the page asked for."""
    log = folder / "net.json"
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr")
    places = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", f"--window-size={width},900")
    command = [str(_BROWSER), *options, *places, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    events = [event.get("params", {}) for event in json.loads(log.read_text(encoding="utf-8"))["events"]]
    # The browser's own housekeeping has no page as its initiator.
    asked = {
        e["url"] for e in events if "url" in e and e.get("initiator", "not an origin") != "not an origin"
    }
    return done.stdout, done.stderr, sorted(asked)
