"""Tell whoever waits that work goes on: on a terminal or in a notebook, and nowhere else.

Only the time that has passed is shown. How many rows were read, or how far a question has got in them, would
tell about private rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeAlias

# What is done sooner than this needs no word.
DELAY = 1.0
_BETWEEN = 0.5

Shower: TypeAlias = Callable[[str], None]
"""Shows a text in place of the last one; an empty text takes it away."""

_shown = Event()


@contextmanager
def working(text: str, shower: Callable[[], Shower | None] | None = None) -> Iterator[None]:
    """Show `text` and the time that has passed while the block runs, if it takes longer than a second.

    Nothing is shown where nobody looks, or where something is shown already. `shower` says where to show it.

    >>> with working("Nobody sees this"):
    ...     pass
    """
    screen = None if _shown.is_set() else (shower or _screen)()
    if screen is None:
        yield
        return
    _shown.set()
    done = Event()
    thread = Thread(target=_show, args=(text, screen, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=2)
        _shown.clear()


@contextmanager
def elsewhere() -> Iterator[None]:
    """Show nothing while the block runs: whoever runs it shows something of their own."""
    before = _shown.is_set()
    _shown.set()
    try:
        yield
    finally:
        if not before:
            _shown.clear()


def _show(text: str, shower: Shower, done: Event) -> None:
    start = monotonic()
    if done.wait(DELAY):
        return
    while not done.wait(_BETWEEN):
        shower(f"{text} ... {monotonic() - start:.0f} s")
    shower("")


def _screen() -> Shower | None:
    """Return where to show progress, None where nobody looks."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _notebook()
    stream = sys.stderr
    return _terminal(stream) if stream is not None and stream.isatty() else None


def _terminal(stream: Any) -> Shower:
    """Return what writes on the last line of a terminal."""
    from rich.console import Console
    from rich.control import Control
    from rich.segment import ControlType

    console = Console(file=stream, markup=False, highlight=False)

    def show(text: str) -> None:
        console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        console.print(text[: max(console.width - 1, 1)], end="", style="dim")
        stream.flush()

    return show


def _notebook() -> Shower:
    """Return what writes below the cell that runs."""
    handle = import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)

    def show(text: str) -> None:
        handle.update({"text/plain": text}, raw=True)

    return show
