"""Lay out numbers in lines of text: each with its error bar in figures, and a bar to compare by eye.

Every terminal shows the same lines. What differs is how wide it is, which letters it knows, and whether a
part of a line has a colour; so a line is a list of parts, each with what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf, log10
from typing import Literal, TypeAlias

from dovetail.exact.figures import figure, figure_end, figure_up

LONGEST_LABEL = 40
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")

Part: TypeAlias = tuple[str, Literal["text", "true", "sure", "shade"]]
"""A piece of a line: text, a true number, the bar up to the interval, or the interval."""


@dataclass(frozen=True, slots=True)
class Line:
    """One cell; `true` is only ever known for public data, `words` stand for a day or a time (no bar)."""

    label: str
    value: Fraction | float
    low: Fraction | float
    high: Fraction | float
    true: Fraction | float | None = None
    words: str | None = None

    def amount(self) -> str:
        """Return the value with its error bar.

        >>> Line("a", 1234, 1229, 1239).amount(), Line("a", 0, 0, 3).amount()
        ('1,234 ± 5', '0 (0 to 3)')
        """
        if self.words is not None:
            return self.words
        below, above = self.value - self.low, self.high - self.value
        value, low, high = self.figures()
        if abs(float(below - above)) <= 1e-9 * max(abs(float(self.high)), 1.0):
            return f"{value} ± {figure_up(max(below, above))}"
        return f"{value} ({low} to {high})"

    def figures(self) -> tuple[str, str, str]:
        """Return the value and the ends of its interval, which are rounded outward.

        >>> Line("a", 1234568.0, 1234567.61, 1234568.42).figures()
        ('1,234,568', '1,234,567.61', '1,234,568.42')
        """
        size = max(abs(float(number)) for number in (self.value, self.low, self.high))
        width = self.high - self.low
        digits = _digits(size, float(width))
        low = figure_end(self.low, digits, up=False, width=width)
        return figure(self.value, digits), low, figure_end(self.high, digits, up=True, width=width)


def _digits(size: float, width: float) -> int:
    """Return how many digits show a number to a hundredth of its interval: six, or more where it is narrow.

    >>> _digits(38.58, 0.2), _digits(1234567.4, 0.2)
    (6, 10)
    """
    if not (width > 0 and size < inf):
        return 6
    return min(max(6, floor(log10(size)) - floor(log10(width)) + 3), 17)


def laid_out(lines: Sequence[Line], *, width: int, plain: bool = False, longest: int = 8) -> list[list[Part]]:
    """Return the parts of each line; bars fill what the `width` leaves, of at least `longest` letters."""
    labels, amounts = [line.label for line in lines], [line.amount() for line in lines]
    truths = ["" if line.true is None else figure(line.true) for line in lines]
    known = any(truths)
    wide = [max(map(len, texts), default=0) for texts in (labels, amounts, truths)]
    room = max(longest, width - sum(wide) - 2 * (3 if known else 2) - 1)
    top = max([float(line.high) for line in lines] + [1.0])
    made: list[list[Part]] = []
    for line, label, amount, truth in zip(lines, labels, amounts, truths, strict=True):
        parts: list[Part] = [(f"{label:<{wide[0]}}  {amount:>{wide[1]}}  ", "text")]
        parts += [(f"{truth:>{wide[2]}}  ", "true")] if known else []
        made.append(parts + ([] if line.words is not None else bar(line, top, room, plain=plain)))
    return made


def bar(line: Line, top: float, room: int, *, plain: bool = False) -> list[Part]:
    """Return the bar of one line, `room` letters standing for `top`: solid up to the interval, then shaded.

    >>> bar(Line("a", 5, 4, 6), top=8, room=8)
    [('████', 'sure'), ('▒▒', 'shade')]
    >>> bar(Line("a", 5, 4, 6), top=8, room=8, plain=True)
    [('####', 'sure'), ('--', 'shade')]
    >>> bar(Line("a", 400, 399, 401), top=800, room=8)
    [('████', 'sure')]
    """
    low, high = (min(max(float(end) / top, 0.0), 1.0) * room for end in (line.low, line.high))
    full = "#" if plain else "█"
    shade = round(high) - int(low)
    if shade > 1 or (shade == 1 and high - low >= 0.5):
        return [(full * int(low), "sure"), (("-" if plain else "▒") * shade, "shade")]
    # The interval is narrower than a letter: one bar up to its middle.
    whole, eighths = divmod(round((low + high) * 4), 8)
    return [(full * whole + ("" if plain else _EIGHTHS[eighths]), "sure")]


def cut(text: str) -> str:
    """Return a label that fits beside the numbers, on one line.

    A key may come from a row: it must not steer the terminal, nor add lines that nobody released.
    """
    text = text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
