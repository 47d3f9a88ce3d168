"""What is measured in each cell: rows, persons, a sum, a mean or a weighted sum."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from .field import Field


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
