"""Show the answer to a SELECT in a terminal or a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dovetail.release.answer import label
from dovetail.release.display import MOST_ROWS, amount, cut, notes

if TYPE_CHECKING:
    from .answer import TableAnswer


def as_text(answer: TableAnswer) -> str:
    """Return the answer for a terminal: the columns as selected, each value with its error bar."""
    columns = []
    for column, texts in zip(answer.columns, cells(answer, MOST_ROWS), strict=True):
        listed = [cut(column.name), *map(cut, texts)]
        width = max(map(len, listed))
        right = column.query is not None
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in listed])
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    return "\n".join([*lines, *_after(answer)])


def as_html(answer: TableAnswer) -> str:
    """Return the answer for a notebook; everything that came from outside is escaped."""
    head = "".join(f"<th>{escape(column.name)}</th>" for column in answer.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in zip(*cells(answer, MOST_ROWS), strict=True)
    )
    after = "<br>".join(map(escape, _after(answer)))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{after}</p>"


def cells(answer: TableAnswer, most: int) -> list[list[str]]:
    """Return the texts of each column, of the first `most` rows only."""
    shown = []
    for column in answer.columns:
        if column.query is None:
            texts = [label(key) for key in answer.keys(column)]
        else:
            pairs = zip(answer.values(column), answer.bars(column, answer.level), strict=True)
            texts = [amount(value, bar) for value, bar in pairs]
        shown.append(texts[:most])
    return shown


def _after(answer: TableAnswer) -> list[str]:
    more = len(answer.places) - MOST_ROWS
    lines = [f"... and {more} more rows"] if more > 0 else []
    if answer.chosen_by:
        lines.append("rows were chosen by noisy values: their error bars hold for all groups at once")
    return [*lines, *notes(answer.answers[0], whole=True).split("\n")]
