"""Write tables as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from .provenance import Given, columns

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+|/[0-9]+)?")
# At the beginning, and wherever a spreadsheet of some country may take it for the beginning of a cell.
_SIGNS = "-=+@\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(rf"^(?=[{_SIGNS}\t\r\n])|(?<=[;\t\r\n])(?=[{_SIGNS}])")


def csv_text(rows: Iterable[Sequence[object]], answer: Given | None = None) -> str:
    """Return rows as CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front.

    Every row of an answer tells when it was given, whether it was stored and, if so, that it is stale.

    >>> csv_text([["name", "value"], ["=1+1", "-5.25"]])
    "name,value\\n'=1+1,-5.25\\n"
    """
    told = {} if answer is None else columns(answer)
    rows = ([*row, *(told.values() if number else told)] for number, row in enumerate(rows))
    return "".join(_line([_unarmed(cell) for cell in row]) for row in rows)


def _line(cells: Sequence[object]) -> str:
    """Return one line. A lone carriage return would end it, and is quoted only where lines end with one."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n") + "\n"


def _unarmed(cell: object) -> object:
    if not isinstance(cell, str) or len(cell) < 2 or _NUMBER.fullmatch(cell):
        return cell
    return _FORMULA.sub("'", cell)
