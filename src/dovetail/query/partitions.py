"""Divide the rows into cells: listed keys, bins, the values of the schema, or keys found in the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, TypeAlias

from dovetail.errors import InvalidParameter, InvalidQuery, MissingKeys
from dovetail.errors.remedies import Declare, DraftSchema, Give, KeepOne
from dovetail.errors.values import exact_text

from .column import listed, public_values
from .field import MOST_CELLS, Constant, Field, Recorded, kind_of, written
from .lattice import Lattice
from .schema import Table
from .times import constant_of, value_at

DISCOVER = "discover"
_EDGES = "Those edges make three cells; dates are written 2025-01-31."


def axes_of(columns: Sequence[str], keys: Any, bins: Any, table: Table) -> tuple[Axis, ...]:
    """Return one axis per column.

    >>> from dovetail.query import Column, Schema
    >>> table = Schema([Column("age", "integer"), Column("sex", "text", values=["F", "M"])]).table()
    >>> [len(axis.labels) for axis in axes_of(["sex", "age"], None, {"age": [0, 18, 65]}, table)]
    [2, 2]
    """
    names = [table.resolve(column) for column in columns]
    if len(set(names)) != len(names):
        raise InvalidQuery(f"A column is named twice: {', '.join(names)}.")
    given_bins = _by_column("bins", bins, names, table)
    if isinstance(keys, str):
        # One word for all columns that are not binned.
        keys = {name: keys for name in names if name not in given_bins}
    given_keys = _by_column("keys", keys, names, table)
    return tuple(_axis(name, given_keys.get(name), given_bins.get(name), table) for name in names)


def _by_column(option: str, given: Any, names: list[str], table: Table) -> dict[str, Any]:
    """Return what was given for each column: a mapping by name, or one list for a single column."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        by_column = {table.resolve(column): cells for column, cells in given.items()}
        unknown = set(by_column) - set(names)
        if unknown:
            raise InvalidParameter(
                option,
                sorted(map(str, unknown)),
                f"given for columns of the histogram ({', '.join(names)})",
                "Add the column to the histogram, or ask about it with where.",
            )
        return by_column
    if len(names) != 1:
        raise InvalidParameter(option, given, "given by column")
    return {names[0]: given}


def _axis(name: str, keys: Any, bins: Any, table: Table) -> Axis:
    declared = table.schema.get(name)
    other = declared.other if declared else None
    if keys is not None and bins is not None:
        raise InvalidQuery(f"The cells of {name} are given twice.", KeepOne(("keys", "bins")))
    if bins is not None:
        return _binned(name, bins, other, table)
    if isinstance(keys, str):
        if keys != DISCOVER:
            raise InvalidParameter("keys", keys, "a list of public values", Give("keys", "keys:discover"))
        return Discovered(_keyed(table.field(name)))
    if keys is not None:
        keys = _limited(name, listed(keys))
        field = _keyed(table.field(name, asked=_asked(keys)))
        return Keys(field, public_values(field, keys), other)
    field = table.field(name)
    if field.derivation is not None and not isinstance(field.derivation, Recorded):
        made = field.derivation
        return Keys(field, _limited_labels(name, made.labels()), made.other, declared=True)
    if declared is None or declared.values is None:
        raise MissingKeys(
            f"The cells of {name} are not public: a value seen only in the data could point to one person.",
            Give("keys", "bins"),
            Declare(name, ("values",)),
            DraftSchema(),
            "Where nobody knows them, frequent ones can be found in the rows, at the cost of a delta.",
            Give("keys:discover"),
        )
    return Keys(_keyed(field), declared.values, other, declared=True)


def _keyed(field: Field) -> Field:
    # Of a derived column all values are known and exact.
    if field.kind in ("number", "timestamp") and field.derivation is None:
        raise InvalidQuery(f"The type of {field.name} is {field.kind}.", Give("bins"))
    return field


def _asked(keys: list[Any]) -> str:
    """Return the kind that given keys ask for, where the source declares none."""
    return kind_of(next((key for key in keys if key is not None), ""))


def _binned(name: str, bins: Any, other: str | None, table: Table) -> Bins:
    edges = _limited(name, listed(bins))
    if len(edges) < 2:
        raise InvalidParameter("bins", bins, "a list of at least two edges", Give("bins"), _EDGES)
    field = table.field(name, asked="number" if kind_of(edges[0]) == "integer" else kind_of(edges[0]))
    if field.kind not in ("integer", "number", "date", "timestamp"):
        raise InvalidQuery(f"The type of {name} is {field.kind}.", Give("keys"))
    read: list[Any] = [field.constant(edge) for edge in edges]
    for low, high in pairwise(read):
        if not low < high:
            raise InvalidParameter(
                "bins", bins, "edges in rising order without repeats", Give("bins"), _EDGES
            )
    made = Bins(field, tuple(read), other)
    if len(read) - 1 > MOST_UNEVEN_BINS and made.even_width is None:
        raise InvalidQuery(
            f"{len(read) - 1} bins of {name} are more than {MOST_UNEVEN_BINS}.",
            "Use fewer; only bins of equal width on whole numbers may be more.",
        )
    return made


def _limited(name: str, values: list[Any]) -> list[Any]:
    if len(values) > MOST_CELLS:
        raise InvalidQuery(
            f"The cells of {name} are more than {MOST_CELLS}.", "Use fewer keys or wider bins."
        )
    return values


def _limited_labels(name: str, labels: tuple[Constant, ...]) -> tuple[Constant, ...]:
    _limited(name, list(labels))
    return labels


Cell: TypeAlias = tuple[Constant | None, ...]
"""A cell: its number on every axis with public cells, its value on every other."""
# Every engine runs through uneven bins one after another, block by block of rows.
MOST_UNEVEN_BINS = 2_000
_EXACT = 2**61


@dataclass(frozen=True, slots=True)
class Keys:
    """The cells of one column with public values; with `other`, one more cell for all other rows.

    `declared` values come from the schema: few others are expected, which lets the engine group first.
    """

    field: Field
    values: tuple[Constant | None, ...]
    other: str | None = None
    declared: bool = attribute(default=False, compare=False)

    @property
    def labels(self) -> tuple[Constant | None, ...]:
        """Return the name of each cell, in order."""
        return self.values if self.other is None else (*self.values, self.other)

    @property
    def cells(self) -> int:
        """Return how many cells there are."""
        return len(self.values) + (self.other is not None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.field.written(),
            "keys": [written(value) for value in self.values],
            "other": self.other,
        }


@dataclass(frozen=True, slots=True)
class Bins:
    """The cells [edge, next edge) of a column of numbers or dates; with `other`, one more for the rest."""

    field: Field
    edges: tuple[Constant, ...]
    other: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the name of each cell, in order.

        >>> Bins(Field("age", "integer"), (0, 18, 65)).labels
        ('[0, 18)', '[18, 65)')
        """
        shown = map(_named, self.edges)
        named = tuple(f"[{low}, {high})" for low, high in pairwise(shown))
        return named if self.other is None else (*named, self.other)

    @property
    def even_width(self) -> int | None:
        """Return the common width of bins of whole numbers, None where there is none.

        >>> Bins(Field("age", "integer"), (0, 10, 20)).even_width
        10
        """
        if self.field.kind != "integer":
            return None
        whole = [int(edge) for edge in self.edges]  # type: ignore[arg-type]
        widths = {high - low for low, high in pairwise(whole)}
        if max(map(abs, whole)) > _EXACT:
            return None
        return widths.pop() if len(widths) == 1 else None

    @property
    def cells(self) -> int:
        """Return how many cells there are."""
        return len(self.edges) - 1 + (self.other is not None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.field.written(),
            "bins": [written(edge) for edge in self.edges],
            "other": self.other,
        }


@dataclass(frozen=True, slots=True)
class Steps:
    """The points of a column's lattice, one cell for each; a row without a number lies in none.

    >>> Steps(Lattice(Field("height", "number"), 0, 2, Fraction(1, 2))).labels
    (Fraction(0, 1), Fraction(1, 2), Fraction(1, 1))
    """

    lattice: Lattice
    other: ClassVar[None] = None

    @property
    def field(self) -> Field:
        """Return the column."""
        return self.lattice.field

    @property
    def labels(self) -> tuple[Constant, ...]:
        """Return the point of each cell, in order."""
        return tuple(map(self.label, range(self.cells)))

    def label(self, place: int) -> Constant:
        """Return the point of one cell."""
        point = constant_of(self.lattice, value_at(self.lattice, place))
        whole = self.field.kind == "integer" and isinstance(point, Fraction) and point.denominator == 1
        return int(point) if whole else point  # type: ignore[arg-type]

    @property
    def cells(self) -> int:
        """Return how many cells there are."""
        return self.lattice.high - self.lattice.low + 1

    def to_dict(self) -> dict[str, Any]:
        return {**self.lattice.to_dict(), "other": None}


@dataclass(frozen=True, slots=True)
class Discovered:
    """The values of a column that the rows hold; which they are is secret until noise lets one through."""

    field: Field
    other: ClassVar[None] = None

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.field.written(), "keys": "discover", "other": None}


ListedAxis: TypeAlias = Keys | Bins | Steps
Axis: TypeAlias = ListedAxis | Discovered


def listed_axes(axes: tuple[Axis, ...]) -> tuple[ListedAxis, ...]:
    """Return the axes whose cells are public."""
    return tuple(axis for axis in axes if not isinstance(axis, Discovered))


def public_cells(axes: tuple[Axis, ...]) -> int:
    """Return how many cells the public axes have together."""
    return prod(axis.cells for axis in listed_axes(axes))


def _named(edge: Constant) -> str:
    """Return an edge exactly, or two bins could have one name."""
    if isinstance(edge, Fraction) and edge.denominator != 1:
        return exact_text(edge, exponent=True)
    return str(edge)
