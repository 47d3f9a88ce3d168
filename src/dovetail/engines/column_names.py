"""Refuse columns that an engine could take for one another: names that differ only in case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from dovetail.errors import DataError, shown

_PARQUET = "SELECT file_name, name, num_children FROM parquet_schema(?)"


def check_names(names: Iterable[str], place: str) -> None:
    """Refuse a table with two columns whose names differ in nothing or in case alone.

    >>> check_names(["id", "age"], "people")
    """
    seen: dict[str, str] = {}
    for name in names:
        first = seen.get(name.casefold())
        if first is not None:
            twice = f"names {shown(name)} twice"
            alike = f"has columns {shown(first)} and {shown(name)}, which differ only in case"
            raise DataError(f"{place} {twice if name == first else alike}.", "Give each column its own name.")
        seen[name.casefold()] = name


def check_files(names_of_files: Sequence[tuple[Path, Sequence[str]]]) -> None:
    """Refuse files in which a column is not called the same everywhere, or is not the only one called so."""
    seen: dict[str, tuple[str, Path]] = {}
    for file, names in names_of_files:
        check_names(names, repr(file.name))
        for name in names:
            first, where = seen.setdefault(name.casefold(), (name, file))
            if first != name:
                raise DataError(
                    f"{file.name!r} has a column {shown(name)}, which {where.name!r} calls {shown(first)}.",
                    "Call it the same in every file.",
                )


def parquet_names(connection: Any, names: Sequence[str]) -> list[list[str]]:
    """Return the names of the columns of each Parquet file, from its metadata."""
    rows = connection.execute(_PARQUET, [list(names)]).fetchall()
    by_file: dict[str, list[str]] = {}
    for file, (_root, *below) in groupby(rows, key=lambda row: row[0]):
        inner, by_file[file] = 0, []
        for _file, name, children in below:
            if inner:
                inner -= 1  # part of a list or a structure
            else:
                by_file[file].append(name)
            inner += children or 0
    return [by_file[name] for name in names]


def same_columns(connection: Any, names: Sequence[str]) -> bool:
    """Tell whether Parquet files have the same columns of the same types in the same order."""
    rows = connection.execute("SELECT * FROM parquet_schema(?)", [list(names)]).fetchall()
    files = [[row[1:] for row in of_file] for _, of_file in groupby(rows, key=lambda row: row[0])]
    return all(each == files[0] for each in files)


def arrow_names(names: Sequence[str]) -> list[list[str]]:
    """Return the names of the columns of each Arrow file, from its metadata."""
    import pyarrow.dataset
    import pyarrow.fs

    files = pyarrow.fs.LocalFileSystem()
    return [pyarrow.dataset.IpcFileFormat().inspect(name, filesystem=files).names for name in names]
