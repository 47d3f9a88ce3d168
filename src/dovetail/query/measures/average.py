"""The mean of a column: a noisy sum divided by a noisy count.

With l <= x <= u the sum of z = 2x - l - u is released rather than that of x: one row moves it by u - l at
most, whichever way it leans, and the number of rows does not shift it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dovetail.query.lattice import Lattice
from dovetail.query.partitions import Axis

from .component_contents import COUNT, centred_sum
from .error_bars import Bar, shared_chance
from .measure import Cells, Measure, ValueCount, ValueSum
from .sensitivity import COUNTED, Component, Reach

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise


@dataclass(frozen=True, slots=True)
class Average(Measure):
    """The mean of a column on its lattice, over the rows that have a value."""

    values: Lattice

    kind = "mean"
    exact_numbers = False
    unknown_error = "The error of a mean depends on the number of rows, which is private."

    def lattice(self) -> Lattice:
        return self.values

    def aggregates(self) -> tuple[ValueSum, ValueCount]:
        return (ValueSum(), ValueCount())

    def released(self, parts: Cells) -> tuple[int, ...]:
        ((total, count),) = parts
        return 2 * total - (self.values.low + self.values.high) * count, count

    def components(self) -> tuple[Component, ...]:
        width = self.values.high - self.values.low
        return (Component("sum", Reach(width, width)), Component("count", COUNTED))

    def contents(self) -> tuple[str, ...]:
        return (centred_sum(self.values), COUNT)

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        return [self._mean(Fraction(total, max(count, 1))) for total, count in cells]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        from dovetail.workloads.ratios import Ratios

        width = self.values.high - self.values.low
        each = shared_chance(chance, len(cells)) if simultaneous else chance
        around_total, around_count = noises
        ratios = Ratios(around_total, around_count, low=-width, high=width, chance=each)
        means = (ratios.interval(total, count) for total, count in cells)
        bounds = [(self._mean(Fraction(mean.low)), self._mean(Fraction(mean.high))) for mean in means]
        # Of a count below 1 the estimate need not solve what the interval does; the box holds both.
        values = self.estimates(cells, noises)
        return [
            Bar(min(low, value), max(high, value)) for (low, high), value in zip(bounds, values, strict=True)
        ]

    def _mean(self, centred: Fraction) -> Fraction:
        """Return the mean of x, within its bounds, from that of z."""
        low, high = self.values.low, self.values.high
        return min(max((centred + low + high) / 2, Fraction(low)), Fraction(high)) * self.values.step

    def to_dict(self) -> dict[str, Any]:
        return {"mean": self.values.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        return cls(Lattice.from_dict(data["mean"]))

    def words(self) -> str:
        return f"mean of {self.values.field.name}"
