"""Measures that the package does not have, as a newcomer would write them: a file each, and no other change.

`Ladder` counts rows up to every value of a column from two levels of counts: several integers in each cell, a
partition of its own, several numbers, an interval of all of them. `Deviation` is a variance from three sums
that one neighbour moves together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from dovetail.noise import IntegerNoise
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.lattice import Lattice
from dovetail.query.measures import (
    COUNTED,
    Bar,
    Cells,
    Component,
    Measure,
    Reach,
    RowAggregate,
    RowCount,
    ValueCount,
    ValueSum,
)
from dovetail.query.partitions import Axis, Steps, axes_of
from dovetail.query.queries import lattice
from dovetail.query.schema import Table
from dovetail.workloads.dispersion import DispersionEstimates, replacements
from dovetail.workloads.ranges import RangeEstimates
from dovetail.workloads.tree_queries import range_error
from dovetail.workloads.trees import Tree


@dataclass(frozen=True, slots=True)
class Ladder(Measure):
    """How many rows have at most each value, from counts of single values and of blocks of two."""

    steps: Steps

    kind = "ladder"

    def _tree(self) -> Tree:
        return Tree(self.steps.cells, (1, 2))

    def partition(self) -> tuple[Steps, ...]:
        return (self.steps,)

    def aggregates(self) -> tuple[RowAggregate, ...]:
        return (RowCount(),)

    def released(self, parts: Cells) -> tuple[int, ...]:
        levels = self._tree().counts(np.array([count for (count,) in parts]))
        return tuple(int(count) for level in levels for count in level)

    def components(self) -> tuple[Component, ...]:
        return tuple(Component("level", COUNTED, blocks) for blocks in self._tree().blocks)

    def outputs(self) -> tuple[Steps, ...]:
        field = replace(self.steps.field, name=f"{self.steps.field.name} up to")
        return (Steps(replace(self.steps.lattice, field=field)),)

    def _ranges(self, cell: Sequence[int], noises: Sequence[IntegerNoise]) -> RangeEstimates:
        levels = np.split(np.array(cell), [self.steps.cells])
        return RangeEstimates(self._tree(), noises[0], levels)

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        return [Fraction(float(up)) for cell in cells for up in self._ranges(cell, noises).cumulative]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        each = chance / len(cells) if simultaneous else chance
        ends = (zip(*self._ranges(cell, noises).band(each), strict=True) for cell in cells)
        return [Bar(Fraction(int(low)), Fraction(int(high))) for pairs in ends for low, high in pairs]

    def error(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> Fraction | None:
        laws = [range_error(self._tree(), noises[0], 0, last) for last in range(self.steps.cells)]
        return Fraction(max(law.two_sided(chance / cells) for law in laws))

    def to_dict(self) -> dict[str, Any]:
        return {"ladder": 2}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        assert isinstance(axes[-1], Steps)
        return cls(axes[-1])

    def words(self) -> str:
        return f"rows up to each {self.steps.field.name}"


@dataclass(frozen=True, slots=True)
class Deviation(Measure):
    """The variance of a column, from the number of rows, the sum of z = 2x - l - u and that of 2z² - R²."""

    values: Lattice

    kind = "deviation"
    exact_numbers = False
    unknown_error = "The error of a variance depends on the rows, which are private."

    @property
    def width(self) -> int:
        return self.values.high - self.values.low

    def lattice(self) -> Lattice:
        return self.values

    def aggregates(self) -> tuple[RowAggregate, ...]:
        return (ValueCount(), ValueSum(1, self.values.low), ValueSum(2, self.values.low))

    def released(self, parts: Cells) -> tuple[int, ...]:
        # With y = x - l: z = 2y - R.
        ((count, total, squares),) = parts
        second = 4 * squares - 4 * self.width * total + self.width**2 * count
        return count, 2 * total - self.width * count, 2 * second - self.width**2 * count

    def components(self) -> tuple[Component, ...]:
        wide = (self.width, self.width**2)
        return (Component("count", COUNTED), *(Component("sum", Reach(up, up)) for up in wide))

    def joint(self, leave: int, come: int) -> tuple[tuple[int, ...], ...]:
        return replacements(self.width, boxes=2) if leave == come == 1 else Measure.joint(self, leave, come)

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        estimated = DispersionEstimates(*noises, width=self.width, chance=Fraction(1, 20))
        return [Fraction(estimated.variance(*cell)) * self.values.step**2 for cell in cells]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        estimated = DispersionEstimates(
            *noises, width=self.width, chance=chance / len(cells) if simultaneous else chance
        )
        bounds = [estimated.interval(*cell) for cell in cells]
        square = self.values.step**2
        return [Bar(Fraction(each.low) * square, Fraction(each.high) * square) for each in bounds]

    def to_dict(self) -> dict[str, Any]:
        return {"deviation": self.values.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        return cls(Lattice.from_dict(data["deviation"]))

    def words(self) -> str:
        return f"variance of {self.values.field.name}"


@dataclass(frozen=True)
class AskLadder:
    """The query of a ladder over the points from `low` to `high`."""

    column: str
    low: int
    high: int
    by: tuple[str, ...] = ()
    keys: Any = None
    step: Any = 1

    def checked(self, table: Table) -> CheckedQuery:
        steps = Steps(lattice(self.column, self.low, self.high, self.step, table))
        return CheckedQuery(Ladder(steps), axes_of(self.by, self.keys, None, table))


@dataclass(frozen=True)
class AskDeviation:
    """The query of a variance between `low` and `high`."""

    column: str
    low: int
    high: int
    by: tuple[str, ...] = ()

    def checked(self, table: Table) -> CheckedQuery:
        measure = Deviation(lattice(self.column, self.low, self.high, 1, table))
        return CheckedQuery(measure, axes_of(self.by, None, None, table))
