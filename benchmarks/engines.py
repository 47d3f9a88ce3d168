"""The engines that benchmarks run in: each is filled from Parquet files and also runs SQL by hand."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.csv
import pyarrow.dataset

from .postgresql_server import postgresql_server


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows are: the source and table of a session, and how SQL names the table and is run."""

    source: Any
    table: str | None
    name: str
    run: Callable[[str], object]
    # How SQL by hand orders by the key as fast as the engine can.
    ordered: str = "key"
    # The process that the engine runs in with its children, where it is not this one.
    server: int | None = None

    def processor_seconds(self) -> float:
        """Return the time that processors have worked for this process and for the engine."""
        return time.process_time() + (0.0 if self.server is None else _worked(self.server))


def children(process: int) -> set[int]:
    """Return the processes that a process has started."""
    found: set[int] = set()
    for each in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found |= set(map(int, each.read_text().split()))
    return found


def _worked(process: int) -> float:
    """Return the seconds of a process and of all that it has started, also of what has ended."""
    seconds = sum(map(_worked, children(process)))
    with suppress(OSError):
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
        seconds += sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return seconds


@contextmanager
def through_duckdb(path: Path) -> Iterator[Place]:
    """Read the files where they are."""
    with _bare_duckdb() as (connection, run):
        connection.execute(f"CREATE VIEW rows AS FROM read_parquet('{_every_file(path)}')")
        yield Place(path, None, "rows", run)


@contextmanager
def through_duckdb_file(path: Path) -> Iterator[Place]:
    """Fill a table of a new DuckDB database from the files."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder, _bare_duckdb() as (connection, run):
        database = Path(folder) / "rows.duckdb"
        connection.execute(f"ATTACH '{database}' AS made")
        connection.execute(f"CREATE TABLE made.rows AS FROM read_parquet('{_every_file(path)}')")
        connection.execute(f"DETACH made; ATTACH '{database}' AS made (READ_ONLY)")
        yield Place(database, "rows", "made.rows", run)


@contextmanager
def _bare_duckdb() -> Iterator[tuple[Any, Callable[[str], object]]]:
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        yield connection, lambda text: connection.execute(text).fetchall()


def _every_file(path: Path) -> str:
    return f"{path}/*.parquet" if path.is_dir() else str(path)


@contextmanager
def through_postgresql(path: Path) -> Iterator[Place]:
    """Fill a table of a new server from the files."""
    import psycopg

    with (
        postgresql_server() as (address, folder),
        psycopg.connect(address, autocommit=True) as connection,
    ):
        connection.execute(
            "CREATE UNLOGGED TABLE rows "
            "(key TEXT, amount DOUBLE PRECISION, person BIGINT, age SMALLINT, sex TEXT)"
        )
        _copied(path, connection)
        connection.execute("VACUUM ANALYZE rows")
        yield Place(
            address,
            "rows",
            "rows",
            lambda text: connection.execute(text).fetchall(),
            ordered='key COLLATE "C"',
            server=int((folder / "postmaster.pid").read_text().split()[0]),
        )


def _copied(path: Path, connection: Any) -> None:
    """Copy the rows in blocks, so that neither a file of text nor all rows in memory are needed."""
    with connection.cursor() as cursor, cursor.copy("COPY rows FROM STDIN (FORMAT csv)") as copy:
        for batch in pyarrow.dataset.dataset(path).to_batches(batch_size=1 << 17):
            text = BytesIO()
            pyarrow.csv.write_csv(batch, text, pyarrow.csv.WriteOptions(include_header=False))
            copy.write(text.getvalue())


@contextmanager
def through_spark(path: Path, master: str = "local[*]") -> Iterator[Place]:
    """Read the files with Spark on this machine's cores."""
    import pyspark
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.driver.memory", "2g")
        .config("spark.executor.memory", CLUSTER_MEMORY)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    # Where executors of a cluster on this machine write.
    work = Path(pyspark.__file__).parent / "work" / spark.sparkContext.applicationId
    try:
        spark.read.parquet(str(path)).createOrReplaceTempView("rows")
        java = spark.sparkContext._gateway.proc.pid
        yield Place(spark, "rows", "rows", lambda text: spark.sql(text).collect(), server=java)
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)


# Two executors with a core each, in processes of their own: shuffles go from one to the other.
CLUSTER_MEMORY = "1024m"
through_cluster = partial(through_spark, master="local-cluster[2,1,1024]")

ENGINES: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {
    "duckdb": through_duckdb,
    "duckdb-file": through_duckdb_file,
    "postgresql": through_postgresql,
    "spark": through_spark,
    "spark-cluster": through_cluster,
}
