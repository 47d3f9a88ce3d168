"""Where text goes: the two streams, colours on a terminal only, nothing that a terminal would obey."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import isinf
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

from dovetail.errors import DovetailWarning
from dovetail.progress import elsewhere

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status
    from rich.table import Table

# The exit code after Ctrl-C: 128 and the number of the signal, as shells count.
STOPPED = 130


@contextmanager
def prepared() -> Iterator[None]:
    """Run with warnings shown as notes, and letters that a stream cannot show as question marks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    # Commands say themselves what matters; the library's log is for programs.
    logging.getLogger("dovetail").addHandler(logging.NullHandler())
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _note
        yield


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    # Other warnings speak to programmers, not to whoever runs a command.
    if isinstance(message, DovetailWarning):
        from .error_words import words

        note(" ".join(filter(None, [message.problem, *map(words, message.remedies)])))
    elif issubclass(category, UserWarning):
        note(str(message))


def note(text: str) -> None:
    """Say something beside the result, on stderr."""
    say(stderr(), "Note:  ", text, "bold yellow")


def say(screen: Console, word: str, text: str, style: str) -> None:
    """Print a text after its word; a terminal gets it wrapped beside the word, a pipe in one line."""
    from rich.text import Text

    shown = printable(text)
    if screen.is_terminal:
        shown = indented(shown, screen.width - len(word)).replace("\n", "\n" + " " * len(word))
    screen.print(Text.assemble((word, style), shown), soft_wrap=True)


def stdout() -> Console:
    """Return the console for results."""
    return _console()


def stderr() -> Console:
    """Return the console for errors and notes."""
    return _console(stderr=True)


def _console(**options: Any) -> Console:
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, **options)


def working(text: str) -> AbstractContextManager[object]:
    """Show on a terminal that something takes a moment; elsewhere do nothing."""
    screen = stderr()
    return _status(screen, text) if screen.is_terminal else nullcontext()


@contextmanager
def _status(screen: Console, text: str) -> Iterator[Status]:
    """Show a text, and nothing of the library's own."""
    with elsewhere(), screen.status(text) as status:
        yield status


def table(*headers: str, numbers: int = 0) -> Table:
    """Return an empty table; its last `numbers` columns are aligned to the right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, header in enumerate(headers):
        right = place >= len(headers) - numbers
        made.add_column(header, justify="right" if right else "left", overflow="fold")
    return made


def indented(text: str, width: int) -> str:
    """Break long lines between words, each part as far to the right as the line began.

    >>> print(indented("a heading\\n  some words that go on", 20))
    a heading
      some words that go
      on
    """
    parts = []
    for line in text.split("\n"):
        margin = line[: len(line) - len(line.lstrip())]
        # A number and its % sign stay together.
        kept = line.replace(" %", "\xa0%")
        parts += wrap(kept, max(width, 20), subsequent_indent=margin, break_on_hyphens=False) or [""]
    return "\n".join(parts).replace("\xa0%", " %")


def printable(text: str) -> str:
    """Return the text without anything that a terminal would obey or that breaks a line's order.

    >>> printable("red: \\x1b[31m")
    'red: \\\\x1b[31m'
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else letter.encode("unicode_escape").decode()
        for letter in text
    )


def plain_json(text: str) -> str:
    """Return JSON with everything escaped in its texts that a terminal would obey.

    >>> plain_json('{"key": "\\x9b31m"}')
    '{"key": "\\\\u009b31m"}'
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text
    )


def number(value: float, digits: int = 4) -> str:
    """Return a figure of a table, which has room for few digits."""
    from dovetail.exact.figures import figure

    return figure(value, digits)


def privacy_cost(value: float) -> str:
    """Return what something costs in privacy, for a table: an upper bound, so it is rounded up.

    >>> privacy_cost(0.32811), privacy_cost(float("inf"))
    ('0.3282', 'infinite')
    """
    from dovetail.exact.figures import upper_figure

    return "infinite" if isinf(value) else upper_figure(value)
