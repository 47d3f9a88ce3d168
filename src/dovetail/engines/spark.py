"""Read a table through Spark: a cluster aggregates, only the cells reach this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from typing import Any

from sqlglot import exp

from dovetail.errors import DataError, InvalidParameter, shown
from dovetail.query.field import Field
from dovetail.query.schema import Stored

from .column_names import check_names
from .engine import BATCH, Batches, ColumnBatches, in_columns
from .failure import missing_extra, unreadable
from .interrupts import interruptible
from .source import Source
from .spark_parquet import check_times, parquet_frame
from .spark_values import MILLISECONDS, date_part, date_start, family_of, spelled_value
from .sql_fragments import Templates, placed, scaled, typed_constant

# Settings of the user's session must not change what a statement means, nor make it fail on a row.
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.groupByOrdinal": "true",
    # ${...} in a text would be replaced by a setting or an environment variable.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    # Old dates would be an error, depending on the rows.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    # What the parser learns from texts, about 9 kB a state, is never let go of by itself: analysts could fill
    # the driver's memory with different questions. Spark 4.0 has no such limit.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "10000",
}
_templates = Templates("spark")
_ELAPSED = {
    "date": "CAST(unix_date(x) AS BIGINT)",
    "timestamp": "unix_micros(CAST(x AS TIMESTAMP))",
}
_PATTERN = frozenset("*?[]{}\\")


class Spark:
    """One table of Spark's, read in a session of its own beside the user's."""

    dialect = "spark"
    constant = staticmethod(typed_constant)
    date_part, date_start = staticmethod(date_part), staticmethod(date_start)

    def __init__(self, source: Source) -> None:
        self._name = source.name
        self.statements: dict[object, Any] = {}
        # A name that no catalog holds; it is visible to every session of this application.
        self._view = f"dovetail_{os.urandom(8).hex()}"
        try:
            frame, narrow = _frame_of(source)
            check_names(frame.columns, repr(self._name))
            frame.createGlobalTempView(self._view)
            self._session = _session_beside(frame.sparkSession)
            self._catalog = self._session.conf.get("spark.sql.globalTempDatabase", "global_temp")
            fields = frame.schema.fields
        except (DataError, InvalidParameter):
            raise
        except Exception as error:  # noqa: BLE001
            raise unreadable(self._name, error) from None
        types = {field.name: family_of(field) for field in fields}
        self._families = types | {name: MILLISECONDS[zoned] for name, zoned in narrow.items()}
        self._columns = {name: family.stored for name, family in self._families.items()}

    @property
    def relation(self) -> exp.Expression:
        return exp.Table(
            this=exp.to_identifier(self._view, quoted=True), db=exp.to_identifier(self._catalog, quoted=True)
        )

    def columns(self) -> Mapping[str, Stored]:
        return self._columns

    def value(self, field: Field) -> Any:
        column = exp.column(field.name, quoted=True)
        return spelled_value(column, self._families[field.name], field.kind, field.zone)

    def doubles(self, field: Field) -> Any | None:
        # Spark would skip blocks of a Parquet file by their statistics, to which -0.0 is below 0.
        return None

    def texts(self, field: Field) -> Any | None:
        plain = field.kind == "text" and self._families[field.name].name == "text"
        return exp.column(field.name, quoted=True) if plain else None

    def scaled(self, number: Any, step: Fraction) -> Any:
        return scaled(self, number, step)

    def whole(self, number: Any) -> Any:
        return exp.TryCast(this=number, to=exp.DataType.build("BIGINT"))

    def elapsed(self, kind: str, moment: Any) -> Any:
        return _templates.filled(_ELAPSED[kind], moment)

    def wide_sum(self, integer: Any) -> Any:
        # A sum of 64-bit integers stays one and fails when it is full; of 28 digits it has 38.
        return exp.Sum(this=exp.cast(integer, "DECIMAL(28, 0)"))

    def hashed(self, text: Any) -> Any:
        return _templates.filled("CAST(CONV(LEFT(MD5(x), 8), 16, 10) AS BIGINT)", text)

    def fetch(self, statement: exp.Select) -> list[tuple[Any, ...]]:
        text = placed(statement, self.relation).sql("spark", copy=False)
        try:
            return [tuple(row) for row in self._stoppable(lambda: self._session.sql(text).collect())]
        except Exception as error:  # noqa: BLE001
            raise unreadable(self._name, error) from None

    def batches(self, statement: exp.Select) -> Batches:
        text = placed(statement, self.relation).sql("spark", copy=False)
        try:
            rows = map(tuple, self._session.sql(text).toLocalIterator())
            while batch := self._stoppable(lambda: list(islice(rows, BATCH))):
                yield batch
        except Exception as error:  # noqa: BLE001
            raise unreadable(self._name, error) from None

    def column_batches(self, statement: exp.Select) -> ColumnBatches:
        return in_columns(self.batches(statement))

    def _stoppable(self, work: Callable[[], Any]) -> Any:
        context = self._session.sparkContext

        def leaving_nothing() -> Any:
            try:
                return work()
            finally:
                _hang_up(context)

        # PySpark, too, cancels every job of the application on Ctrl-C.
        return interruptible(leaving_nothing, context.cancelAllJobs)

    def close(self) -> None:
        try:
            self._session.catalog.dropGlobalTempView(self._view)
        except Exception as error:  # noqa: BLE001
            # The user may have stopped Spark before; there is nothing left to let go of then.
            unreadable(self._name, error)


def _hang_up(context: Any) -> None:
    """Close this thread's line to Spark, which would stay open when it ends; another opens by itself."""
    client = context._gateway._gateway_client
    line = client.get_thread_connection()
    if line is not None:
        with suppress(ValueError):
            client.deque.remove(line)
        line.close()


def _frame_of(source: Source) -> tuple[Any, dict[str, bool]]:
    """Return the data as a Spark table: a DataFrame, a table of a session's, or one read through a master.

    The names are those of columns that hold milliseconds as whole numbers, each with whether they are
    instants.
    """
    if hasattr(source.data, "sparkSession"):
        check_times(source.data)
        return source.data, {}
    if not source.table:
        raise InvalidParameter("table", source.table, "the name of a table in the Spark session")
    session = source.data if hasattr(source.data, "table") else _session_at(str(source.data))
    if "/" not in source.table:
        # Spark itself would look further, for files that "parquet.`name`" names.
        if not session.catalog.tableExists(source.table):
            raise DataError(f"Spark has no table {shown(source.table)}.")
        frame = session.table(source.table)
        check_times(frame)
        return frame, {}
    if _PATTERN & set(source.table):
        raise DataError(
            f"Spark would read {shown(source.table)} as a pattern, because of one of the characters "
            f"{' '.join(sorted(_PATTERN))}.",
            "Name one file or a folder, and rename it if need be.",
        )
    # Java would look from the folder that it was started in.
    relative = source.table.startswith(("./", "../"))
    # Parquet says its types; other formats are read by the user, who gives the DataFrame.
    return parquet_frame(session, os.path.abspath(source.table) if relative else source.table)


def _session_at(master: str) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing_extra("Spark", "spark") from None
    return SparkSession.builder.master(master).appName("dovetail").getOrCreate()


def _session_beside(users: Any) -> Any:
    """Return a session with the user's settings where ours don't matter."""
    session = users.newSession()
    inherited = {key: value for key, value in users.conf.getAll.items() if key.startswith("spark.sql.")}
    for key, value in {**inherited, **_SETTINGS}.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session
