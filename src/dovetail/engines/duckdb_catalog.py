"""Find a table of a DuckDB database by its name; whatever the catalog does not hold is refused."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from dovetail.errors import DataError, InvalidParameter, shown

from .table_names import as_compared, table_parts

_TABLES = """
SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal
UNION ALL
SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal
"""


def kept_at(data: Any, table: str | None) -> tuple[str, str] | None:
    """Return the file and the table there that a DuckDB connection or an Ibis table reads; None for no file.

    A view and an expression of Ibis may read anything, so only tables of a file are known.
    """
    if data.__class__.__name__ != "DuckDBPyConnection":
        operation: Any = data.op() if hasattr(data, "op") else None
        if type(operation).__name__ != "DatabaseTable" or data.get_backend().name != "duckdb":
            return None
        named = (operation.namespace.catalog, operation.namespace.database, operation.name)
        data = data.get_backend().con
        table = ".".join('"' + part.replace('"', '""') + '"' for part in named if part)
    connection = data.cursor()
    entry = catalogued(connection, table)
    asked = "SELECT path FROM duckdb_databases() WHERE database_name = ?"
    path = connection.execute(asked, [entry.catalog]).fetchone()[0]
    inner = exp.table_(entry.name, entry.db, quoted=True).sql("duckdb")
    return None if path is None else (path, inner)


def catalogued(connection: Any, table: str | None) -> exp.Table:
    """Return the table with its whole name.

    DuckDB itself would look further, for a file or a variable of that name.
    """
    if not table:
        raise InvalidParameter("table", table, "the name of a table in the database")
    wanted = table_parts(table, "duckdb")
    rows = connection.execute(_TABLES).fetchall()
    matches = [
        row for row in rows if tuple(as_compared(part, "duckdb") for part in row)[-len(wanted) :] == wanted
    ]
    here = connection.execute("SELECT current_database(), current_schema()").fetchone()
    # As DuckDB does: what is temporary first, then the schema in use, then the database in use.
    for first in (("temp", "main"), here, here[:1], ()):
        near = [row for row in matches if row[: len(first)] == first]
        if len(near) == 1:
            return exp.table_(near[0][2], near[0][1], near[0][0], quoted=True)
    if matches:
        raise DataError(f"The database has several tables {shown(table)}.", f"Name the schema: main.{table}.")
    raise DataError(f"The database has no table {shown(table)}.")


def is_stored(connection: Any, table: exp.Table) -> bool:
    """Tell whether rows are in the database itself; a view may read them from anywhere."""
    asked = "SELECT TRUE FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = (?, ?, ?)"
    return connection.execute(asked, [table.catalog, table.db, table.name]).fetchone() is not None
