"""Put one Arrow table into any engine, so that all are asked about the same rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from dovetail.engines import Engine, Source, aggregation, connect
from dovetail.engines.aggregation import true_cells
from dovetail.query import Schema
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Cells

_POSTGRES_TYPES = {
    "int8": "SMALLINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float": "REAL",
    "double": "DOUBLE PRECISION",
    "string": "TEXT",
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
}

Loader = Callable[[pyarrow.Table], Source]
Opener = Callable[[pyarrow.Table], Engine]


_Key = TypeVar("_Key")


class SmallTables(Generic[_Key]):
    """Many small tables in one DuckDB, and an engine that sees one after another under the same name.

    So one statement serves them all; to build it takes several times as long as to run it.
    """

    def __init__(self, columns: str, tables: Mapping[_Key, Sequence[tuple[Any, ...]]]) -> None:
        self._database = duckdb.connect()
        self._names = {key: f"small{number}" for number, key in enumerate(tables)}
        for key, rows in tables.items():
            self._database.execute(f"CREATE TABLE {self._names[key]} ({columns})")
            if rows:
                places = ", ".join("?" * len(rows[0]))
                self._database.executemany(f"INSERT INTO {self._names[key]} VALUES ({places})", rows)
        self._show(next(iter(self._names)))
        self.engine = connect(Source.of(self._database, name="small", table="shown"))

    def _show(self, key: _Key) -> None:
        self._database.execute(f"CREATE OR REPLACE VIEW shown AS SELECT * FROM {self._names[key]}")

    def cells(self, question: CheckedQuery, secret: bytes = b"") -> dict[_Key, Cells]:
        """Return the true cells of every table."""
        found = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(aggregation, "_statement", cache(aggregation._statement))
            for key in self._names:
                self._show(key)
                found[key] = true_cells(self.engine, question, secret)
        return found


def into_duckdb(table: pyarrow.Table) -> Source:
    return Source.of(table, name="rows")


def into_postgres(server: str) -> Iterator[Loader]:
    """Yield a loader of tables into a schema of its own."""
    import psycopg

    made = 0
    home = f"conformance_{os.urandom(6).hex()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {home}")

        def load(table: pyarrow.Table) -> Source:
            nonlocal made
            made += 1
            name = f"{home}.Rows {made}"
            spelled = f'{home}."Rows {made}"'
            columns = ", ".join(f"{_quoted(f.name)} {_postgres_type(f.type)}" for f in table.schema)
            connection.execute(f"CREATE TABLE {spelled} ({columns})")
            with connection.cursor() as cursor, cursor.copy(f"COPY {spelled} FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
            return Source.of(server, name="rows", table=name)

        yield load
        connection.execute(f"DROP SCHEMA {home} CASCADE")


def into_spark(spark: Any, folder: Path) -> Loader:
    """Return a loader through Parquet, which tells times with a zone from those without."""

    def load(table: pyarrow.Table) -> Source:
        path = folder / f"{os.urandom(6).hex()}.parquet"
        pyarrow.parquet.write_table(table, path)
        return Source.of(spark.read.parquet(str(path)), name="rows")

    return load


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _postgres_type(type_: Any) -> str:
    if str(type_).startswith("decimal"):
        return f"NUMERIC({type_.precision}, {type_.scale})"
    return _POSTGRES_TYPES[str(type_)]


def typed(**columns: tuple[Any, list[Any]]) -> pyarrow.Table:
    """Return a table of columns with their types."""
    return pyarrow.table({name: pyarrow.array(values, type_) for name, (type_, values) in columns.items()})


def cells(engine: Engine, query: Any, schema: Schema | None = None) -> list[Any]:
    """Return the true aggregates; a cell of one number as that number."""
    question = query.checked((schema or Schema()).table(engine.columns()))
    return [tuple(map(int, cell)) if len(cell) > 1 else cell[0] for cell in true_cells(engine, question)]
