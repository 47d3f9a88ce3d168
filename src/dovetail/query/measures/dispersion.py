"""The variance or standard deviation of a column, from three noisy numbers.

With l <= x <= u, R = u - l and z = 2x - l - u these are the number of rows, the sum of z and the sum of
2z² - R². One row moves them by (1, R, R²) at most; what a replaced row moves together is listed in
`workloads.dispersion.replacements`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dovetail.query.lattice import Lattice
from dovetail.query.partitions import Axis

from .component_contents import COUNT, centred_sum, named
from .error_bars import Bar, shared_chance
from .measure import Cells, Measure, ValueCount, ValueSum
from .sensitivity import COUNTED, Component, Reach

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise
    from dovetail.workloads.dispersion import DispersionEstimates

# A point estimate does not depend on it.
_ANY_CHANCE = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Dispersion(Measure):
    """The variance of a column on its lattice; `sample` divides by n - 1, `root` takes the square root."""

    values: Lattice
    sample: bool = False
    root: bool = False

    kind = "variance"
    exact_numbers = False
    unknown_error = "The error of a variance depends on the rows, which are private."

    @property
    def width(self) -> int:
        """Return the number of steps from the low to the high bound."""
        return self.values.high - self.values.low

    def lattice(self) -> Lattice:
        return self.values

    def aggregates(self) -> tuple[ValueCount, ValueSum, ValueSum]:
        return (ValueCount(), ValueSum(1, self.values.low), ValueSum(2, self.values.low))

    def released(self, parts: Cells) -> tuple[int, ...]:
        # With y = x - l: z = 2y - R.
        ((count, total, squares),) = parts
        second = 4 * squares - 4 * self.width * total + self.width**2 * count
        return count, 2 * total - self.width * count, 2 * second - self.width**2 * count

    def components(self) -> tuple[Component, ...]:
        wide = (("sum", self.width), ("square", self.width**2))
        return (Component("count", COUNTED), *(Component(name, Reach(up, up)) for name, up in wide))

    def contents(self) -> tuple[str, ...]:
        return (COUNT, centred_sum(self.values), named("sum of squares", self.values))

    def joint(self, leave: int, come: int) -> tuple[tuple[int, ...], ...]:
        from dovetail.workloads.dispersion import replacements

        return replacements(self.width) if leave == come == 1 else Measure.joint(self, leave, come)

    def step(self) -> Fraction:
        # Of the first released integer, which is a count.
        return Fraction(1)

    def never_negative(self) -> bool:
        return True

    def _estimated(self, noises: Sequence[IntegerNoise], chance: Fraction) -> DispersionEstimates:
        from dovetail.workloads.dispersion import DispersionEstimates

        count, total, square = noises
        return DispersionEstimates(count, total, square, width=self.width, chance=chance, sample=self.sample)

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        estimated = self._estimated(noises, _ANY_CHANCE)
        made = estimated.deviation if self.root else estimated.variance
        return [self._scaled(made(*cell)) for cell in cells]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        estimated = self._estimated(noises, shared_chance(chance, len(cells)) if simultaneous else chance)
        made = estimated.deviation_interval if self.root else estimated.interval
        intervals = [made(*cell) for cell in cells]
        values = self.estimates(cells, noises)
        return [
            Bar(min(self._scaled(bounds.low), value), max(self._scaled(bounds.high), value))
            for bounds, value in zip(intervals, values, strict=True)
        ]

    def _scaled(self, value: float) -> Fraction:
        """Return a value in steps, or in squared steps, on the scale of the column."""
        return Fraction(value) * (self.values.step if self.root else self.values.step**2)

    def to_dict(self) -> dict[str, Any]:
        return {"variance": self.values.to_dict(), "sample": self.sample, "root": self.root}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        return cls(Lattice.from_dict(data["variance"]), data["sample"], data["root"])

    def words(self) -> str:
        kind = "standard deviation" if self.root else "variance"
        return f"{'sample ' if self.sample else ''}{kind} of {self.values.field.name}"
