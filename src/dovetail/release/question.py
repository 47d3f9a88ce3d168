"""Hold a question after it was checked against the schema: everything that decides price and answer.

    SELECT axes, measure FROM data WHERE where GROUP BY axes

Two questions are the same exactly when their dictionaries are equal, however they were spelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as attribute
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any, ClassVar, TypeAlias

from .condition import Condition
from .field import Constant, Field, written

Cell: TypeAlias = tuple[Constant | None, ...]
"""A cell: its number on every axis with public cells, its value on every other."""

MOST_CELLS = 100_000
# Every engine runs through uneven bins one after another, block by block of rows.
MOST_UNEVEN_BINS = 2_000
_EXACT = 2**61
# What counts as the number of cells where it is secret: more than any person has.
_UNLIMITED = 2**63


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

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": [self.field.name, self.field.kind],
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
        shown = [_short(edge) for edge in self.edges]
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

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": [self.field.name, self.field.kind],
            "bins": [written(edge) for edge in self.edges],
            "other": self.other,
        }


@dataclass(frozen=True, slots=True)
class Discovered:
    """The values of a column that the rows hold; which they are is secret until noise lets one through."""

    field: Field
    other: ClassVar[None] = None

    def to_dict(self) -> dict[str, Any]:
        return {"column": [self.field.name, self.field.kind], "keys": "discover", "other": None}


Axis: TypeAlias = Keys | Bins | Discovered


@dataclass(frozen=True, slots=True)
class Lattice:
    """A column clamped to [low, high] and rounded to multiples of step; low and high in steps."""

    field: Field
    low: int
    high: int
    step: Fraction

    def to_dict(self) -> dict[str, Any]:
        column = [self.field.name, self.field.kind]
        return {"column": column, "low": self.low, "high": self.high, "step": str(self.step)}


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows."""

    def to_dict(self) -> dict[str, Any]:
        return {"count": "rows"}


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a column on its lattice; a missing value adds 0."""

    lattice: Lattice

    def to_dict(self) -> dict[str, Any]:
        return {"sum": self.lattice.to_dict()}


@dataclass(frozen=True, slots=True)
class Average:
    """The mean of a column on its lattice, over the rows that have a value."""

    lattice: Lattice

    def to_dict(self) -> dict[str, Any]:
        return {"mean": self.lattice.to_dict()}


@dataclass(frozen=True, slots=True)
class Weighted:
    """The number of rows in each cell of the one axis, weighted (in steps) and added up."""

    weights: tuple[int, ...]
    step: Fraction

    def to_dict(self) -> dict[str, Any]:
        return {"linear": list(self.weights), "step": str(self.step)}


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many persons."""

    def to_dict(self) -> dict[str, Any]:
        return {"count": "persons"}


Measure: TypeAlias = Rows | Total | Average | Weighted | Distinct


@dataclass(frozen=True, slots=True)
class Persons:
    """Whose rows they are, and how much of one person a question may use: rows in all, in so many cells."""

    unit: Field
    max_rows: int
    max_cells: int

    def to_dict(self) -> dict[str, Any]:
        column = [self.unit.name, self.unit.kind]
        return {"unit": column, "max_rows": self.max_rows, "max_cells": self.max_cells}


@dataclass(frozen=True, slots=True)
class Question:
    """One checked question."""

    measure: Measure
    axes: tuple[Axis, ...] = ()
    where: Condition | None = None
    persons: Persons | None = None

    @property
    def cells(self) -> int:
        """Return how many numbers, or rows of a table, the answer has."""
        if isinstance(self.measure, Weighted):
            return 1
        return _UNLIMITED if self.discovers else public_cells(self.axes)

    @property
    def discovers(self) -> bool:
        """Tell whether the keys of a column are found out, so that the answer's cells are not public."""
        return any(isinstance(axis, Discovered) for axis in self.axes)

    @property
    def step(self) -> Fraction:
        """Return what one unit of the released integers stands for."""
        if isinstance(self.measure, Weighted):
            return self.measure.step
        if isinstance(self.measure, Total | Average):
            return self.measure.lattice.step
        return Fraction(1)

    @property
    def grouped(self) -> bool:
        """Tell whether the answer is a table rather than one number."""
        return bool(self.axes) and not isinstance(self.measure, Weighted)

    def cell_keys(self) -> list[tuple[Constant | None, ...]]:
        """Return the labels of every public cell, the last axis running fastest."""
        assert not self.discovers, "the answer knows its keys, the question does not"
        return list(product(*(axis.labels for axis in listed_axes(self.axes)))) if self.grouped else [()]

    def named(self, cell: Cell) -> tuple[Constant | None, ...]:
        """Return the labels of a cell that was found out."""
        return tuple(
            key if isinstance(axis, Discovered) else axis.labels[int(key)]  # type: ignore[arg-type]
            for axis, key in zip(self.axes, cell, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form: what the ledger compares."""
        found = {
            "measure": self.measure.to_dict(),
            "axes": [axis.to_dict() for axis in self.axes],
            "where": self.where.to_dict() if self.where else None,
        }
        return found if self.persons is None else found | {"persons": self.persons.to_dict()}


def listed_axes(axes: tuple[Axis, ...]) -> tuple[Keys | Bins, ...]:
    """Return the axes whose cells are public."""
    return tuple(axis for axis in axes if not isinstance(axis, Discovered))


def public_cells(axes: tuple[Axis, ...]) -> int:
    """Return how many cells the public axes have together."""
    return prod(len(axis.labels) for axis in listed_axes(axes))


def _short(edge: Constant) -> str:
    if isinstance(edge, Fraction):
        return str(edge.numerator) if edge.denominator == 1 else f"{float(edge):.6g}"
    return str(edge)
