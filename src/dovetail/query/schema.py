"""Declare what is public about a table, and join it with what its engine stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from dovetail.errors import DataError, InvalidParameter, InvalidQuery, shown
from dovetail.errors.remedies import Confirm, Declare, DidYouMean, DraftSchema, Remedy

from .column import Column
from .encoding import checked_encoding
from .field import Constant, Field, Recorded
from .lookup import Lookup
from .time_zones import checked_zone

_MOST_LISTED = 12
# Of more values, looking for a similar one takes too long.
_MOST_NEAR = 1000
_MOST_READ = 1000
_Kept = TypeVar("_Kept")
# What stands in an expression other than CASE: admitted.month, FLOOR(age / 10) * 10.
_EXPRESSION = frozenset("(.")
_ASKED = {
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "truth values",
    "date": "days",
    "timestamp": "times",
}


def _unread(source: Any, table: str | None) -> Schema:
    raise NotImplementedError("A schema is drafted by dovetail.engines: import it first.")


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """The public columns of a table; `place` is the file that they were read from.

    `encoding` is that of a CSV file, UTF-8 by default. `zone` is the time zone in which points in time are
    read, UTC by default. `derived` names columns computed from others, by expressions such as "EXTRACT(MONTH
    FROM admitted)"; `lookups` are public tables joined to a column.

    >>> schema = Schema([Column("age", "integer", low=0, high=120), Column("sex", "text")])
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: Any = field(default=())
    place: Path | None = field(default=None, compare=False, repr=False)
    # Set by `dovetail.engines`: proposing a schema reads rows, and nothing here does.
    drafter: ClassVar[Callable[[Any, str | None], Schema]] = _unread
    # Set by `dovetail.query`: it reads what the analyst's texts are read with, which rests on this module.
    deriver: ClassVar[Callable[[str, Table], Field]]
    encoding: str | None = None
    zone: str | None = None
    derived: Any = field(default=())
    lookups: Any = field(default=())
    _by_name: Mapping[str, Column] = field(init=False, compare=False, repr=False)

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
        object.__setattr__(self, "_by_name", dict(zip(names, columns, strict=True)))
        if self.encoding is not None:
            object.__setattr__(self, "encoding", checked_encoding(self.encoding))
        if self.zone is not None:
            object.__setattr__(self, "zone", checked_zone(self.zone))
        object.__setattr__(self, "derived", _checked_derived(self.derived, names))
        object.__setattr__(self, "lookups", _checked_lookups(self.lookups))

    def __repr__(self) -> str:
        wide = max((len(column.name) for column in self.columns), default=0)
        many = f"{len(self.columns)} column{'s' * (len(self.columns) != 1)}"
        lines = [f"  {column.name:<{wide}}  {column.in_words()}" for column in self.columns]
        more = [f"  {name} = {expression}" for name, expression in self.derived]
        return "\n".join([f"<schema of {many}>", *lines, *more])

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def get(self, name: str) -> Column | None:
        """Return the declared column of that name, if there is one."""
        return self._by_name.get(name)

    def lookup(self, name: str) -> Lookup | None:
        """Return the lookup of that name, if there is one."""
        return next((each for each in self.lookups if each.name.casefold() == name.casefold()), None)

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
        taken = [name for name in kept if name in dict(self.derived) or self.lookup(name)]
        if taken:
            raise InvalidParameter(
                "schema", taken, "names of derived columns and lookups that the source does not use"
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
        from .schema_toml import schema_text

        said = {"encoding": self.encoding, "zone": self.zone}
        return schema_text(self, said, self.derived, self.lookups)

    @classmethod
    def from_toml(cls, text: str, *, folder: str | Path | None = "") -> Schema:
        """Read what `to_toml` wrote or a curator typed; files of lookups are looked for in `folder`.

        With None no file is read: a text that names one is refused, for texts that come from elsewhere.
        """
        from .schema_toml import read_schema

        return cls(**read_schema(text, None if folder is None else Path(folder)))

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
            return replace(cls.from_toml(text, folder=Path(path).parent), place=Path(path))
        except InvalidParameter as error:
            raise InvalidParameter(
                "schema", Path(path).name, f"a schema, in which {error.problem.rstrip('.')}", *error.remedies
            ) from None

    @classmethod
    def draft(cls, source: Any, *, table: str | None = None) -> Schema:
        """Propose a schema by looking at the rows; the curator must confirm each column.

        The draft is private until it is reviewed, so every drafted column is refused until then.
        """
        return cls.drafter(source, table)


def _checked_derived(given: Any, names: list[str]) -> tuple[tuple[str, str], ...]:
    """Return derived columns as pairs of a name and an expression, which is read when it is asked about."""
    texts = dict(given) if isinstance(given, Mapping | tuple) else given
    allowed = "expressions by name, such as EXTRACT(MONTH FROM admitted) for month"
    if not isinstance(texts, dict):
        raise InvalidParameter("derived", given, allowed)
    for name, text in texts.items():
        if not isinstance(name, str) or not name or not isinstance(text, str):
            raise InvalidParameter(f"derived.{name}", text, allowed)
        if name in names:
            raise InvalidParameter(f"derived.{name}", text, "named differently from every column")
    return tuple(texts.items())


def _checked_lookups(given: Any) -> tuple[Lookup, ...]:
    lookups = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if not all(isinstance(each, Lookup) for each in lookups):
        raise InvalidParameter("lookups", given, "a list of lookups", "Each has a name, a table and a key.")
    names = [each.name.casefold() for each in lookups]
    if len(set(names)) != len(names):
        raise InvalidParameter("lookups", names, "lookups with different names")
    return lookups


def _kept(memory: dict[str, _Kept], key: str, value: _Kept) -> _Kept:
    """Return a value after keeping it; a full memory begins anew."""
    if len(memory) >= _MOST_READ:
        memory.clear()
    memory[key] = value
    return value


def is_expression(name: str) -> bool:
    """Tell whether the name of a column looks like an expression that derives one.

    >>> is_expression("admitted.month"), is_expression("CASE WHEN a THEN 1 END"), is_expression("age")
    (True, True, False)
    """
    return bool(_EXPRESSION & set(name)) or name.strip().casefold().startswith("case ")


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
    """What queries are checked against: the declared columns joined with the stored ones.

    Wherever a column is named, an expression that derives one may be used instead.
    """

    schema: Schema
    stored: Mapping[str, Stored]
    # What was read of names and expressions; a text may hold the same one very often.
    _read: dict[str, Field] = field(default_factory=dict, compare=False, repr=False)
    _alike: dict[str, list[str]] = field(default_factory=dict, compare=False, repr=False)
    _possible: dict[str, frozenset[Constant | None]] = field(default_factory=dict, compare=False, repr=False)
    conditions: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def field(self, name: str, asked: str = "text") -> Field:
        """Return the column as queries see it; `asked` is the kind that a query takes it for.

        A column without a type holds texts: rows alone would tell numbers among them from words, and a sum
        would take words, or numbers with a decimal comma, for 0 without a warning.
        """
        column = self.resolve(name)
        if column not in self.stored:
            return self._derived(column)
        declared, stored = self.schema.get(column), self.stored[column]
        if declared is not None and not declared.reviewed:
            place = self.schema.place
            raise InvalidQuery(
                f"Column {column} was drafted from the rows and not yet reviewed.",
                Confirm(column, None if place is None else str(place)),
            )
        if not stored.usable:
            raise InvalidQuery(
                f"Column {column} cannot be asked about: it holds lists, structures, bytes, times of day or "
                "another type that has no numbers, texts or dates."
            )
        kind = declared.type if declared else stored.kind or "text"
        if declared is None and stored.kind is None and asked != "text":
            raise InvalidQuery(
                f"The type of {column} is not declared, so it is read as text and cannot be used as "
                f"{_ASKED[asked]}.",
                Declare(column, ("type",)),
                "If the file needs it, declare its decimal sign and its words for missing values.",
                DraftSchema(),
            )
        cast = stored.cast or kind != stored.kind
        zone = self.schema.zone if kind in ("date", "timestamp") else None
        if declared is None:
            return Field(column, kind, cast, zone=zone)
        return Field(column, kind, cast, declared.decimal or ".", declared.missing_words, zone)

    def _derived(self, name: str) -> Field:
        """Return a derived column: one that the schema names, or an expression."""
        known = self._read.get(name)
        if known is not None:
            return known
        named = dict(self.schema.derived)
        if name in named:
            # Made of those before it, so that none is made of itself.
            before = self.schema.derived[: list(named).index(name)]
            table = Table(replace(self.schema, derived=before), self.stored)
            made = replace(Schema.deriver(named[name], table), name=name)
        else:
            made = Schema.deriver(name, self)
        return self.remember(made, name)

    def remember(self, derived: Field, name: str) -> Field:
        """Keep what an expression derives, so that the same text is not read again; return it."""
        return _kept(self._read, name, derived)

    def labels(self, field: Field) -> frozenset[Constant]:
        """Return all values of a derived column; nothing for any other."""
        if field.derivation is None or isinstance(field.derivation, Recorded):
            return frozenset()
        return self._listed(field.name, field.derivation.labels)  # type: ignore[return-value]

    def _listed(
        self, name: str, values: Callable[[], Iterable[Constant | None]]
    ) -> frozenset[Constant | None]:
        """Return all values of a column as a set, made once: a list may be asked about thousands of them."""
        # Looked up once: another thread of the session may forget it meanwhile.
        known = self._possible.get(name)
        return _kept(self._possible, name, frozenset(values())) if known is None else known

    def constant(self, field: Field, value: object) -> Constant:
        """Return what a column is compared with for equality, if the schema says that a row can hold it.

        Where the schema lists all values, any other is a slip, and its answer would be noise around 0.
        """
        read = field.constant(value)
        declared = self.schema.get(field.name)
        values: Any = self.labels(field)
        if declared is not None and declared.other is None and declared.values is not None:
            values = self._listed(field.name, lambda: declared.values)
        if not values or read in values:
            return read
        made = field.derivation is not None
        known = sorted(values) if made else [item for item in declared.values if item is not None]  # type: ignore[union-attr]
        near = get_close_matches(str(read), [str(item) for item in known[:_MOST_NEAR]], n=1)
        listed = ", ".join(str(item) for item in known[:_MOST_LISTED]) + ", ..." * (len(known) > _MOST_LISTED)
        problem = f"{shown(value)} is not among the values that the schema declares for {field.name}."
        fixes: list[Remedy | str] = (
            [DidYouMean(repr(near[0]) if field.kind == "text" else near[0])] if near else []
        )
        if made:
            problem = f"{shown(value)} is not a value of {field.name}."
            fixes.append(f"The values are {listed}; IS NULL finds rows with none of them.")
        else:
            fixes.append(
                f"The values are {listed}. If there may be others, the curator can declare a cell for them."
            )
            fixes.append(Declare(field.name, ("other",)))
        raise InvalidQuery(problem, *fixes)

    def kind(self, name: str) -> str | None:
        """Return the declared or stored kind of a column, None where nothing says."""
        column = self.resolve(name)
        if column not in self.stored:
            return self._derived(column).kind
        declared = self.schema.get(column)
        return declared.type if declared else self.stored[column].kind

    def _names(self) -> list[str]:
        return [*self.stored, *(name for name, _ in self.schema.derived)]

    def _spellings(self, name: str) -> list[str]:
        """Return the columns whose names differ from one by case and outer spaces at most."""
        if not self._alike:
            alike: dict[str, list[str]] = {}
            for known in self._names():
                alike.setdefault(known.strip().casefold(), []).append(known)
            # At once: another thread of the session may read it meanwhile.
            self._alike.update(alike)
        return self._alike.get(name.strip().casefold(), [])

    def resolve(self, name: str) -> str:
        """Return the exact name of a column; case and outer spaces are forgiven where that is unambiguous."""
        if isinstance(name, str):
            alike = [name] if name in self.stored else self._spellings(name)
            if name in alike:
                return name
            if len(alike) == 1:
                return alike[0]
            if is_expression(name):
                return self._derived(name).name
        all_names = self._names()
        near = get_close_matches(shown(name).strip("'"), all_names, n=1)
        named = f"Its columns are {', '.join(all_names)}." if all_names else "No column is declared yet."
        hint = DidYouMean(near[0]) if near else named
        raise InvalidQuery(f"{shown(name)} is not a column of the data.", hint)
