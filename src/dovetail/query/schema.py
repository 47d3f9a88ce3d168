"""Declare what is public about a table, and join it with what its engine stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

from dovetail.errors import DataError, InvalidParameter, InvalidQuery, shown
from dovetail.errors.remedies import Confirm, Declare, DidYouMean, DraftSchema

from .column import Column
from .encoding import checked_encoding
from .field import Constant, Field

_MOST_LISTED = 12
_ASKED = {
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "truth values",
    "date": "days",
    "timestamp": "times",
}


def _unread(source: Any, table: str | None) -> Schema:
    raise NotImplementedError("A schema is drafted by dovetail.engines: import it first.")


@dataclass(frozen=True, slots=True)
class Schema:
    """The public columns of a table; `place` is the file that they were read from.

    `encoding` is that of a CSV file, UTF-8 where nothing is said.

    >>> schema = Schema([Column("age", "integer", low=0, high=120), Column("sex", "text")])
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: Any = field(default=())
    place: Path | None = field(default=None, compare=False, repr=False)
    # Set by `dovetail.engines`: proposing a schema reads rows, and nothing here does.
    drafter: ClassVar[Callable[[Any, str | None], Schema]] = _unread
    encoding: str | None = None

    def __post_init__(self) -> None:
        columns = tuple(self.columns) if isinstance(self.columns, Iterable) else (self.columns,)
        if not all(isinstance(column, Column) for column in columns):
            raise InvalidParameter(
                "columns", self.columns, "a list of columns", "Each has a name and a type."
            )
        names = [column.name for column in columns]
        if len(set(names)) != len(names):
            raise InvalidParameter("columns", names, "columns with different names")
        object.__setattr__(self, "columns", columns)
        if self.encoding is not None:
            object.__setattr__(self, "encoding", checked_encoding(self.encoding))

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def get(self, name: str) -> Column | None:
        """Return the declared column of that name, if there is one."""
        return next((column for column in self.columns if column.name == name), None)

    def confirm(self, *names: str) -> Schema:
        """Return the schema with the named drafted columns confirmed as public by their curator.

        >>> draft = Schema([Column("sex", "text", values=["F", "M"], reviewed=False)])
        >>> draft.confirm("sex").get("sex").reviewed
        True
        """
        unknown = set(names) - {column.name for column in self.columns}
        if unknown or not names:
            known = [column.name for column in self.columns]
            near = [guess for name in sorted(unknown) for guess in get_close_matches(str(name), known, n=1)]
            fix = DidYouMean(near[0]) if near else ""
            raise InvalidParameter(
                "columns", sorted(unknown), f"among those of this schema: {', '.join(known)}", fix
            )
        columns = [replace(c, reviewed=True) if c.name in names else c for c in self.columns]
        return replace(self, columns=columns)

    def table(self, stored: Mapping[str, Stored] | None = None) -> Table:
        """Join what is declared with what the engine stores, or take the schema at its word."""
        kept = stored if stored is not None else {c.name: Stored(c.type) for c in self.columns}
        missing = [column.name for column in self.columns if column.name not in kept]
        if missing:
            raise InvalidParameter(
                "schema", missing, f"columns of the source: {', '.join(kept)}", "Correct the names."
            )
        for column in self.columns:
            given = "decimal" if column.decimal else "missing_words" if column.missing_words else None
            if given and stored is not None and kept[column.name].kind is not None:
                raise InvalidParameter(
                    given,
                    getattr(column, given),
                    f"left out for {column.name}, which the source stores as {kept[column.name].kind}",
                    "It is for CSV files and other columns of plain texts.",
                )
        return Table(self, dict(kept))

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        from .toml import columns_text

        return columns_text(self, self.encoding)

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Read what `to_toml` wrote or a curator typed."""
        from .toml import read_columns

        columns, encoding = read_columns(text)
        return cls(columns, encoding=encoding)

    def write(self, path: str | Path) -> None:
        """Write the schema to a TOML file."""
        Path(path).write_text(self.to_toml(), encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file."""
        if not isinstance(path, str | Path):
            raise InvalidParameter("schema", path, "a Schema or the path of a TOML file")
        try:
            if not Path(path).is_file():  # a device or a pipe may never end
                raise FileNotFoundError(2, "there is no such file")
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not a text in UTF-8"
            raise DataError(f"The schema {shown(str(path))} cannot be read: {why}.") from None
        try:
            return replace(cls.from_toml(text), place=Path(path))
        except InvalidParameter as error:
            raise InvalidParameter(
                "schema", Path(path).name, f"a schema, in which {error.problem.rstrip('.')}", *error.remedies
            ) from None

    @classmethod
    def draft(cls, source: Any, *, table: str | None = None) -> Schema:
        """Propose a schema by looking at the rows: a help for the curator, who must confirm each column.

        What it finds is private until it was reviewed, so every drafted column is refused until then.
        """
        return cls.drafter(source, table)


@dataclass(frozen=True, slots=True)
class Stored:
    """A column as the engine keeps it.

    `kind` is None where the format declares none (CSV). `cast` says that the value needs a conversion even
    to its own kind. `usable` is False for lists, structures and the like.
    """

    kind: str | None
    cast: bool = False
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """What queries are checked against: the declared columns joined with the stored ones."""

    schema: Schema
    stored: Mapping[str, Stored]

    def field(self, name: str, asked: str = "text") -> Field:
        """Return the column as queries see it; `asked` is the kind that a query takes it for.

        A column without a type holds texts: rows alone would tell numbers among them from words, and a sum
        would take words, or numbers with a decimal comma, for 0 without a warning.
        """
        found = self.resolve(name)
        declared, stored = self.schema.get(found), self.stored[found]
        if declared is not None and not declared.reviewed:
            place = self.schema.place
            raise InvalidQuery(
                f"Column {found} was drafted from the rows and not yet reviewed.",
                Confirm(found, None if place is None else str(place)),
            )
        if not stored.usable:
            raise InvalidQuery(
                f"Column {found} holds lists, structures or bytes, which cannot be asked about."
            )
        kind = declared.type if declared else stored.kind or "text"
        if declared is None and stored.kind is None and asked != "text":
            raise InvalidQuery(
                f"Nothing declares the type of {found}, so it holds texts and cannot be asked about as "
                f"{_ASKED[asked]}.",
                Declare(found, ("type",)),
                "Where the file needs it, declare its decimal sign and its words for missing values.",
                DraftSchema(),
            )
        cast = stored.cast or kind != stored.kind
        if declared is None:
            return Field(found, kind, cast)
        return Field(found, kind, cast, declared.decimal or ".", declared.missing_words)

    def constant(self, field: Field, value: object) -> Constant:
        """Return what a column is compared with for equality, if the schema says that a row can hold it.

        Where the schema lists all values, any other is a slip, and its answer would be noise around 0.
        """
        read = field.constant(value)
        declared = self.schema.get(field.name)
        if (
            declared is None
            or declared.values is None
            or declared.other is not None
            or read in declared.values
        ):
            return read
        known = [item for item in declared.values if item is not None]
        near = get_close_matches(str(read), [str(item) for item in known], n=1)
        listed = ", ".join(str(item) for item in known[:_MOST_LISTED]) + ", ..." * (len(known) > _MOST_LISTED)
        raise InvalidQuery(
            f"{shown(value)} is none of the values that the schema declares for {field.name}.",
            *([DidYouMean(repr(near[0]))] if near else []),
            f"The values are {listed}. If rows may hold others, their curator declares a cell for them.",
            Declare(field.name, ("other",)),
        )

    def kind(self, name: str) -> str | None:
        """Return the declared or stored kind of a column, None where nothing says."""
        found = self.resolve(name)
        declared = self.schema.get(found)
        return declared.type if declared else self.stored[found].kind

    def resolve(self, name: str) -> str:
        """Return the exact name of a column; case and outer spaces are forgiven where that is unambiguous."""
        if isinstance(name, str):
            if name in self.stored:
                return name
            wanted = name.strip().casefold()
            alike = [known for known in self.stored if known.strip().casefold() == wanted]
            if len(alike) == 1:
                return alike[0]
        near = get_close_matches(shown(name).strip("'"), list(self.stored), n=1)
        hint = DidYouMean(near[0]) if near else f"Its columns are {', '.join(self.stored)}."
        raise InvalidQuery(f"{shown(name)} is not a column of the data.", hint)
