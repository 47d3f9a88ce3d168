"""Find what a word on the command line names: data that ship, a file, a server's table, a ledger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from dovetail.errors import DataError, InvalidParameter

if TYPE_CHECKING:
    from dovetail.engines import Source


SHIPPED = ("adult",)


def read_source(
    data: str, schema: str | None = None, name: str | None = None, table: str | None = None
) -> Source:
    """Return the source that `data` names, with the schema given or found beside it.

    >>> read_source("adult").name
    'adult'
    """
    from dovetail.query import Schema

    source = bare_source(data, name, table)
    if schema is None:
        return source.with_schema()
    if not Path(schema).exists():
        raise DataError(f"There is no schema {schema}.", f"Draft one: dovetail schema draft {named(source)}")
    return replace(source, schema=Schema.read(schema))


def bare_source(data: str, name: str | None = None, table: str | None = None) -> Source:
    """Return the source that `data` names; a file comes before data that ship under its name."""
    from dovetail.engines import Source
    from dovetail.engines.source import is_address

    if shipped(data):
        from dovetail import datasets

        return Source.of(datasets.adult(), name=name)
    if "://" in data and not is_address(data):
        # It may hold a password: it is not shown.
        scheme = data.partition("://")[0]
        raise DataError(
            f"{scheme}:// addresses cannot be read.", "Give postgresql://USER@HOST/DATABASE, or a file."
        )
    if not is_address(data) and not _exists(data):
        near = [name for name in (f"{data}.csv", f"{data}.parquet") if _exists(name)]
        near += [name for name in SHIPPED if name == data.lower()]
        if near:
            raise DataError(f"There is no file {data}.", f"Did you mean {near[0]}?")
        raise DataError(
            f"There is no file {data}.",
            "Give a CSV, Parquet or Arrow file, a DuckDB database, the address of a PostgreSQL one, "
            f"or the name of data that ship with Dovetail: {', '.join(SHIPPED)}.",
        )
    return Source.of(data, name=name, table=table)


def named(source: Source) -> str:
    """Return the words that name a source on a command line, without a password.

    >>> named(read_source("adult"))
    'adult'
    """
    from dovetail.engines.source import without_password

    if source.shipped:
        return source.name
    place = quote(without_password(str(source.data)))
    return f"{place} --table {quote(source.table)}" if source.table else place


def schema_of(source: Source) -> Path:
    """Return where the schema of a source is written when nobody says; a server's, in this folder.

    >>> schema_of(read_source("adult")).name
    'adult.toml'
    """
    return source.schema_place or Path(f"{source.name}.toml")


def shipped(data: str) -> bool:
    """Tell whether the word names data that ship with the package."""
    return data in SHIPPED and not Path(data).exists()


def ledger_of(source: Source) -> Path:
    """Return the file that keeps the budget of a source when nobody names another."""
    from dovetail.ledger.location import ledger_path

    return ledger_path(*source.identity, name=source.name)


def data_named(place: str, table: str | None = None) -> Source | None:
    """Return the data that a word names, None where it is the place of a ledger."""
    from dovetail.engines.source import FORMATS

    # A ledger is a file, so a folder is data.
    file = "://" not in place and (Path(place).suffix.lower() in FORMATS or Path(place).is_dir())
    return bare_source(place, table=table) if table or file or shipped(place) else None


def ledger_place(place: str, table: str | None = None) -> str | Path:
    """Return the ledger that a word names: itself, or the one that keeps the budget of that data."""
    source = data_named(place, table)
    if source is not None:
        return ledger_of(source)
    return place if "://" in place else Path(place)


def writable(path: str | Path, *, force: bool) -> Path:
    """Return the path if nothing is overwritten there."""
    target = Path(path)
    if target.exists() and not force:
        raise InvalidParameter(
            "out", str(path), "a file that does not exist yet", "Add --force to replace it."
        )
    return target


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a name too long, or one with NUL in it
        return False
