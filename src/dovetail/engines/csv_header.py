"""Read the first lines of CSV files, which name their columns; no row is looked at."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dovetail.errors import DataError, shown
from dovetail.query.encoding import UTF_8, UTF_16

from .column_names import check_names

_LONGEST = 1 << 20
_SIGNS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}


class CsvLayout(NamedTuple):
    """The columns of CSV files, the delimiter, and the files by the order in which they list the columns."""

    names: tuple[str, ...]
    delimiter: str
    orders: dict[tuple[str, ...], list[Path]]


def csv_layout(files: Sequence[Path], encoding: str = UTF_8) -> CsvLayout:
    """Return how CSV files are laid out; they must have the same columns, in any order."""
    names, delimiter = csv_header(files[0], encoding)
    orders: dict[tuple[str, ...], list[Path]] = {tuple(names): [files[0]]}
    for file in files[1:]:
        header, sign = csv_header(file, encoding)
        # A single column says nothing about its delimiter.
        if sign != delimiter and len(header) > 1 and len(names) > 1:
            raise DataError(
                f"{file.name!r} separates its columns by {_SIGNS[sign]}, {files[0].name!r} by "
                f"{_SIGNS[delimiter]}.",
                "Save all files of a folder in one form.",
            )
        _check_same(names, files[0], header, file)
        orders.setdefault(tuple(header), []).append(file)
    return CsvLayout(tuple(names), delimiter, orders)


def _check_same(names: list[str], first: Path, found: list[str], file: Path) -> None:
    lacking = [name for name in names if name not in found]
    extra = [name for name in found if name not in names]
    if lacking or extra:
        said = [f"lacks {', '.join(map(shown, lacking))}"] if lacking else []
        said += [f"has {', '.join(map(shown, extra))} too"] if extra else []
        raise DataError(
            f"The columns of {file.name!r} are not those of {first.name!r}: it {' and '.join(said)}.",
            "Give all files the same columns, or ask each on its own.",
        )


def csv_header(path: Path, encoding: str = UTF_8) -> tuple[list[str], str]:
    """Return the column names and the delimiter of a CSV file, from its first line alone."""
    line = _first_line(path, encoding)
    delimiter = max(_SIGNS, key=line.count)
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        raise DataError(f"The first line of {path.name!r} must name its columns, each once.") from None
    if not any(names):
        raise DataError(f"{path.name!r} begins with an empty line.", "Its first line must name its columns.")
    for number, name in enumerate(names, 1):
        if not name:
            raise DataError(
                f"Column {number} has no name in the first line of {path.name!r}.",
                "Give every column a name.",
            )
    check_names(names, f"The first line of {path.name!r}")
    return names, delimiter


def _first_line(path: Path, encoding: str) -> str:
    try:
        with path.open("rb") as file:
            # In UTF-16 a line ends in two bytes.
            line = file.read(_LONGEST) if encoding == UTF_16 else file.readline(_LONGEST)
    except OSError as error:
        raise DataError(f"{path.name!r} cannot be opened: {error.strerror}.") from None
    if not line:
        raise DataError(f"{path.name!r} is empty.", "Its first line must name its columns.")
    if encoding != UTF_8:
        return line.decode(encoding, "replace").partition("\n")[0]
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(
            f"The first line of {path.name!r} is not in UTF-8.",
            "Declare its encoding in the schema, for example windows-1252, or save it again as CSV UTF-8.",
        ) from None
