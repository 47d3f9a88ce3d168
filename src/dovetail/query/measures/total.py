"""The sum of a column.

It is measured by itself or, `centred`, read from what the mean is made of. With l <= x <= u and
z = 2x - l - u the sum of x is (sum of z + (l + u)·count) / 2. That errs no more at the same price of each
part: the two parts weigh (u - l)/2 and |l + u|/2, whose squares add up to at most max(|l|, |u|)².
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dovetail.query.lattice import Lattice
from dovetail.query.partitions import Axis

from .component_contents import COUNT, centred_sum, named
from .error_bars import Bar, shared_chance
from .measure import Cells, Measure, RowAggregate, ValueCount, ValueSum
from .sensitivity import COUNTED, Component, Reach

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise


@dataclass(frozen=True, slots=True)
class Total(Measure):
    """The sum of a column on its lattice; a missing value adds 0."""

    values: Lattice
    centred: bool = False

    kind = "sum"

    def lattice(self) -> Lattice:
        return self.values

    def aggregates(self) -> tuple[RowAggregate, ...]:
        return (ValueSum(), ValueCount()) if self.centred else (ValueSum(),)

    def released(self, parts: Cells) -> Sequence[int]:
        if not self.centred:
            return Measure.released(self, parts)
        ((total, count),) = parts
        return 2 * int(total) - self._middle * int(count), int(count)

    def components(self) -> tuple[Component, ...]:
        if not self.centred:
            return (Component("sum", Reach.of_values(self.values.low, self.values.high)),)
        width = self.values.high - self.values.low
        return (Component("sum", Reach(width, width)), Component("count", COUNTED))

    def linear(self) -> tuple[Fraction, ...] | None:
        half = self.values.step / 2
        return (half, half * self._middle) if self.centred else Measure.linear(self)

    def contents(self) -> tuple[str, ...]:
        return (centred_sum(self.values), COUNT) if self.centred else (named("sum", self.values),)

    def forms(self) -> tuple[Measure, ...]:
        return (self, replace(self, centred=True))

    @property
    def _middle(self) -> int:
        return self.values.low + self.values.high

    def never_negative(self) -> bool:
        return self.values.low >= 0

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        if not self.centred:
            return Measure.estimates(self, cells, noises)
        half = self.values.step / 2
        return [(int(total) + self._middle * int(count)) * half for total, count in cells]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        width = self.error(noises, chance, len(cells) if simultaneous else 1)
        assert width is not None
        return [Bar(value - width, value + width) for value in self.estimates(cells, noises)]

    def error(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> Fraction | None:
        if not self.centred:
            return Measure.error(self, noises, chance, cells)
        from dovetail.workloads.noise_sums import NoiseSum, Term

        around_total, around_count = noises
        terms = [Term(1, around_total), *([Term(abs(self._middle), around_count)] if self._middle else [])]
        bar = NoiseSum(terms).two_sided(shared_chance(chance, cells))
        return Fraction(bar) * self.values.step / 2

    def to_dict(self) -> dict[str, Any]:
        written = {"sum": self.values.to_dict()}
        return written | {"centred": True} if self.centred else written

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        return cls(Lattice.from_dict(data["sum"]), data.get("centred", False))

    def bounded_effect(self) -> str:
        if self.values.low >= 0:
            return "sums are at most the true ones"
        return "sums are at least the true ones" if self.values.high <= 0 else "sums are of these rows"

    def words(self) -> str:
        return f"sum of {self.values.field.name}"
