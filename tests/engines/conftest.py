"""The engines that the conformance suite runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pyarrow
import pytest

from dovetail.engines import Engine, connect
from engine_tables import Loader, Opener, into_duckdb, into_postgres, into_spark

ENGINES = ["duckdb", "postgresql", pytest.param("spark", marks=pytest.mark.spark)]


@pytest.fixture(scope="module")
def opened(load: Loader) -> Iterator[Opener]:
    """Return what puts an Arrow table into the engine and opens it there."""
    with ExitStack() as stack:

        def open_table(table: pyarrow.Table) -> Engine:
            engine = connect(load(table))
            stack.callback(engine.close)
            return engine

        yield open_table


@pytest.fixture(scope="module", params=ENGINES)
def load(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loader]:
    """Return what puts an Arrow table into the engine and names it as a source."""
    if request.param == "duckdb":
        yield into_duckdb
    elif request.param == "postgresql":
        yield from into_postgres(str(request.getfixturevalue("postgres_server")))
    else:
        yield into_spark(request.getfixturevalue("spark"), tmp_path_factory.mktemp("spark"))
