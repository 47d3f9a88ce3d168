"""Write tables as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from .provenance import Given, columns

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+|/[0-9]+)?")
_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Iterable[Sequence[object]], answer: Given | None = None) -> str:
    """Return rows as CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front.

    Every row of an answer tells when it was given, whether it was stored and, if so, that it is stale.

    >>> csv_text([["name", "value"], ["=1+1", "-5.25"]])
    "name,value\\n'=1+1,-5.25\\n"
    """
    out, told = io.StringIO(), {} if answer is None else columns(answer)
    rows = [[*row, *(told.values() if number else told)] for number, row in enumerate(rows)]
    csv.writer(out, lineterminator="\n").writerows([_unarmed(cell) for cell in row] for row in rows)
    return out.getvalue()


def _unarmed(cell: object) -> object:
    if not isinstance(cell, str) or len(cell) < 2 or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}" if cell.startswith(_STARTS) else cell
