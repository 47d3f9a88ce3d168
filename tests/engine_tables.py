"""Put one Arrow table into any engine, so that all are asked about the same rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from dovetail.engines import Engine, Source
from dovetail.engines.aggregation import true_cells
from dovetail.query import Schema

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
