"""A public table that says more about the values of a column, such as the canton of a postcode."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from datetime import date, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from dovetail.errors import DataError, InvalidParameter, InvalidQuery, shown

from .field import OTHER, Constant, Field, kind_of, written

MOST_KEYS = 10_000
_KINDS = ("integer", "text", "boolean", "date")
_TABLES = "a CSV or Parquet file, a data frame or a dictionary of columns"


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a public table says of a row's key: `pairs` of a key and its value, each key once."""

    field: Field
    lookup: str
    column: str
    kind: str
    # The digest stands for them: comparing them all would take long.
    pairs: tuple[tuple[Constant, Constant], ...] = attribute(compare=False, repr=False)
    digest: str

    @property
    def title(self) -> str:
        return f"{self.lookup}.{self.column}"

    @property
    def otherwise(self) -> str | None:
        """Return the value of rows without a match, where the table itself has one called other."""
        return OTHER if OTHER in self.labels() else None

    @property
    def other(self) -> str | None:
        return OTHER if self.otherwise is None else None

    @property
    def size(self) -> int:
        return 2 * len(self.pairs)

    def labels(self) -> tuple[Constant, ...]:
        return tuple(dict.fromkeys(value for _, value in self.pairs))

    def to_dict(self) -> dict[str, Any]:
        return {"lookup": self.digest, "of": self.field.written()}


def looked_up(
    field: Field, lookup: str, column: str, kind: str, found: Mapping[Constant, Constant]
) -> LookedUp:
    """Return a column of a lookup; a table that is another, or that changed, makes another question."""
    pairs = tuple(found.items())
    listed = json.dumps([[written(key), written(value)] for key, value in sorted(pairs)])
    return LookedUp(field, lookup, column, kind, pairs, sha256(listed.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class Lookup:
    """A public table with a column `key` whose values are all different.

    `on` names the column of the data that holds such keys; without it, LEFT JOIN ... ON in a SELECT names it.
    Rows whose key is not in the table have no value, and are counted in the cell `other`. The table is read
    when it is declared, and must not come from the rows. `file` is how a schema's own file names it.

    >>> Lookup("cantons", {"code": ["ZH", "GE"], "language": ["de", "fr"]}, key="code", on="canton").name
    'cantons'
    """

    name: str
    table: Any = attribute(repr=False)
    key: str
    on: str | None = None
    file: str | None = attribute(default=None, compare=False, repr=False)
    _made: dict[tuple[str, Field], LookedUp] = attribute(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameter("lookup", self.name, "a name")
        columns = _columns(self.name, self.table)
        for option in ("key", "on"):
            value = getattr(self, option)
            if not isinstance(value, str | None):
                raise InvalidParameter(option, value, "the name of a column", f"Lookup {self.name}.")
        if self.key not in columns:
            raise InvalidParameter(
                "key", self.key, f"a column of lookup {self.name}: {', '.join(columns)}", "Correct the name."
            )
        _check_keys(self.name, self.key, columns[self.key])
        object.__setattr__(self, "table", tuple((name, tuple(values)) for name, values in columns.items()))

    def columns(self) -> dict[str, tuple[Any, ...]]:
        """Return the columns of the table, the key among them."""
        return dict(self.table)

    def derive(self, column: str, by: Field) -> LookedUp:
        """Return a column of the table as one that is derived from the column `by` of the data."""
        if (column, by) not in self._made:
            mapping = self.values(column, by)
            self._made[column, by] = looked_up(by, self.name, column, self.kind(column), mapping)
        return self._made[column, by]

    def kind(self, column: str) -> str:
        """Return the kind of a column's values."""
        return _kind(self.name, column, self.columns()[column])

    def values(self, column: str, by: Field) -> dict[Constant, Constant]:
        """Return the values of a column by key, the keys as the column `by` of the data holds them.

        >>> cantons = Lookup("cantons", {"code": ["1", "25"], "name": ["ZH", None]}, key="code")
        >>> cantons.values("name", Field("canton", "integer"))
        {1: 'ZH'}
        """
        if by.kind not in _KINDS:
            raise InvalidQuery(f"The type of {by.name} is {by.kind}, which cannot be the key of a lookup.")
        table, reader = self.columns(), Field(column, self.kind(column))
        mapping: dict[Constant, Constant] = {}
        seen: set[Constant] = set()
        for raw, value in zip(table[self.key], table[column], strict=True):
            key = by.constant(_as_key(raw, by.kind))
            if key in seen:
                raise InvalidQuery(
                    f"Two keys of lookup {self.name} are {shown(key)} for {by.name}, whose type is {by.kind}."
                )
            seen.add(key)
            if value is not None:
                mapping[key] = reader.constant(value)
        if not mapping:
            raise InvalidQuery(f"Column {column} of lookup {self.name} is empty.")
        return mapping


def _as_key(value: Any, kind: str) -> Any:
    """Return a key of a CSV file, which holds texts, as the number that it spells."""
    if kind == "integer" and isinstance(value, str) and re.fullmatch("[+-]?[0-9]{1,18}", value.strip()):
        return int(value)
    return str(value) if kind == "text" and isinstance(value, int) and not isinstance(value, bool) else value


def _check_keys(name: str, key: str, values: list[Any]) -> None:
    """Refuse a key that is missing or stands twice: a row would have two values, or count twice."""
    if not 0 < len(values) <= MOST_KEYS:
        raise InvalidParameter(
            "lookup",
            name,
            f"a table of 1 to {MOST_KEYS} rows",
            "Join a larger one with the data beforehand.",
        )
    seen: set[Any] = set()
    for value in values:
        if value is None:
            raise InvalidParameter("key", key, f"a column of lookup {name} without missing values")
        if value in seen:
            raise InvalidParameter(
                "key", key, f"a column of lookup {name} whose values are all different; {shown(value)} is not"
            )
        seen.add(value)
    _kind(name, key, values)


def _kind(name: str, column: str, values: Any) -> str:
    kinds = {_kind_of(value) for value in values if value is not None}
    if len(kinds) > 1 or not kinds <= set(_KINDS):
        raise InvalidParameter(
            "lookup",
            name,
            f"a table whose column {column} holds texts, whole numbers, days or truth values, of one type",
        )
    return kinds.pop() if kinds else "text"


def _kind_of(value: Any) -> str:
    known = isinstance(value, bool | int | str | date) and not isinstance(value, datetime)
    return kind_of(value) if known else "none"


def _columns(name: str, table: Any) -> dict[str, list[Any]]:
    """Return a table as lists of plain values by column."""
    if isinstance(table, str | Path):
        table = _read(name, Path(table))
    if isinstance(table, tuple):
        table = dict(table)
    if hasattr(table, "to_pydict"):  # Arrow
        table = table.to_pydict()
    elif hasattr(table, "get_columns"):  # Polars
        table = {column.name: column.to_list() for column in table.get_columns()}
    elif hasattr(table, "columns") and hasattr(table, "isna"):  # pandas
        plain = table.astype(object).where(~table.isna(), None)
        table = {column: plain[column].tolist() for column in table.columns}
    if not isinstance(table, Mapping) or not table or not all(isinstance(each, str) for each in table):
        raise InvalidParameter("lookup", name, _TABLES)
    columns = {column: list(islice(values, MOST_KEYS + 1)) for column, values in table.items()}
    if len({len(values) for values in columns.values()}) != 1:
        raise InvalidParameter("lookup", name, "a table whose columns are equally long")
    return columns


def _read(name: str, path: Path) -> Any:
    try:
        if not path.is_file():  # a device or a pipe may never end
            raise FileNotFoundError(2, "there is no such file")
        if path.suffix.lower() == ".parquet":
            from pyarrow.parquet import read_table

            return read_table(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(islice(csv.reader(file), MOST_KEYS + 2))
    except Exception as error:  # noqa: BLE001
        why = getattr(error, "strerror", None) or "it is neither CSV in UTF-8 nor Parquet"
        raise DataError(f"The lookup {name}, {shown(str(path))}, cannot be read: {why}.") from None
    header, *body = rows or [[]]
    if len(set(header)) != len(header) or any(len(row) != len(header) for row in body):
        raise DataError(f"The lookup {name}, {shown(str(path))}, has rows of different lengths.")
    return {column: [row[place] or None for row in body] for place, column in enumerate(header)}
