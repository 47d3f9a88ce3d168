"""Open the engine that can read a source."""

from __future__ import annotations

from dovetail.errors import DataError, InvalidParameter

from .engine import Engine
from .source import Source

# An instant in a zone, as each dialect spells it.
_IN_ZONE = "TIMEZONE('{zone}', CAST('2024-01-01 00:00:00+00' AS TIMESTAMPTZ))"
_IN_ZONE_OF_SPARK = "CONVERT_TIMEZONE('UTC', '{zone}', CAST('2024-01-01 00:00:00' AS TIMESTAMP_NTZ))"


def connect(source: Source) -> Engine:
    """Open the engine that can read `source`, and see that it knows the zone of its schema."""
    engine = _opened(source)
    zone = None if source.schema is None else source.schema.zone
    if zone is not None:
        try:
            _check_zone(engine, zone)
        except BaseException:
            engine.close()
            raise
    return engine


def _opened(source: Source) -> Engine:
    if source.format == "postgresql":
        from .postgres import Postgres

        return Postgres(source)
    if source.format == "spark":
        from .spark import Spark

        return Spark(source)
    from .duckdb import DuckDB

    return DuckDB(source)


def _check_zone(engine: Engine, zone: str) -> None:
    """Refuse a zone that an engine does not know before a question is charged; no row is read."""
    from sqlglot import exp, parse_one

    spelled = (_IN_ZONE_OF_SPARK if engine.dialect == "spark" else _IN_ZONE).format(zone=zone)
    try:
        one = exp.select("1").subquery("one")
        engine.fetch(exp.select(parse_one(spelled, dialect=engine.dialect)).from_(one))
    except DataError:
        raise InvalidParameter("zone", zone, "a time zone that the engine of these data knows") from None
