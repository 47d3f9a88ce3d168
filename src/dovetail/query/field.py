"""Say what a column holds, and read a constant that may be compared with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from dovetail.check import rational
from dovetail.errors import InvalidParameter, InvalidQuery, shown

Constant: TypeAlias = bool | int | Fraction | str | date | datetime

KINDS = ("integer", "number", "text", "boolean", "date", "timestamp")
# The cell of rows that get no value of a derived column.
OTHER = "other"
LARGEST_INTEGER = 2**63 - 1
# What decides, beside its kind, how a stored column is read.
_READ_AS = {"decimal", "missing_words", "zone"}
_LARGEST_DOUBLE = 10**308
_EXAMPLE = {
    "integer": "a whole number such as 40",
    "number": "a number such as 1.5",
    "text": "a text such as 'Male'",
    "boolean": "TRUE or FALSE",
    "date": "a date such as '2024-01-31'",
    "timestamp": "a time such as '2024-01-31 12:00:00'",
}


class Derivation(Protocol):
    """How the value of a derived column follows from a row, whatever the row holds."""

    @property
    def kind(self) -> str:
        """Return the kind of its values."""

    def labels(self) -> tuple[Constant, ...]:
        """Return all values that a row can have; a row with none of them has no value."""

    @property
    def other(self) -> str | None:
        """Return the name of the cell of rows without a value, None where every row has one."""

    @property
    def title(self) -> str:
        """Return the name that it has in every spelling."""

    @property
    def size(self) -> int:
        """Return about how many comparisons it takes to spell it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A derivation as a ledger keeps it: to be shown, not to be asked of an engine."""

    written: str


@dataclass(frozen=True, slots=True)
class Field:
    """One column as a query sees it.

    `cast` says that the engine stores something else: each row is then converted where it can be and counts
    as missing where it cannot, so that no row makes a query fail. `decimal` and `missing_words` say how a
    text is read, and `zone` in which time zone an instant is. A column that has a `derivation` is made of
    others.
    """

    name: str
    kind: str
    cast: bool = False
    decimal: str = field(default=".", repr=False)
    missing_words: tuple[Constant, ...] = field(default=(), repr=False)
    zone: str | None = field(default=None, repr=False)
    derivation: Derivation | Recorded | None = field(default=None, repr=False)

    def constant(self, value: object) -> Constant:
        """Return `value` as this column's constant.

        >>> Field("age", "integer").constant(40.0)
        40
        >>> Field("born", "date").constant("1990-05-01")
        datetime.date(1990, 5, 1)
        """
        return self.constants([value])[0]

    def constants(self, values: Iterable[object]) -> list[Constant]:
        """Return values as this column's constants.

        >>> Field("sex", "text").constants(["Female", "Male"])
        ['Female', 'Male']
        """
        read = _READERS[self.kind]
        read_constants: list[Constant] = []
        for value in values:
            constant = read(value)
            if constant is None:
                raise InvalidQuery(
                    f"{shown(value)} cannot be compared with {self.name}, whose type is {self.kind}.",
                    f"Give {_EXAMPLE[self.kind]}.",
                )
            read_constants.append(constant)
        return read_constants

    def written(self) -> list[Any]:
        """Return the canonical form: the name, the kind and whatever else decides what a row holds.

        >>> Field("age", "integer", cast=True).written()
        ['age', 'integer']
        >>> Field("pay", "number", decimal=",").written()
        ['pay', 'number', {'decimal': ','}]
        """
        if isinstance(self.derivation, Recorded):
            return [self.name, self.kind, json.loads(self.derivation.written)]
        if self.derivation is not None:
            return [self.derivation.title, self.kind, self.derivation.to_dict()]
        words = sorted(map(str, self.missing_words))
        said = {"decimal": None if self.decimal == "." else self.decimal, "missing_words": words or None}
        read_as = {name: value for name, value in (said | {"zone": self.zone}).items() if value is not None}
        return [self.name, self.kind, read_as] if read_as else [self.name, self.kind]


def read_column(data: Sequence[Any]) -> Field:
    """Read what `Field.written` wrote.

    >>> read_column(["seen", "timestamp", {"zone": "Europe/Zurich"}]).zone
    'Europe/Zurich'
    """
    name, kind, *more = data
    said = dict(more[0]) if more else {}
    if not set(said) <= _READ_AS:
        return Field(name, kind, derivation=Recorded(json.dumps(said, sort_keys=True)))
    words = tuple(map(str, said.get("missing_words", ())))
    return Field(name, kind, False, said.get("decimal", "."), words, said.get("zone"))


def kind_of(value: object) -> str:
    """Return the kind of column that a Python constant asks for, where the source declares none.

    >>> kind_of(40), kind_of("Male"), kind_of(True)
    ('integer', 'text', 'boolean')
    """
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime):
        return "timestamp"
    if isinstance(value, date):
        return "date"
    return "integer" if rational("constant", value).denominator == 1 else "number"


def written(value: Constant | None) -> bool | int | str | None:
    """Return a constant as JSON holds it; rationals and dates as text.

    >>> written(Fraction(1, 4)), written(date(2024, 1, 31))
    ('1/4', '2024-01-31')
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value) if isinstance(value, Fraction) else value.isoformat()


def _integer(value: object) -> int | None:
    number = _number(value)
    if number is None or number.denominator != 1 or abs(number) > LARGEST_INTEGER:
        return None
    return int(number)


def _number(value: object) -> Fraction | None:
    if isinstance(value, str | date):
        return None
    try:
        number = rational("constant", value)
    except InvalidParameter:
        return None
    return number if abs(number) < _LARGEST_DOUBLE else None


def _text(value: object) -> str | None:
    # NUL and half a surrogate pair cannot be written in SQL.
    if not isinstance(value, str) or "\0" in value:
        return None
    return None if any("\ud800" <= letter <= "\udfff" for letter in value) else value


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: object) -> date | None:
    if isinstance(value, datetime):
        return None
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _timestamp(value: object) -> datetime | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None
    return read if isinstance(read, datetime) and read.tzinfo is None else None


_READERS = {
    "integer": _integer,
    "number": _number,
    "text": _text,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
}

MOST_CELLS = 100_000
