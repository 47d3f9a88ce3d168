"""Read files, tables in memory and DuckDB databases through DuckDB, inside this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlglot import exp

from dovetail.errors import DataError, InvalidParameter
from dovetail.query.encoding import UTF_8, UTF_16, letters
from dovetail.query.field import Constant, Field
from dovetail.query.schema import Stored

from .arrow_tables import arrow_table, inner_table, is_ibis
from .arrow_view import (
    Files,
    has_wide_decimals,
    make_view,
    through_arrow,
    untyped_columns,
    untyped_in_parquet,
    zoned_columns,
)
from .column_names import arrow_names, check_files, check_names, parquet_names, same_columns
from .csv_header import CsvLayout, csv_layout
from .duckdb_catalog import catalogued, is_stored
from .duckdb_values import date_part, date_start, spelled_value, stored_as, word_of
from .engine import BATCH, Batches, ColumnBatches
from .failure import unreadable
from .file_names import PlainNames
from .interrupts import interruptible
from .source import Source
from .sql_fragments import Templates, keep_text, placed, scaled, text_of, typed_constant

_templates = Templates("duckdb")
_ELAPSED = {
    "date": "CAST(x - CAST('1970-01-01' AS DATE) AS BIGINT)",
    "timestamp": "epoch_us(x)",
}
_Read = TypeVar("_Read")
_SEPARATOR = "\x1f"
_SETTINGS = "SET TimeZone = 'UTC'; SET enable_progress_bar = false; SET python_enable_replacements = false"
# DuckDB leaves out a line that is longer than its limit, and takes the memory only where a line needs it.
# Several readers at once would guess where rows begin, and fail on a line break inside of quotes.
_CSV = (
    "quote = '\"', escape = '\"', header = true, auto_detect = false, null_padding = true, "
    "ignore_errors = true, strict_mode = false, hive_partitioning = false, "
    "parallel = false, max_line_size = 536870912"
)
# Beyond this, searching each group takes longer than planning a list.
_LONGEST_SEARCH = 2_000

# A macro of the database could take the place of a built-in function, which is found first like this. A
# generated column may need other macros, and a view even those.
_BUILT_IN_FIRST = "SET search_path = {}"
_HERE = "SELECT current_database(), current_schema()"


class DuckDB:
    """One table, read by DuckDB."""

    dialect = "duckdb"
    date_part, date_start = staticmethod(date_part), staticmethod(date_start)

    def __init__(self, source: Source) -> None:
        self._name = source.name
        self._lock = Lock()
        self._untyped: set[str] | None = set()
        self._unusable: set[str] = set()
        # Columns of Arrow whose times are instants; DuckDB gets them as times in UTC.
        self._zoned: set[str] = set()
        # Parquet files that DuckDB still reads itself: faster, until a value stops it.
        self._direct: list[str] = []
        self._owned = True
        # Whether the rows are in a DuckDB file, whose statistics are DuckDB's own.
        self._stored_here = False
        self._names = PlainNames()
        self._relation: exp.Expression = exp.to_table("data")
        self.statements: dict[object, Any] = {}
        try:
            self._open(source)
            described = self._connection.execute(f"DESCRIBE {self._spelled(exp.select('*'))}").fetchall()
            self._described = {str(row[0]): str(row[1]) for row in described}
            if self._direct and has_wide_decimals(self._connection, self._direct):
                self._by_arrow()
        except (DataError, InvalidParameter):
            self._names.close()
            raise
        except Exception as error:  # noqa: BLE001
            self._names.close()
            raise unreadable(self._name, error) from None
        # A database may compare its texts without case: 'a' and 'A' in one group, named after either.
        self._collated = not self._owned or source.format == "duckdb"
        self._types = {name: word_of(type_) for name, type_ in self._described.items()}
        self._columns = {name: self._stored(name) for name in self._types}

    def _open(self, source: Source) -> None:
        import duckdb

        source = replace(source, data=inner_table(source.data))
        if isinstance(source.data, duckdb.DuckDBPyConnection):
            self._connection, self._owned = source.data.cursor(), False
            self._connection.execute("SET TimeZone = 'UTC'")  # the cursor's own; the user's stays as it is
            self._find(source.table)
            return
        if is_ibis(source.data):
            check_names(source.data.columns, repr(self._name))
            self._connection, self._owned = _ibis_connection(source.data), False
            self._relation = exp.Subquery(this=exp.maybe_parse(_ibis_text(source.data), dialect="duckdb"))
            return
        self._connection = _own_connection()
        if source.format == "duckdb":
            path = exp.Literal.string(self._names.of([source.data])[0]).sql("duckdb")
            self._connection.execute(f"ATTACH {path} AS source (READ_ONLY)")
            self._connection.execute("USE source")
            self._stored_here = self._find(source.table)
        elif source.format == "parquet":
            self._connection.execute("SET parquet_metadata_cache = true")
            self._read_parquet(source.files())
        elif source.format == "csv":
            encoding = (source.schema.encoding if source.schema else None) or UTF_8
            self._read_csv(csv_layout(source.files(), encoding), encoding)
        else:
            self._register(source)

    def _find(self, name: str | None) -> bool:
        """Read a table of a database by its name; tell whether it is stored there, and no view."""
        self._relation = table = catalogued(self._connection, name)
        stored = is_stored(self._connection, table)
        if stored:
            ((database, schema),) = self._connection.execute(_HERE).fetchall()
            here = exp.table_(schema, database, quoted=True).sql("duckdb")
            self._connection.execute(_BUILT_IN_FIRST.format(_literal(f"system.main,{here}")))
        return stored

    def _read_parquet(self, files: list[Path]) -> None:
        self._direct = names = self._names.of(files)
        check_files(list(zip(files, parquet_names(self._connection, names), strict=True)))
        # The name of a folder is no column. DuckDB plans and groups faster where it need not join columns.
        alike = len(names) == 1 or same_columns(self._connection, names)
        listed, union = ", ".join(map(_literal, names)), str(not alike).lower()
        self._connection.execute(
            f"CREATE VIEW data AS SELECT * FROM read_parquet([{listed}], union_by_name = {union}, "
            "hive_partitioning = false)"
        )
        self._untyped = untyped_in_parquet(self._connection, names)

    def _read_csv(self, layout: CsvLayout, encoding: str) -> None:
        """Read every value as text: types guessed from rows would depend on the rows."""
        self._untyped = None
        columns = [_translated(name, encoding) for name in layout.names]
        parts = []
        for number, (order, files) in enumerate(layout.orders.items()):
            names = ", ".join(map(_literal, self._names.of(files)))
            texts = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in order)
            options = f"columns = {{{texts}}}, delim = {_literal(layout.delimiter)}, {_CSV}"
            options += f", encoding = '{encoding if encoding in (UTF_8, UTF_16) else 'latin-1'}'"
            self._connection.execute(
                f"CREATE VIEW part{number} AS SELECT * FROM read_csv([{names}], {options})"
            )
            parts.append(exp.select(*columns).from_(f"part{number}").sql("duckdb"))
        self._connection.execute(f"CREATE VIEW data AS {' UNION ALL '.join(parts)}")

    def _register(self, source: Source) -> None:
        if isinstance(source.data, Path | tuple):
            files = source.files()
            names = self._names.of(files)
            check_files(list(zip(files, arrow_names(names), strict=True)))
            pieces: list[Any] = [*Files.grouped(names, "arrow")]
        else:
            table, self._untyped = arrow_table(source.data)
            check_names(table.schema.names, repr(self._name))
            pieces = [table]
        self._unusable = make_view(self._connection, pieces)
        self._untyped = {*(self._untyped or ()), *untyped_columns(pieces)}
        self._zoned = zoned_columns(pieces)

    def _stored(self, name: str) -> Stored:
        if name in self._unusable:
            return Stored(None, usable=False)
        return Stored(None) if self._guessed(name) else stored_as(self._types[name])

    def _guessed(self, name: str) -> bool:
        """Tell whether the type of a column was guessed from its values."""
        return self._untyped is None or name in self._untyped

    @property
    def relation(self) -> exp.Expression:
        return self._relation.copy()

    def columns(self) -> Mapping[str, Stored]:
        return self._columns

    def value(self, field: Field) -> Any:
        column = spelled_value(
            exp.column(field.name, quoted=True),
            self._types[field.name],
            field,
            guessed=self._guessed(field.name),
            zoned=field.name in self._zoned,
        )
        if field.kind == "text" and not self._owned:
            # The user's tables may be Arrow's, and hold any bytes.
            decoded = exp.Anonymous(this="decode", expressions=[exp.Encode(this=column)])
            column = exp.Anonymous(this="try", expressions=[decoded])
        if field.kind == "text" and self._collated:
            column = exp.Collate(this=column, expression=exp.to_identifier("C"))
        return column

    def doubles(self, field: Field) -> Any | None:
        # The statistics of other files are whoever wrote them: one row must not hide the rows beside it.
        plain = self._stored_here and self._types[field.name] == "DOUBLE" and not field.missing_words
        return exp.column(field.name, quoted=True) if plain and field.kind == "number" else None

    def constant(self, kind: str, value: Constant) -> Any:
        # DuckDB gives a plain number the type that the other side has.
        plain = type(value) is int and kind != "number"
        return exp.Literal.number(value) if plain else typed_constant(kind, value)

    def texts(self, field: Field) -> Any | None:
        return None

    def scaled(self, number: Any, step: Fraction) -> Any:
        return scaled(self, number, step)

    def whole(self, number: exp.Expression) -> exp.Expression:
        return exp.TryCast(this=number, to=exp.DataType.build("BIGINT"))

    def elapsed(self, kind: str, moment: Any) -> Any:
        return _templates.filled(_ELAPSED[kind], moment)

    def wide_sum(self, integer: exp.Expression) -> exp.Expression:
        # DuckDB adds 64-bit integers in 128 bits.
        return exp.Sum(this=exp.cast(integer, "BIGINT"))

    def hashed(self, text: Any) -> Any:
        return _templates.filled("CAST('0x' || LEFT(MD5(x), 8) AS BIGINT)", text)

    def fetch(self, statement: exp.Select) -> list[tuple[Any, ...]]:
        text = self._spelled(statement)
        try:
            with self._lock:
                # All rows at once: a half-read result would keep the connection busy.
                return self._started(lambda connection: connection.execute(text).fetchall())
        except Exception as error:  # noqa: BLE001
            raise unreadable(self._name, error) from None

    def batches(self, statement: exp.Select) -> Batches:
        text = self._spelled(statement)
        try:
            with self._lock:
                rows = self._started(lambda connection: connection.execute(text).fetchmany(BATCH))
                while rows:
                    yield rows
                    rows = _stoppable(self._connection, lambda result: result.fetchmany(BATCH))
        except Exception as error:  # noqa: BLE001
            raise unreadable(self._name, error) from None

    def column_batches(self, statement: exp.Select) -> ColumnBatches:
        text = self._spelled(statement)
        try:
            with self._lock:
                reader, batch = self._started(lambda connection: _first_batch(connection, text))
                # Closed whatever happens: an open reader would keep the connection busy.
                with reader:
                    while batch is not None:
                        yield list(batch.columns)
                        batch = _stoppable(self._connection, lambda _: next(reader, None))
        except Exception as error:  # noqa: BLE001
            raise unreadable(self._name, error) from None

    def _started(self, read: Callable[[Any], _Read]) -> _Read:
        """Run a statement through a connection and return its first rows.

        DuckDB's own reader stops at a text or a time in a Parquet file that it cannot decode. From then on
        the files are read through Arrow, where such a value is missing.
        """
        import duckdb

        try:
            return _stoppable(self._connection, read)
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            if not self._direct:
                raise
        return _stoppable(self._by_arrow(), read)

    def _by_arrow(self) -> Any:
        """Read Parquet files through Arrow from now on, and return the connection."""
        connection = _own_connection()
        through_arrow(connection, self._direct, self._described)
        self._connection.close()
        self._connection, self._direct = connection, []
        return connection

    def close(self) -> None:
        if self._owned:
            self._connection.close()
        self._names.close()

    def _spelled(self, statement: exp.Select) -> str:
        known = text_of(statement)
        if known is not None:
            return known
        having = statement.args.get("having")
        for node in [] if having is None else list(having.find_all(exp.In)):
            _as_search(node)
        text = str(placed(statement, self.relation).sql("duckdb", copy=False))
        keep_text(statement, text)
        return text


def _literal(text: str) -> str:
    return str(exp.Literal.string(text).sql("duckdb"))


def _translated(name: str, encoding: str) -> Any:
    """Spell a column of a CSV file; letters of one byte were all taken for those of Latin-1."""
    column = exp.column(name, quoted=True)
    changed = letters(encoding)
    if changed is None:
        return column
    spelled = exp.Anonymous(this="translate", expressions=[column, *map(exp.Literal.string, changed)])
    return exp.alias_(spelled, name, quoted=True)


def _own_connection() -> Any:
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute(_SETTINGS)
    return connection


def _first_batch(connection: Any, text: str) -> tuple[Any, Any]:
    """Return what reads a result column by column, and its first batch."""
    if hasattr(connection, "complete"):
        # From DuckDB 2 on, the result of the statement before has to be done with, even when all was read.
        connection.complete()
    relation = connection.sql(text)
    read = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_record_batch
    reader = read(BATCH)
    try:
        return reader, next(reader, None)
    except BaseException:
        reader.close()
        raise


def _stoppable(connection: Any, work: Callable[[Any], _Read]) -> _Read:
    """Return what `work` reads through a connection; Ctrl-C stops it."""
    return interruptible(lambda: work(connection), connection.interrupt)


def _as_search(node: exp.In) -> None:
    """Look for a group's text in one text of all that are wanted, as DuckDB takes its time to plan a list.

    What stands between any two separators of the one text passes too; the cells have no place for it.
    """
    wanted = node.expressions
    if not wanted or not all(each.is_string for each in wanted):
        return
    joined = _SEPARATOR.join(["", *(each.name for each in wanted), ""])
    if len(joined) <= _LONGEST_SEARCH:
        separator = exp.Literal.string(_SEPARATOR)
        inner = exp.DPipe(this=separator, expression=node.this, safe=True)
        part = exp.DPipe(this=inner, expression=separator.copy(), safe=True)
        node.replace(exp.Anonymous(this="contains", expressions=[exp.Literal.string(joined), part]))


def _ibis_connection(table: Any) -> Any:
    backend = table.get_backend() if hasattr(table, "get_backend") else None
    if backend is None or backend.name != "duckdb":
        raise InvalidParameter(
            "source",
            type(table).__name__,
            "an Ibis table of its DuckDB backend",
            "Give its database instead.",
        )
    # Tables in memory are registered on this very connection, so no cursor of its own.
    backend._run_pre_execute_hooks(table)
    return backend.con


def _ibis_text(table: Any) -> str:
    import ibis

    return str(ibis.to_sql(table, dialect="duckdb"))
