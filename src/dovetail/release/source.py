"""Name a table: where it is, what it is called in the ledger, and what is public about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from dovetail.errors import DataError, InvalidParameter, shown

from .schema import Schema

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
}
_KNOWN = (
    "the path of a CSV, Parquet or Arrow file, of a folder of such files or of a DuckDB database, the "
    "address of a PostgreSQL database or a Spark master, a pandas, Polars, Arrow or Ibis table, a DuckDB "
    "connection, or a Spark table or session"
)
_ADDRESS = "postgresql://USER@HOST/DATABASE"
_POSTGRES = ("postgresql://", "postgres://", "postgresql+psycopg://")
_SPARK = ("spark://", "k8s://", "local[")
# What an address may say beside the server; all else could be a secret.
_PUBLIC = ("host", "port", "dbname", "user", "sslmode")
_MOST_INSIDE = 100_000
_LEFT_OUT = {"duckdb": ("source", "main"), "postgresql": ("public",), "spark": ("spark_catalog", "default")}


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table under a name; the name is what its budget is kept under.

    `table` names the table inside a database. `shipped` data belong to the package, not to the user, so
    nothing is ever written beside them.
    """

    data: Any
    name: str
    schema: Schema | None = None
    table: str | None = None
    shipped: bool = False

    @classmethod
    def of(
        cls, data: Any, *, name: str | None = None, schema: Schema | None = None, table: str | None = None
    ) -> Source:
        """Return `data` as a source; a file brings its name, a table in memory needs one.

        >>> import pyarrow
        >>> Source.of(pyarrow.table({"age": [40]}), name="people").name
        'people'
        """
        if not isinstance(table, str | None):
            raise InvalidParameter("table", table, "the name of a table", 'table="visits"')
        if isinstance(data, cls):
            return cls(
                data.data,
                checked_name(name) if name else data.name,
                schema if schema is not None else data.schema,
                table or data.table,
                data.shipped,
            )
        if isinstance(data, str) and is_address(data):
            if not table:
                raise InvalidParameter("table", table, "the name of a table there", 'table="visits"')
            return cls(data, checked_name(name or _short_name(data, table)), schema, table)
        if isinstance(data, str | Path):
            path = Path(data)
            if not _exists(path):
                raise DataError(f"{shown(str(data))} does not exist. Give {_KNOWN}.")
            inner = f"-{table}" if table else ""
            return cls(path, checked_name(name or path.stem + inner), schema, table)
        if name is None:
            raise InvalidParameter(
                "name",
                None,
                "given for a table in memory",
                'The budget is kept under it: Session(table, name="people").',
            )
        return cls(data, checked_name(name), schema, table)

    @property
    def format(self) -> str:
        """Return "csv", "parquet", "arrow" or "duckdb" for a path, a server's kind or "memory"."""
        if isinstance(self.data, str):
            return "postgresql" if self.data.startswith(_POSTGRES) else "spark"
        if not isinstance(self.data, Path):
            return "spark" if type(self.data).__module__.startswith("pyspark.") else "memory"
        files = [self.data] if self.data.is_file() else self.files()
        kinds = {FORMATS.get(file.suffix.lower()) for file in files}
        if len(kinds) != 1 or None in kinds:
            raise DataError(
                f"{shown(str(self.data))} is not a table that can be read. Give a file that ends in "
                f"{', '.join(FORMATS)}, or a folder of one kind of them."
            )
        return str(kinds.pop())

    @property
    def place(self) -> tuple[str | Path, str | None] | None:
        """Return the path or address and the table that say which data these are; None for data in memory.

        The same file is the same data whether this machine reads it or a Spark cluster.
        """
        if self.shipped or not isinstance(self.data, str | Path):
            return None
        table = self.table and _lasting_table(self.table, self.format)
        if self.format == "spark":
            return str(self.table) if "/" in str(self.table) else f"spark://{table}", None
        return self.data, table

    @property
    def schema_place(self) -> Path | None:
        """Return where the schema of a file is looked for when nobody says; of all else, None.

        >>> Source(Path("visits.csv"), "visits").schema_place.name
        'visits.toml'
        >>> Source(Path("clinic.duckdb"), "clinic-visits", table="visits").schema_place.name
        'clinic-visits.toml'
        """
        if self.shipped or not isinstance(self.data, Path):
            return None
        path = self.data if self.data.name not in ("", "..") else self.data.resolve()
        name = f"{path.stem}-{self.table}.toml" if self.table else f"{path.stem}.toml"
        return path.with_name(name) if path.name and not {"/", "\\", "\0"} & set(name) else None

    def with_schema(self) -> Source:
        """Return the source with the schema that lies beside its file, unless it has one already."""
        place = self.schema_place
        if self.schema is not None or place is None or not place.is_file():
            return self
        return replace(self, schema=Schema.read(place))

    def files(self) -> list[Path]:
        """Return the files of a folder, at any depth, in order; hidden ones left out."""
        if self.data.is_file():
            return [self.data]
        if not self.data.is_dir():
            raise DataError(f"{shown(str(self.data))} is neither a file nor a folder.")
        inside = list(islice(self.data.rglob("*"), _MOST_INSIDE + 1))
        if len(inside) > _MOST_INSIDE:
            raise DataError(
                f"The folder {shown(str(self.data))} holds more than {_MOST_INSIDE:,} files. Give one of "
                "them, or a folder that holds nothing but the table."
            )
        found = sorted(
            file
            for file in inside
            if file.is_file() and not file.name.startswith((".", "_")) and FORMATS.get(file.suffix.lower())
        )
        if not found:
            raise DataError(f"The folder {shown(str(self.data))} holds no CSV, Parquet or Arrow file.")
        return found


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or one with NUL in it
        return False


def is_address(data: str) -> bool:
    """Tell whether a text names a server rather than a file.

    >>> is_address("postgresql://db/clinic"), is_address("people.csv")
    (True, False)
    """
    return data.startswith((*_POSTGRES, *_SPARK))


def without_password(data: str) -> str:
    """Return an address without anything secret, to be shown; a path as it is.

    >>> without_password("postgresql://ann:secret@db/clinic?password=secret&sslmode=require")
    'postgresql://ann@db/clinic?sslmode=require'
    """
    if not data.startswith(_POSTGRES):
        return data
    try:
        parts = urlsplit(data)
    except ValueError:
        return _ADDRESS
    user, at, host = parts.netloc.rpartition("@")
    options = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] in _PUBLIC], safe="/")
    return urlunsplit((parts.scheme, user.partition(":")[0] + at + host, parts.path, options, ""))


def _lasting_table(table: str, kind: str) -> str:
    """Return the name of a table without what another spelling may leave out.

    >>> _lasting_table('main."Visits"', "duckdb"), _lasting_table("public.Visits", "postgresql")
    ('visits', 'Visits')
    """
    parts = table.split(".") if '"' not in table else _quoted_parts(table)
    # PostgreSQL alone tells large letters from small ones.
    parts = parts if kind == "postgresql" else [part.lower() for part in parts]
    for first in _LEFT_OUT.get(kind, ()):
        parts = parts[1:] if len(parts) > 1 and parts[0] == first else parts
    return ".".join(parts)


def _quoted_parts(table: str) -> list[str]:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        return [part.name for part in exp.to_table(table).parts]
    except SqlglotError:
        return [table]


def _short_name(address: str, table: str) -> str:
    """Return the database and the table, or the last part of a path."""
    if address.startswith(_SPARK):
        return table.rstrip("/").rsplit("/", 1)[-1]
    try:
        database = urlsplit(address).path.strip("/")
    except ValueError:
        # The address may hold a password: it is not shown.
        raise InvalidParameter("source", "…", _ADDRESS) from None
    return f"{database}-{table}" if database else table


def checked_name(name: object) -> str:
    """Return `name` if it can name a dataset in a ledger and in a file name."""
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable() or "/" in name:
        raise InvalidParameter("name", name, "a printable text of at most 200 characters without '/'")
    return normalize("NFC", name)
