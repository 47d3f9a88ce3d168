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

from .bars import Bar, half_width
from .measure import Cells, Measure, ValueCount, ValueSum
from .moves import COUNTED, Component, Reach

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise


@dataclass(frozen=True, slots=True)
class Average(Measure):
    """The mean of a column on its lattice, over the rows that have a value."""

    values: Lattice

    kind = "mean"
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

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        return [self._mean(Fraction(total, max(count, 1))) for total, count in cells]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        # A mean misses only where its sum or its count does: each may use half of the chance.
        together = len(cells) if simultaneous else 1
        around_total, around_count = (half_width(noise, chance / 2, together) for noise in noises)
        return [self._box(total, count, around_total, around_count) for total, count in cells]

    def _box(self, total: int, count: int, around_total: int, around_count: int) -> Bar:
        """Return the means of all totals and counts so near to the released ones; a mean has a row."""
        fewest, most = max(count - around_count, 1), max(count + around_count, 1)
        low, high = total - around_total, total + around_total
        return Bar(
            self._mean(Fraction(low, fewest if low < 0 else most)),
            self._mean(Fraction(high, fewest if high > 0 else most)),
        )

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

    def json_number(self, value: Fraction) -> float:
        # The fractions of a mean say nothing.
        return float(value)
