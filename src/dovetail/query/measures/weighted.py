"""A weighted sum of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dovetail.exact.figures import exact_figure
from dovetail.query.partitions import Axis, Keys

from .measure import Cells, Measure, RowCount
from .sensitivity import Component, Reach

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise


@dataclass(frozen=True, slots=True)
class Weighted(Measure):
    """The number of rows with each of the keys, weighted (in steps) and added up.

    `rounded` says that some weights are not those that were asked for.
    """

    keys: Keys
    weights: tuple[int, ...]
    unit: Fraction
    rounded: bool = False

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

    def remarks(self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction) -> tuple[str, ...]:
        step = exact_figure(self.unit)
        said = f"Weights were rounded to multiples of {step}; the error bars do not cover that."
        return (said,) if self.rounded else ()

    def to_dict(self) -> dict[str, Any]:
        written: dict[str, Any] = {"linear": list(self.weights), "step": str(self.unit)}
        return written | {"rounded": True} if self.rounded else written

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        keys = axes[-1]
        if not isinstance(keys, Keys):
            raise TypeError("weights belong to listed keys")
        rounded = data.get("rounded", False)
        return cls(keys, tuple(data["linear"]), Fraction(data["step"]), rounded)

    def words(self) -> str:
        return f"weighted sum over {self.keys.field.name}"

    def scale(self) -> str:
        return "weighted sum of rows"
