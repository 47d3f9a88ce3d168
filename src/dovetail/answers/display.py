"""Show an answer in a terminal or a notebook, error bars included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from html import escape
from textwrap import wrap
from typing import Protocol

from dovetail.errors.values import percent, probability_text
from dovetail.exact.figures import figure, rounded
from dovetail.privacy import Charge, Remaining
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import MOST_CELLS, Constant
from dovetail.query.measures import Bar
from dovetail.query.partitions import Axis

from .chart import Line, cut, laid_out
from .number_formats import label
from .plan import Plan
from .provenance import Given, free, headed, mark_html
from .threshold import Threshold

MOST_ROWS = 60
_BAR = 24
_CHANGES = {"add-remove": "added or removed", "replace": "replaced"}


class ShownAnswer(Given, Protocol):
    """What is shown of an answer; `Answer` says what each means."""

    @property
    def dataset(self) -> str: ...
    @property
    def query(self) -> CheckedQuery: ...
    @property
    def keys(self) -> list[tuple[Constant | None, ...]]: ...
    @property
    def cells(self) -> tuple[tuple[int, ...], ...]: ...
    @property
    def level(self) -> Fraction: ...
    @property
    def threshold(self) -> Threshold | None: ...
    @property
    def neighbours(self) -> str: ...
    @property
    def charge(self) -> Charge: ...
    @property
    def together(self) -> int: ...
    @property
    def remaining(self) -> Remaining: ...
    @property
    def paid_by(self) -> Plan | None: ...
    @property
    def vintages(self) -> tuple[str, ...]: ...
    @property
    def size(self) -> int: ...
    def excerpt(self, most: int | None) -> list[tuple[tuple[Constant | None, ...], Fraction, Bar]]: ...
    def remarks(self) -> tuple[str, ...]: ...


def as_text(answer: ShownAnswer, table: Sequence[str] | None = None) -> str:
    """Return the answer for a terminal: each value with its error bar and a bar to compare, or a `table`."""
    if table is not None:
        return headed(answer, "\n".join([*table, notes(answer)]))
    listed = lines_of(answer, MOST_ROWS)
    if not answer.query.grouped:
        return headed(answer, f"{listed[0].amount()}\n{notes(answer)}")
    shown = [replace(line, label=cut(line.label)) for line in listed]
    lines = ["".join(text for text, _ in parts).rstrip() for parts in laid_out(shown, width=0, longest=_BAR)]
    if answer.size > len(lines):
        lines.append(f"... and {answer.size - len(lines):,} more cells")
    return headed(answer, "\n".join([*lines, notes(answer)]))


def lines_of(answer: ShownAnswer, most: int | None = None) -> list[Line]:
    """Return the cells of an answer, at most so many of them, with their intervals at its level."""
    constant = answer.query.measure.constant
    made = []
    for keys, value, bar in answer.excerpt(most):
        words = amount(value, bar, constant) if isinstance(constant(value), date) else None
        made.append(Line(", ".join(map(label, keys)), value, bar.low, bar.high, words=words))
    return made


def as_html(answer: ShownAnswer, table: str | None = None, most: int | None = MOST_ROWS) -> str:
    """Return the answer for a notebook, as a list with bars or as a `table`; all from outside is escaped."""
    after = "<br>".join(escape(line) for line in notes(answer).split("\n"))
    shown = _listed_html(answer, most) if table is None else table
    return f"{mark_html(answer)}{shown}<p>{after}</p>"


def _listed_html(answer: ShownAnswer, most: int | None) -> str:
    """Return a list of the first `most` cells with bars, and how many more there are."""
    listed = answer.excerpt(most)
    top = max([Fraction(1), *(max(value, bar.high) for _, value, bar in listed)])
    names, constant = [axis.field.name for axis in answer.query.named_by], answer.query.measure.constant
    head = "".join(
        f"<th>{escape(name)}</th>" for name in [*names, "value", f"{percent(answer.level)} interval", ""]
    )
    rows = []
    for keys, value, bar in listed:
        cells = [escape(label(key)) for key in keys]
        moments = [str(each) for each in map(constant, (value, bar.low, bar.high)) if isinstance(each, date)]
        shown, low, high = moments or Line("", value, bar.low, bar.high).figures()
        cells += [shown, f"{low} to {high}", "" if moments else _bar_html(value, bar, top)]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    left = answer.size - len(listed)
    more = f"<p>... and {left:,} more cells</p>" if left else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


def notes(answer: ShownAnswer, *, whole: bool = False, bounded: str | None = None) -> str:
    """Return what must be said beside the numbers: what is left out, what is protected, and what it cost.

    `whole` says that all that was asked at once is shown, so that no others share the cost; `bounded` is then
    what all of it leaves out.
    """
    kind = ("row " if answer.query.persons is None else "person ") + _CHANGES[answer.neighbours]
    left_out = bounded or answer.bounded
    first, of_what = ([], "") if left_out is None else ([left_out], " for the rows used")
    others = answer.together - 1
    shared = f" together with {others} other{'s' * (others > 1)}" if others and not whole else ""
    price, rest = f"cost {answer.charge}{shared}", f"remaining {answer.remaining}"
    if answer.paid_by is not None:
        plan = answer.paid_by
        price = f"paid by plan {plan.id}, {plan.left} left of its {plan.slots} answers ({plan.price()})"
        rest = f"remaining outside plans {answer.remaining}"
    if answer.stored:
        price = f"free: {free(answer)}"
    if answer.threshold is None:
        said = f"±{of_what} holds with probability {probability_text(answer.level)}; {kind}; {price}; {rest}"
        return "\n".join([*answer.remarks(), *first, said])
    miss = probability_text(1 - answer.level)
    error = f"each key is shown with a ±{of_what} that misses with probability at most {miss}"
    return "\n".join([f"keys {how_found(answer)}", *first, f"{error}; {kind}; {price}; {rest}"])


def how_found(answer: ShownAnswer) -> str:
    """Return how the keys of an answer were found out, and which of them are missing."""
    assert answer.threshold is not None
    who = "row" if answer.query.persons is None else "person"
    cut = f", the {MOST_CELLS:,} largest of them" if len(answer.cells) == MOST_CELLS else ""
    return (
        f"found in the rows: keys with a noisy count of at least {answer.threshold.least:,} are shown{cut}, "
        f"rarer ones are left out by design; a key that only one {who} has is shown with probability at most "
        f"{rounded(Fraction(answer.threshold.delta))}"
    )


def amount(
    value: Fraction, bar: Bar, constant: Callable[[Fraction], Fraction | date] = lambda number: number
) -> str:
    """Return a value with its error bar; `constant` makes days and times of numbers that stand for them."""
    shown, low, high = map(constant, (value, bar.low, bar.high))
    if isinstance(shown, date):
        return f"{shown} ({low} to {high})"
    return Line("", value, bar.low, bar.high).amount()


def in_figures(value: Fraction | date) -> str:
    """Return a number, a day or a time for reading.

    >>> from datetime import datetime
    >>> in_figures(Fraction(12345)), in_figures(datetime(2024, 1, 31, 12))
    ('12,345', '2024-01-31 12:00:00')
    """
    return str(value) if isinstance(value, date) else figure(value)


def _bar_html(value: Fraction, bar: Bar, top: Fraction) -> str:
    def place(at: Fraction) -> float:
        return float(min(max(at / top, Fraction(0)), Fraction(1)) * 160)

    low, high, end = place(bar.low), place(bar.high), place(value)
    return (
        f'<svg width="164" height="12"><rect x="2" y="2" width="{end:.1f}" height="8" fill="#8fb3d9"/>'
        f'<line x1="{low + 2:.1f}" x2="{high + 2:.1f}" y1="6" y2="6" stroke="#333"/></svg>'
    )


def heading(answer: ShownAnswer, axes: Sequence[Axis] | None = None) -> str:
    """Return what a picture of the answer is about; `axes` are what it names, if not all of them."""
    columns = ", ".join(axis.field.name for axis in (answer.query.named_by if axes is None else axes))
    some = ", matching rows only" if answer.query.where is not None else ""
    return f"{titled(answer)}{' by ' if columns else ''}{columns}{some}"


def titled(answer: ShownAnswer) -> str:
    """Return which rows an answer is about."""
    return " ".join([answer.dataset, *([", ".join(answer.vintages)] if answer.vintages else [])])


def axis_words(answer: Given, scale: str) -> str:
    """Return what a picture's axis shows and, below it, what the answer leaves out by design."""
    if answer.bounded is None:
        return scale
    return "\n".join([f"{scale}, for the rows used", *wrap(answer.bounded, 90)])
