"""Whoever waits sees that work goes on; nobody else does, and nothing but time is told."""

import io
import re
import sys
from threading import active_count
from time import sleep
from types import SimpleNamespace

import pytest

from dovetail import progress


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.02)
    monkeypatch.setattr(progress, "_BETWEEN", 0.01)


@pytest.mark.usefixtures("quick")
def test_a_long_block_shows_its_text_and_time_and_cleans_up() -> None:
    told: list[str] = []
    before = active_count()
    with progress.working("Reading", lambda: told.append):
        sleep(0.15)
    assert told[-1] == ""
    assert all(re.fullmatch(r"Reading \.\.\. \d+ s", text) for text in told[:-1])
    assert len(told) > 2
    assert active_count() == before


def test_a_short_block_says_nothing() -> None:
    told: list[str] = []
    with progress.working("Reading", lambda: told.append):
        pass
    assert told == []


@pytest.mark.usefixtures("quick")
def test_only_the_outer_block_speaks_and_none_where_others_do() -> None:
    outer: list[str] = []
    inner: list[str] = []
    with progress.working("Outer", lambda: outer.append), progress.working("Inner", lambda: inner.append):
        sleep(0.1)
    assert outer
    assert not inner
    with progress.elsewhere(), progress.working("Inner", lambda: inner.append):
        sleep(0.1)
    assert not inner
    with progress.working("Again", lambda: inner.append):
        sleep(0.1)
    assert inner


@pytest.mark.usefixtures("quick")
def test_an_error_takes_the_text_away() -> None:
    told: list[str] = []

    def failing() -> None:
        with progress.working("Reading", lambda: told.append):
            sleep(0.1)
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        failing()
    assert told[-1] == ""


@pytest.mark.usefixtures("quick")
def test_a_pipe_gets_nothing_and_starts_no_thread(capsys: pytest.CaptureFixture[str]) -> None:
    before = active_count()
    with progress.working("Reading"):
        assert active_count() == before
        sleep(0.05)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("quick")
def test_a_terminal_gets_one_line_that_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress.working("Reading"):
        sleep(0.2)
    assert "Reading ... 0 s" in screen.getvalue()
    assert "\n" not in screen.getvalue()
    assert screen.getvalue().rstrip("\x1b[0m").endswith("\x1b[2K")


@pytest.mark.usefixtures("quick")
def test_a_notebook_gets_a_text_that_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            told.append(data["text/plain"])

    shell = SimpleNamespace(kernel=object())
    shown = SimpleNamespace(display=lambda data, raw, display_id: Handle())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    with progress.working("Reading"):
        sleep(0.1)
    assert told[0] == "Reading ... 0 s"
    assert told[-1] == ""
