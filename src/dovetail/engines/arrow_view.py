"""Show DuckDB the rows of Arrow tables and files, so that no row can stop it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from .arrow_values import WIDEST, readable

VIEW = "data"


def make_view(connection: Any, pieces: Sequence[Any], stored: Mapping[str, str] | None = None) -> set[str]:
    """Make the view `data` of Arrow tables or datasets; return the names of the columns without a type here.

    `stored` are the types that DuckDB gave the same columns when it read the files itself.
    """
    parts: list[str] = []
    unusable: set[str] = set()
    for number, piece in enumerate(pieces):
        columns, fields = [], []
        for field in piece.schema:
            type_ = (stored or {}).get(field.name)
            read_as = readable(field.type, type_)
            spelled = "NULL" if read_as is None else read_as[1].replace("{x}", _quoted(field.name))
            columns.append(f"{spelled if type_ is None else f'TRY_CAST({spelled} AS {type_})'}")
            columns[-1] += f" AS {_quoted(field.name)}"
            if read_as is None:
                unusable.add(field.name)
            else:
                fields.append((field.name, read_as[0]))
        connection.register(f"piece{number}", _narrowed(piece, fields))
        parts.append(f"SELECT {', '.join(columns)} FROM piece{number}")
    connection.execute(f"CREATE VIEW {VIEW} AS {' UNION ALL BY NAME '.join(parts)}")
    return unusable


def zoned_columns(pieces: Sequence[Any]) -> set[str]:
    """Return the names of the columns whose times are instants in every table that has them."""
    zones: dict[str, set[bool]] = {}
    for piece in pieces:
        for field in piece.schema:
            type_ = getattr(field.type, "value_type", field.type)
            zones.setdefault(field.name, set()).add(getattr(type_, "tz", None) is not None)
    return {name for name, kinds in zones.items() if kinds == {True}}


def untyped_columns(pieces: Sequence[Any]) -> set[str]:
    """Return the names of the columns that hold nothing but missing values in every table that has them."""
    from pyarrow import types

    nulls: dict[str, set[bool]] = {}
    for piece in pieces:
        for field in piece.schema:
            type_ = getattr(field.type, "value_type", field.type)
            nulls.setdefault(field.name, set()).add(bool(types.is_null(type_)))
    return {name for name, empty in nulls.items() if empty == {True}}


def through_arrow(connection: Any, names: Sequence[str], stored: Mapping[str, str]) -> None:
    """Make the view `data` of Parquet files that Arrow reads."""
    make_view(connection, Files.grouped(names, "parquet"), stored)


def has_wide_decimals(connection: Any, names: Sequence[str]) -> bool:
    """Tell whether Parquet files declare decimals that DuckDB has no type for.

    It reads them as doubles, the last digit of which is not always the nearest.
    """
    widest = connection.execute("SELECT max(precision) FROM parquet_schema(?)", [list(names)]).fetchone()
    return (widest[0] or 0) > WIDEST


def untyped_in_parquet(connection: Any, names: Sequence[str]) -> set[str]:
    """Return the columns that no Parquet file gives a type; older versions of DuckDB call them integers."""
    columns = connection.execute(
        "SELECT name FROM parquet_schema(?) WHERE type IS NOT NULL GROUP BY name "
        "HAVING bool_and(coalesce(logical_type = 'NullType()', false))",
        [list(names)],
    )
    return {str(row[0]) for row in columns.fetchall()}


def _narrowed(piece: Any, fields: list[tuple[str, Any]]) -> Any:
    """Return the rows with these columns in these types."""
    import pyarrow
    import pyarrow.dataset

    schema = pyarrow.schema(fields)
    if isinstance(piece, Files):
        return pyarrow.dataset.dataset(piece.paths, format=piece.format, schema=schema)
    if not fields:
        return pyarrow.table({"row": pyarrow.nulls(piece.num_rows, pyarrow.int8())})
    return piece.select(schema.names).cast(schema)


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one format whose columns are alike."""

    paths: list[str]
    format: Any
    schema: Any

    @classmethod
    def grouped(cls, paths: Sequence[str], kind: str) -> list[Files]:
        """Return Arrow or Parquet files, those that are alike together."""
        import pyarrow.dataset

        # With a type of its own for bytes, Arrow does not check the texts that a file stores once.
        parquet = pyarrow.dataset.ParquetFileFormat(
            coerce_int96_timestamp_unit="us", binary_type=pyarrow.large_binary()
        )
        format_ = parquet if kind == "parquet" else kind
        groups: list[Files] = []
        for path in paths:
            schema = pyarrow.dataset.dataset([path], format=format_).schema.remove_metadata()
            alike = next((files for files in groups if files.schema.equals(schema)), None)
            if alike is None:
                groups.append(cls([path], format_, schema))
            else:
                alike.paths.append(path)
        return groups


def _quoted(name: str) -> str:
    return str(exp.to_identifier(name, quoted=True).sql("duckdb"))
