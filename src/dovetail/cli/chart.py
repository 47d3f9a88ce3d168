"""Draw an answer in the terminal, in colours and as wide as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .terminal import printable

if TYPE_CHECKING:
    from rich.console import Console

    from dovetail.answers.chart import Line

MOST_ROWS = 100
_LONGEST_LABEL = 32
_WIDEST = 120
_STYLES = {"text": "", "true": "dim", "sure": "cyan", "shade": "yellow"}


def draw(screen: Console, lines: list[Line], of: int) -> None:
    """Print the lines with bars as wide as the screen allows; there are `of` cells in all."""
    from rich.text import Text

    from dovetail.answers.chart import laid_out

    if not lines:
        screen.print("(no cell)")
        return
    shown = [replace(line, label=_label(line.label)) for line in lines]
    for parts in laid_out(shown, width=min(screen.width, _WIDEST), plain=screen.options.ascii_only):
        text = Text.assemble(*((part, _STYLES[kind]) for part, kind in parts))
        text.rstrip()
        screen.print(text, no_wrap=True, overflow="ignore", crop=False)
    if len(shown) < of:
        screen.print(f"... and {of - len(shown):,} more cells; --csv prints all of them")


def _label(text: str) -> str:
    """Return a label as one line, or a key could add lines that nobody released."""
    shown = printable(text).replace("\n", "\\n")
    return shown if len(shown) <= _LONGEST_LABEL else shown[: _LONGEST_LABEL - 1] + "…"
