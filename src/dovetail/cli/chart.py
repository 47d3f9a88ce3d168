"""Draw an answer in the terminal: each value, its error bar, and a bar to compare by eye."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .terminal import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MOST_ROWS = 100
_LONGEST_LABEL = 32
_SHORTEST_BAR = 8
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


@dataclass(frozen=True, slots=True)
class Line:
    """One cell; `true` is only ever known for public data."""

    label: str
    value: float
    low: float
    high: float
    true: float | None = None
    words: str | None = None  # of a day or a time, which has no bar


def draw(screen: Console, lines: list[Line]) -> None:
    """Print the lines with bars as wide as the screen allows.

    The bar is solid up to the low end of the interval and shaded from there to its high end.
    """
    from rich.text import Text

    if not lines:
        screen.print("(no cell)")
        return
    shown = lines[:MOST_ROWS] if screen.is_terminal else lines
    # A label is one line, or a key could add lines that nobody released.
    labels = [_cut(printable(line.label).replace("\n", "\\n")) for line in shown]
    amounts = [amount(line) for line in shown]
    truths = [_figure(line.true) for line in shown] if lines[0].true is not None else None
    wide = [max(map(len, labels)), max(map(len, amounts)), max(map(len, truths or [""]))]
    used = sum(wide) + 2 * (3 if truths else 2)
    room = max(_SHORTEST_BAR, min(screen.width, 120) - used - 1)
    top = max([line.high for line in shown] + [1.0])
    for number, line in enumerate(shown):
        text = Text(f"{labels[number]:<{wide[0]}}  {amounts[number]:>{wide[1]}}  ")
        if truths:
            text.append(f"{truths[number]:>{wide[2]}}  ", style="dim")
        if line.words is None:
            text.append(bar(line, top, room, plain=screen.options.ascii_only))
        text.rstrip()
        screen.print(text, no_wrap=True, overflow="ignore", crop=False)
    if len(shown) < len(lines):
        screen.print(f"... and {len(lines) - len(shown):,} more cells; --csv prints all of them")


def bar(line: Line, top: float, room: int, *, plain: bool = False) -> Text:
    """Return the bar of one line, `room` letters standing for `top`.

    >>> bar(Line("a", 5, 4, 6), top=8, room=8).plain
    '████▒▒'
    >>> bar(Line("a", 5, 4, 6), top=8, room=8, plain=True).plain
    '####--'
    >>> bar(Line("a", 400, 399, 401), top=800, room=8).plain
    '████'
    """
    from rich.text import Text

    low, high = (min(max(end / top, 0.0), 1.0) * room for end in (line.low, line.high))
    full = "#" if plain else "█"
    shade = round(high) - int(low)
    if shade > 1 or (shade == 1 and high - low >= 0.5):
        text = Text(full * int(low), style="cyan")
        text.append(("-" if plain else "▒") * shade, style="yellow")
        return text
    # The interval is narrower than a letter: one bar up to its middle.
    whole, eighths = divmod(round((low + high) * 4), 8)
    text = Text(full * whole, style="cyan")
    if not plain:
        text.append(_EIGHTHS[eighths], style="cyan")
    return text


def amount(line: Line) -> str:
    """Return a value with its error bar.

    >>> amount(Line("a", 1234, 1229, 1239)), amount(Line("a", 0, 0, 3))
    ('1,234 ± 5', '0 (0 to 3)')
    """
    if line.words is not None:
        return line.words
    below, above = line.value - line.low, line.high - line.value
    if abs(below - above) <= 1e-9 * max(abs(line.high), 1.0):
        return f"{_figure(line.value)} ± {_figure(above)}"
    return f"{_figure(line.value)} ({_figure(line.low)} to {_figure(line.high)})"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"
