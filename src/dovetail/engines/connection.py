"""Open the engine that can read a source."""

from __future__ import annotations

from .engine import Engine
from .source import Source


def connect(source: Source) -> Engine:
    """Open the engine that can read `source`."""
    if source.format == "postgresql":
        from .postgres import Postgres

        return Postgres(source)
    if source.format == "spark":
        from .spark import Spark

        return Spark(source)
    from .duckdb import DuckDB

    return DuckDB(source)
