"""The sum of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dovetail.query.lattice import Lattice
from dovetail.query.partitions import Axis

from .measure import Measure, ValueSum
from .moves import Component, Reach


@dataclass(frozen=True, slots=True)
class Total(Measure):
    """The sum of a column on its lattice; a missing value adds 0."""

    values: Lattice

    kind = "sum"

    def lattice(self) -> Lattice:
        return self.values

    def aggregates(self) -> tuple[ValueSum, ...]:
        return (ValueSum(),)

    def components(self) -> tuple[Component, ...]:
        return (Component("sum", Reach.of_values(self.values.low, self.values.high)),)

    def never_negative(self) -> bool:
        return self.values.low >= 0

    def to_dict(self) -> dict[str, Any]:
        return {"sum": self.values.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        return cls(Lattice.from_dict(data["sum"]))

    def words(self) -> str:
        return f"sum of {self.values.field.name}"

    def bounded_effect(self) -> str:
        if self.values.low >= 0:
            return "sums are at most the true ones"
        return "sums are at least the true ones" if self.values.high <= 0 else "sums are of these rows"
