"""Find what a word on the command line names: data that ship, a file, its schema, its ledger."""

from __future__ import annotations

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

    A file of one of these names comes before the data that ship.

    >>> read_source("adult").name
    'adult'
    """
    from dovetail.release import Schema, Source

    if shipped(data):
        from dovetail import datasets

        return Source.of(datasets.adult(), name=name, schema=Schema.read(schema) if schema else None)
    if not Path(data).exists():
        raise DataError(
            f"There is no file {data}. Give a CSV, Parquet or Arrow file, a DuckDB database, or the name of "
            f"data that ship with Dovetail: {', '.join(SHIPPED)}."
        )
    found = Path(schema) if schema else beside(data)
    if schema and not Path(schema).exists():
        raise DataError(f"There is no schema {schema}. Draft one: dovetail schema draft {data}")
    return Source.of(data, name=name, schema=Schema.read(found) if found.exists() else None, table=table)


def shipped(data: str) -> bool:
    """Tell whether the word names data that ship with the package."""
    return data in SHIPPED and not Path(data).exists()


def beside(data: str) -> Path:
    """Return where the schema of a file is looked for when nobody says.

    >>> beside("people.csv").name
    'people.toml'
    """
    return Path(data).with_suffix(".toml")


def ledger_place(place: str) -> str | Path:
    """Return the ledger that a word names: itself, or the one that keeps the budget of that data."""
    from dovetail.ledger import default_path
    from dovetail.release.source import FORMATS

    if "://" in place:
        return place
    if shipped(place):
        return default_path(f"shipped://{place}")
    if Path(place).suffix.lower() in FORMATS:
        return default_path(place)
    return Path(place)


def lasting_name(place: str) -> tuple[str, str] | None:
    """Return the name and source that a session would record for this data; None for a ledger's own place."""
    from dovetail.ledger import source_name
    from dovetail.release.source import FORMATS

    if shipped(place):
        return place, f"shipped://{place}"
    path = Path(place)
    if "://" in place or path.suffix.lower() not in FORMATS:
        return None
    if not path.exists():
        raise DataError(f"There is no file {place}. A budget is created for data that exist.")
    return path.stem, source_name(path)


def writable(path: str, *, force: bool) -> Path:
    """Return the path if nothing is overwritten there."""
    found = Path(path)
    if found.exists() and not force:
        raise InvalidParameter("out", path, "a file that does not exist yet", "Add --force to replace it.")
    return found
