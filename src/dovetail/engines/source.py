"""Name a table: where it is, what it is called in the ledger, and what is public about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from dovetail.errors import DataError, InvalidParameter, shown
from dovetail.errors.remedies import Give
from dovetail.query import Schema

from .identity import POSTGRES, lasting_table, overlap, path_name, source_names

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
_SPARK = ("spark://", "k8s://", "local[")
# What an address may say beside the server; all else could be a secret.
_PUBLIC = ("host", "port", "dbname", "user", "sslmode")
_MOST_INSIDE = 100_000


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
            raise InvalidParameter("table", table, "the name of a table", Give("table"))
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
                raise InvalidParameter("table", table, "the name of a table there", Give("table"))
            return cls(data, checked_name(name or _short_name(data, table)), schema, table)
        if isinstance(data, str | Path):
            path = Path(data)
            if not _exists(path):
                raise DataError(f"{shown(str(data))} does not exist.", f"Give {_KNOWN}.")
            inner = f"-{table}" if table else ""
            # The path of the folder that one is in has no name.
            stem = path.stem or path.resolve().stem
            return cls(path, checked_name(name or stem + inner), schema, table)
        if name is None:
            raise InvalidParameter(
                "name",
                None,
                "given for a table in memory and for a list of files",
                "The budget is kept under it.",
                Give("name"),
            )
        if isinstance(data, list | tuple):
            data = tuple(_listed(file) for file in data)
        return cls(data, checked_name(name), schema, table)

    @property
    def format(self) -> str:
        """Return "csv", "parquet", "arrow" or "duckdb" for a path, a server's kind or "memory"."""
        if isinstance(self.data, str):
            return "postgresql" if self.data.startswith(POSTGRES) else "spark"
        if not isinstance(self.data, Path | tuple):
            return "spark" if type(self.data).__module__.startswith("pyspark.") else "memory"
        kinds = {FORMATS.get(file.suffix.lower()) for file in self.files()}
        several = not isinstance(self.data, Path) or self.data.is_dir()
        if len(kinds) != 1 or None in kinds or (several and "duckdb" in kinds):
            raise DataError(
                f"{self._shown()} cannot be read as a table.",
                f"Give a file that ends in {', '.join(FORMATS)}, or a folder or a list of CSV, of "
                "Parquet or of Arrow files.",
            )
        return str(kinds.pop())

    @property
    def identity(self) -> tuple[str, ...]:
        """Return the names that say which data these are; whatever shares or overlaps one shares a budget.

        The same file is the same data whether this machine reads it or a Spark cluster, by its path or
        through a connection. Data in memory are known by their name alone.
        """
        if type(self.data).__module__.split(".")[0] in ("_duckdb", "duckdb", "ibis"):
            from .duckdb_catalog import kept_at

            kept = kept_at(self.data, self.table)
            if kept is not None:
                return source_names(*kept)
        if self.shipped:
            # Another name does not make other data of them.
            return (f"shipped://{Path(self.data).stem}",)
        if not isinstance(self.data, str | Path | tuple):
            return (f"memory://{self.name}",)
        if isinstance(self.data, tuple):
            # In whichever order they are listed, they are the same rows.
            return tuple(sorted(map(path_name, self.data)))
        if self.format == "spark":
            table = str(self.table)
            return source_names(table) if "/" in table else (f"spark://{lasting_table(table, 'spark')}",)
        names = source_names(self.data, self.table)
        if isinstance(self.data, Path) and self.data.is_dir():
            # A link in a folder leads to data elsewhere.
            names += tuple(name for name in map(path_name, self.files()) if not overlap(name, names[0]))
        return names

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
        """Return the file, those of a list, or those of a folder at any depth; hidden ones left out."""
        if isinstance(self.data, tuple):
            return _once(list(self.data))
        if self.data.is_file():
            return [self.data]
        if not self.data.is_dir():
            raise DataError(f"{self._shown()} is neither a file nor a folder.")
        inside = list(islice(self.data.rglob("*"), _MOST_INSIDE + 1))
        if len(inside) > _MOST_INSIDE:
            raise DataError(
                f"The folder {self._shown()} holds more than {_MOST_INSIDE:,} files.",
                "Give one of them, or a folder that holds nothing but the table.",
            )
        matches = sorted(
            file
            for file in inside
            if file.is_file() and not file.name.startswith((".", "_")) and FORMATS.get(file.suffix.lower())
        )
        if not matches:
            raise DataError(f"The folder {self._shown()} holds no CSV, Parquet or Arrow file.")
        return _once(matches)

    def _shown(self) -> str:
        return shown(str(self.data)) if isinstance(self.data, Path) else "The list of files"


def _listed(file: object) -> Path:
    """Return a file of a list."""
    if not isinstance(file, str | Path) or not _exists(Path(file)) or not Path(file).is_file():
        raise DataError(
            f"{shown(file)} is not a file.", "Give a list of paths of CSV, Parquet or Arrow files."
        )
    return Path(file)


def _once(files: list[Path]) -> list[Path]:
    """Refuse files of which two are one: each of its rows would count twice."""
    if not files:
        raise DataError("The list of files is empty.")
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        about = file.stat()
        first = seen.get((about.st_dev, about.st_ino))
        if first is not None:
            raise DataError(
                f"{shown(str(first))} and {shown(str(file))} are one file, whose rows would count twice.",
                "Leave one of them out.",
            )
        seen[about.st_dev, about.st_ino] = file
    return files


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
    return data.startswith(POSTGRES) or is_spark(data)


def is_spark(address: str) -> bool:
    """Tell whether an address is a Spark master.

    >>> is_spark("local[2]"), is_spark("postgresql://db/clinic")
    (True, False)
    """
    return address.startswith(_SPARK)


def without_password(data: str) -> str:
    """Return an address without anything secret, to be shown; a path as it is.

    >>> without_password("postgresql://ann:secret@db/clinic?password=secret&sslmode=require")
    'postgresql://ann@db/clinic?sslmode=require'
    """
    if not data.startswith(POSTGRES):
        return data
    try:
        parts = urlsplit(data)
    except ValueError:
        return _ADDRESS
    user, at, host = parts.netloc.rpartition("@")
    options = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] in _PUBLIC], safe="/")
    return urlunsplit((parts.scheme, user.partition(":")[0] + at + host, parts.path, options, ""))


def _short_name(address: str, table: str) -> str:
    """Return the database and the table, or the last part of a path."""
    if is_spark(address):
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
        allowed = "a printable text of at most 200 characters without '/'"
        raise InvalidParameter("name", name, allowed, Give("name"))
    return normalize("NFC", name)
