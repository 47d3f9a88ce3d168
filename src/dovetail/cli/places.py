"""Find what a word on the command line names: data that ship, a file, its schema, its ledger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.errors import DataError, InvalidParameter

if TYPE_CHECKING:
    from dovetail.release import Source

SHIPPED = ("adult",)


def read_source(
    data: str, schema: str | None = None, name: str | None = None, table: str | None = None
) -> Source:
    """Return the source that `data` names, with the schema given or found beside it.

    >>> read_source("adult").name
    'adult'
    """
    from dovetail.release import Schema

    if schema is not None and not Path(schema).exists():
        raise DataError(f"There is no schema {schema}. Draft one: dovetail schema draft {data}")
    source = bare_source(data, name, table)
    found = Path(schema) if schema is not None else beside(data)
    return replace(source, schema=Schema.read(found)) if found.is_file() else source


def bare_source(data: str, name: str | None = None, table: str | None = None) -> Source:
    """Return the source that `data` names; a file comes before data that ship under its name."""
    from dovetail.release import Source
    from dovetail.release.source import is_address

    if shipped(data):
        from dovetail import datasets

        return Source.of(datasets.adult(), name=name)
    if not is_address(data) and not Path(data).exists():
        near = [name for name in (f"{data}.csv", f"{data}.parquet") if Path(name).exists()]
        near += [name for name in SHIPPED if name == data.lower()]
        if near:
            raise DataError(f"There is no file {data}. Did you mean {near[0]}?")
        raise DataError(
            f"There is no file {data}. Give a CSV, Parquet or Arrow file, a DuckDB database, or the name of "
            f"data that ship with Dovetail: {', '.join(SHIPPED)}."
        )
    return Source.of(data, name=name, table=table)


def shipped(data: str) -> bool:
    """Tell whether the word names data that ship with the package."""
    return data in SHIPPED and not Path(data).exists()


def beside(data: str) -> Path:
    """Return where the schema of a file is looked for when nobody says.

    >>> beside("people.csv").name
    'people.toml'
    """
    return Path(data).with_suffix(".toml")


def ledger_of(source: Source) -> Path:
    """Return the file that keeps the budget of a source when nobody names another."""
    from dovetail.ledger import default_path

    return default_path(kept_under(source))


def kept_under(source: Source) -> str:
    """Return what a ledger knows the data by.

    >>> kept_under(read_source("adult"))
    'shipped://adult'
    """
    from dovetail.ledger import source_name

    return f"shipped://{source.name}" if source.place is None else source_name(*source.place)


def data_named(place: str) -> Source | None:
    """Return the data that a word names, None where it is the place of a ledger."""
    from dovetail.release.source import FORMATS

    named = shipped(place) or ("://" not in place and Path(place).suffix.lower() in FORMATS)
    return bare_source(place) if named else None


def ledger_place(place: str) -> str | Path:
    """Return the ledger that a word names: itself, or the one that keeps the budget of that data."""
    source = data_named(place)
    if source is not None:
        return ledger_of(source)
    return place if "://" in place else Path(place)


def writable(path: str, *, force: bool) -> Path:
    """Return the path if nothing is overwritten there."""
    found = Path(path)
    if found.exists() and not force:
        raise InvalidParameter("out", path, "a file that does not exist yet", "Add --force to replace it.")
    return found
