"""A weighted sum of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dovetail.query.partitions import Axis, Keys

from .measure import Cells, Measure, RowCount
from .sensitivity import Component, Reach


@dataclass(frozen=True, slots=True)
class Weighted(Measure):
    """The number of rows with each of the keys, weighted (in steps) and added up."""

    keys: Keys
    weights: tuple[int, ...]
    unit: Fraction

    kind = "linear"

    def partition(self) -> tuple[Keys, ...]:
        return (self.keys,)

    def aggregates(self) -> tuple[RowCount, ...]:
        return (RowCount(),)

    def released(self, parts: Cells) -> tuple[int, ...]:
        return (sum(weight * count for weight, (count,) in zip(self.weights, parts, strict=True)),)

    def components(self) -> tuple[Component, ...]:
        return (Component("sum", Reach.of_values(min(self.weights), max(self.weights))),)

    def step(self) -> Fraction:
        return self.unit

    def to_dict(self) -> dict[str, Any]:
        return {"linear": list(self.weights), "step": str(self.unit)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        keys = axes[-1]
        if not isinstance(keys, Keys):
            raise TypeError("weights belong to listed keys")
        return cls(keys, tuple(data["linear"]), Fraction(data["step"]))

    def words(self) -> str:
        return f"weighted sum over {self.keys.field.name}"

    def scale(self) -> str:
        return "weighted sum of rows"
