"""Read a table of a PostgreSQL database; the server aggregates, in a read-only transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from fractions import Fraction
from itertools import islice
from typing import Any

from sqlglot import exp

from dovetail.errors import DataError, InvalidParameter
from dovetail.postgresql import REPLY_LIMIT, failure_of, limit_replies, wait_longer
from dovetail.query.field import Field
from dovetail.query.schema import Stored

from .engine import BATCH, Batches, ColumnBatches, in_columns
from .failure import missing_extra, unreadable
from .identity import server_name
from .postgres_values import TYPES, date_part, date_start, spelled_value
from .source import Source
from .sql_fragments import Templates, placed, typed_constant
from .table_names import table_parts

# The server's own settings must not change what a statement means.
_SETTINGS = (
    "SET LOCAL TIME ZONE 'UTC'; SET LOCAL datestyle = 'ISO, YMD'; "
    "SET LOCAL standard_conforming_strings = on; SET LOCAL transform_null_equals = off; "
    "SET LOCAL extra_float_digits = 1; SET LOCAL role TO DEFAULT; "
    "SET LOCAL statement_timeout = {limit}; SET LOCAL idle_in_transaction_session_timeout = {limit}"
)
# Whoever may create a function in a schema of the search path could put it in the place of a built-in one.
# A view or a policy may need its owner's path, though not one that another client of a pooler has set.
_NO_OTHERS = "; SET LOCAL search_path = pg_catalog"
_AS_CONNECTED = "; SET LOCAL search_path TO DEFAULT; SET LOCAL row_security TO DEFAULT"
_PLAIN = (
    "SELECT relkind IN ('r', 'p', 'm') AND NOT relrowsecurity FROM pg_catalog.pg_class WHERE oid = %s::oid"
)
# Milliseconds that a statement may take, unless the server, the role or the address says how many. Not what
# another client of a pooler has set.
_LONGEST = 600_000
_LIMIT = "SELECT reset_val::bigint FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'"
# Whether a row is to blame or the time it took, the text is the same.
_ADVICE = (
    "Check that its table is whole and that the server answers within its statement_timeout (10 minutes "
    "unless it is set)."
)
# Parts of which the server tells without looking at a row.
_TOLD = ("grant", "table")
# Other servers that speak as PostgreSQL does have no such function, and its owner can withdraw it.
_NUMBERED = (
    "SELECT coalesce(has_function_privilege(to_regprocedure('pg_catalog.pg_control_system()'), 'execute'), "
    "false)"
)
_NUMBER = "SELECT system_identifier, current_database()::text FROM pg_catalog.pg_control_system()"
# Domains are read as the type below them.
_COLUMNS = """
WITH RECURSIVE below AS (
    SELECT attname, attnum, atttypid AS type FROM pg_catalog.pg_attribute
    WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
  UNION ALL
    SELECT attname, attnum, typbasetype FROM below JOIN pg_catalog.pg_type ON oid = type WHERE typtype = 'd'
)
SELECT attname::text, CASE WHEN typtype = 'e' THEN 'enum' ELSE typname::text END
FROM below JOIN pg_catalog.pg_type ON oid = type WHERE typtype <> 'd' ORDER BY attnum
"""
_templates = Templates("postgres")
_ELAPSED = {
    "date": "CAST(x - CAST('1970-01-01' AS DATE) AS BIGINT)",
    "timestamp": "CAST(EXTRACT(EPOCH FROM x) * 1000000 AS BIGINT)",
}


class Postgres:
    """One table, view or foreign table of a PostgreSQL database."""

    dialect = "postgres"
    constant = staticmethod(typed_constant)
    date_part, date_start = staticmethod(date_part), staticmethod(date_start)

    def __init__(self, source: Source) -> None:
        self._name = source.name
        self.statements: dict[object, Any] = {}
        self._table, self._asked_for = _table_of(source), str(source.table)
        self.names: tuple[str, ...] = ()
        self._engine = _opened(str(source.data))
        self._limit, self._others = _LONGEST, True
        try:
            self._types = self._described()
        except DataError:
            self.close()
            raise
        except Exception as error:  # noqa: BLE001
            self.close()
            failure = failure_of(error)
            raise unreadable(self._name, error, _ADVICE if failure is None else failure.words) from None
        self._columns = {
            name: TYPES[type_][1] if type_ in TYPES else Stored(None, usable=False)
            for name, type_ in self._types.items()
        }

    def _described(self) -> dict[str, str]:
        with self._engine.connect() as connection:
            connection.exec_driver_sql("SET LOCAL role TO DEFAULT")
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
            if encoding != "UTF8":
                raise DataError(
                    f"The database of {self._name!r} keeps its texts in {encoding}, so they cannot be "
                    "compared character by character.",
                    "Use a database in UTF8.",
                )
            spelled = self._table.sql("postgres")
            number = connection.exec_driver_sql("SELECT to_regclass(%s)::oid::bigint", (spelled,)).scalar()
            if number is None:
                raise DataError(f"The database has no table {spelled} that this user can see.")
            granted = "SELECT has_any_column_privilege(%s::oid, 'SELECT')"
            if not connection.exec_driver_sql(granted, (number,)).scalar():
                raise DataError(
                    f"This user may not read the table {spelled}.",
                    "Ask the database administrator to GRANT SELECT on it.",
                )
            self.names = self._server_names(connection)
            self._limit = int(connection.exec_driver_sql(_LIMIT).scalar_one()) or _LONGEST
            self._others = not connection.exec_driver_sql(_PLAIN, (number,)).scalar()
            return {str(row[0]): str(row[1]) for row in connection.exec_driver_sql(_COLUMNS, (number,))}

    def _server_names(self, connection: Any) -> tuple[str, ...]:
        """Return what the server itself says about which table this is."""
        if not connection.exec_driver_sql(_NUMBERED).scalar():
            return ()
        system, database = connection.exec_driver_sql(_NUMBER).one()
        return (server_name(system, database, self._asked_for),)

    @property
    def relation(self) -> exp.Expression:
        return self._table.copy()

    def columns(self) -> Mapping[str, Stored]:
        return self._columns

    def value(self, field: Field) -> Any:
        column = exp.column(field.name, quoted=True)
        return spelled_value(column, self._types[field.name], field.kind, field.zone)

    def doubles(self, field: Field) -> Any | None:
        plain = field.kind == "number" and self._types[field.name] in ("float4", "float8")
        return exp.column(field.name, quoted=True) if plain else None

    def texts(self, field: Field) -> Any | None:
        return None

    def scaled(self, number: Any, step: Fraction) -> Any:
        # PostgreSQL fails where a product is too large for a double or a quotient too small.
        if step.denominator != 1:
            far = min(Fraction(2**60) * step, Fraction(10**300) / step.denominator)
            low, high = (self.constant("number", end) for end in (-far, far))
            # Not with LEAST and GREATEST, which skip NULL.
            near = (
                exp.case()
                .when(exp.LT(this=number.copy(), expression=low.copy()), low, copy=False)
                .when(exp.GT(this=number.copy(), expression=high.copy()), high, copy=False)
                .else_(number, copy=False)
            )
            number = exp.Mul(this=near, expression=self.constant("number", step.denominator))
        if step.numerator != 1:
            half = self.constant("number", Fraction(1, 2))
            tiny = exp.LT(this=exp.Abs(this=number), expression=half)
            # Less than half of one unit rounds to no step at all, whatever it is divided by.
            number = exp.case().when(tiny, self.constant("number", 0), copy=False).else_(number.copy())
            number = exp.Div(
                this=number, expression=self.constant("number", step.numerator), typed=False, safe=False
            )
        return number

    def whole(self, number: Any) -> exp.Expression:
        return exp.cast(number, "BIGINT")

    def elapsed(self, kind: str, moment: Any) -> Any:
        return _templates.filled(_ELAPSED[kind], moment)

    def wide_sum(self, integer: exp.Expression) -> exp.Expression:
        # PostgreSQL adds 64-bit integers as numeric.
        return exp.Sum(this=exp.cast(integer, "BIGINT"))

    def hashed(self, text: Any) -> Any:
        return _templates.filled("CAST(CAST('x' || LEFT(MD5(x), 8) AS BIT(32)) AS BIGINT)", text)

    def fetch(self, statement: exp.Select) -> list[tuple[Any, ...]]:
        return [row for batch in self.batches(statement) for row in batch]

    def batches(self, statement: exp.Select) -> Batches:
        with self._asked(statement) as rows:
            while batch := list(islice(rows, BATCH)):
                yield batch

    def column_batches(self, statement: exp.Select) -> ColumnBatches:
        return in_columns(self.batches(statement))

    @contextmanager
    def _asked(self, statement: exp.Select) -> Iterator[Iterator[tuple[Any, ...]]]:
        """Run a statement under the limits; the server's own ends first, ours where the server is silent."""
        text = placed(statement, self.relation).sql("postgres", copy=False)
        try:
            with (
                self._engine.connect() as connection,
                wait_longer(connection, self._limit / 1000 + REPLY_LIMIT),
            ):
                settings = _SETTINGS + (_AS_CONNECTED if self._others else _NO_OTHERS)
                connection.exec_driver_sql(settings.format(limit=self._limit))
                # Not through a cursor of the server's: for one of those it uses no parallel workers.
                cursor = connection.connection.driver_connection.cursor()
                with closing(cursor.stream(text, size=_rows_at_once())) as rows:
                    yield rows
        except Exception as error:  # noqa: BLE001
            raise unreadable(self._name, error, self._advice(text)) from None

    def _advice(self, text: str) -> str:
        """Say which part fails where that can be told without a row; a plan of the statement reads none."""
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql(f"EXPLAIN {text}")
        except Exception as error:  # noqa: BLE001
            failure = failure_of(error)
            reached = getattr(getattr(error, "orig", error), "sqlstate", None) is not None
            if failure is not None and (not reached or failure.part in _TOLD):
                return failure.words
        return _ADVICE

    def close(self) -> None:
        self._engine.dispose()


def _opened(address: str) -> Any:
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        # The address may hold a password: it is not shown.
        raise InvalidParameter("source", "…", "postgresql://USER@HOST/DATABASE") from None
    try:
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"), pool_pre_ping=True, hide_parameters=True
        )
    except ImportError:
        raise missing_extra("PostgreSQL", "postgres") from None
    limit_replies(engine)
    # Without parameters, the driver leaves a percent sign in a text alone.
    return engine.execution_options(postgresql_readonly=True, no_parameters=True)


def _rows_at_once() -> int:
    """Return how many rows the driver takes from the server at once; libpq has more than one since 17."""
    import psycopg

    return BATCH if psycopg.capabilities.has_stream_chunked() else 1


def _table_of(source: Source) -> exp.Expression:
    """Return the table with every part quoted, so that letters keep their case."""
    if not source.table:
        raise InvalidParameter("table", source.table, "the name of a table in the database")
    named = table_parts(source.table, "postgresql")
    if not 1 <= len(named) <= 2 or not all(named):
        raise InvalidParameter("table", source.table, "a table, or a schema and a table: clinic.visits")
    # The search path of a user or an address would make it another table.
    schema = exp.to_identifier(named[0] if len(named) == 2 else "public", quoted=True)
    return exp.Table(this=exp.to_identifier(named[-1], quoted=True), db=schema)
