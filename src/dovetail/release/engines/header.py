"""Read the first line of a CSV file, which names its columns; no row is looked at."""

from __future__ import annotations

import csv
from pathlib import Path

from dovetail.errors import DataError, shown

_LONGEST = 1 << 20


def csv_header(path: Path) -> tuple[list[str], str]:
    """Return the column names and the delimiter of a CSV file, from its first line alone."""
    line = _first_line(path)
    delimiter = max(",;\t|", key=line.count)
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        raise DataError(f"The first line of {path.name!r} must name its columns, each once.") from None
    if not any(names):
        raise DataError(f"{path.name!r} begins with an empty line. Its first line must name its columns.")
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name:
            raise DataError(
                f"Column {number} has no name in the first line of {path.name!r}. Give every column a name."
            )
        # DuckDB does not tell large letters from small ones.
        if name.casefold() in seen:
            raise DataError(
                f"The first line of {path.name!r} names {shown(name)} twice. Give each column its own name."
            )
        seen.add(name.casefold())
    return names, delimiter


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST)
    except OSError as error:
        raise DataError(f"{path.name!r} cannot be opened: {error.strerror}.") from None
    if not line:
        raise DataError(f"{path.name!r} is empty. Its first line must name its columns.")
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(
            f"The first line of {path.name!r} is not in UTF-8. Save the file anew in that encoding; "
            "spreadsheets call it CSV UTF-8."
        ) from None
