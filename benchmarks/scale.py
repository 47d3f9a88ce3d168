"""Measure the private 50-cell histogram against the bare aggregation in each engine, at growing size.

    python -m benchmarks.scale [--engine duckdb postgresql spark] [--rows 10000000 100000000] [--rounds 5]

Every engine reads the same rows: DuckDB and Spark from one Parquet file, PostgreSQL from a table of a server
that is started for the purpose. Both sides take turns, and a ratio compares times of the same round. The
private side is a whole answer: checked, priced, reserved in a durable ledger, aggregated, noised and stored.
Target: at most 1.3 times the bare aggregation. Spark needs its own environment (`make test-spark` makes it).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

import dovetail as dv

from .release import KEYS, make_file, peak_memory
from .report import timed

TARGET = 1.3
BARE = "SELECT key, COUNT(*) FROM {table} GROUP BY key"
SCHEMA = dv.Schema([dv.Column("key", "text", values=KEYS)])


@contextmanager
def through_duckdb(path: Path) -> Iterator[tuple[Any, str | None, Callable[[], object]]]:
    """Yield the source, its table and the bare aggregation."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        yield path, None, lambda: connection.execute(BARE.format(table=f"'{path}'")).fetchall()


@contextmanager
def through_postgresql(path: Path) -> Iterator[tuple[Any, str | None, Callable[[], object]]]:
    """Fill a table of a new server from the file."""
    import pgserver
    import psycopg

    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE rows (key TEXT, amount DOUBLE PRECISION, person BIGINT)")
            _copied(path, connection)
            connection.execute("VACUUM ANALYZE rows")
            yield address, "rows", lambda: connection.execute(BARE.format(table="rows")).fetchall()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _copied(path: Path, connection: Any) -> None:
    csv = path.with_suffix(".csv")
    duckdb.sql(f"COPY (SELECT * FROM '{path}') TO '{csv}' (HEADER false)")
    fill = "COPY rows FROM STDIN (FORMAT csv)"
    with csv.open("rb") as file, connection.cursor() as cursor, cursor.copy(fill) as copy:
        while block := file.read(1 << 20):
            copy.write(block)
    csv.unlink()


@contextmanager
def through_spark(path: Path) -> Iterator[tuple[Any, str | None, Callable[[], object]]]:
    """Read the file with Spark on this machine's cores."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        frame = spark.read.parquet(str(path))
        frame.createOrReplaceTempView("rows")
        yield spark, "rows", lambda: spark.sql(BARE.format(table="rows")).collect()
    finally:
        spark.stop()


ENGINES = {"duckdb": through_duckdb, "postgresql": through_postgresql, "spark": through_spark}


def histogram(engine: str, path: Path, rows: int, rounds: int) -> bool:
    """Print one line; return whether the target was met."""
    with ENGINES[engine](path) as (source, table, bare):
        ledger = path.with_name(f"{engine}{rows}.ledger")
        with dv.Session(
            source, table=table, name="rows", schema=SCHEMA, budget=dv.Budget.pure(10**6), ledger=ledger
        ) as session:
            before = peak_memory()
            times = timed(
                {
                    "bare": bare,
                    "private": lambda: session.histogram("key", noise=dv.Geometric("0.1"), fresh=True),
                },
                rounds,
            )
            grown = peak_memory() - before
    ratio = times.ratio("private", "bare")
    verdict = "ok" if ratio <= TARGET else "MISSED"
    print(
        f"{engine:<11} {rows:>13,} {times['bare']:>9.3f} s {times['private']:>9.3f} s {ratio:>7.2f}x "
        f"{TARGET:>6}x {verdict}  (this process grew by {grown} MB)",
        flush=True,
    )
    return ratio <= TARGET


def main() -> int:
    """Run the chosen engines and sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--engine", nargs="*", choices=ENGINES, default=["duckdb", "postgresql"])
    parser.add_argument("--rows", type=int, nargs="*", default=[10**7, 10**8])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'engine':<11} {'rows':>13} {'bare':>11} {'private':>11} {'ratio':>8} {'at most':>7}")
    met = True
    with tempfile.TemporaryDirectory() as name:
        for rows in options.rows:
            path = Path(name) / f"rows{rows}.parquet"
            make_file(path, rows)
            for engine in options.engine:
                met &= histogram(engine, path, rows, options.rounds)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
