"""How many rows have at most each value of a column; with it, the count of every range of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dovetail.query.partitions import Axis, Steps

from .error_bars import Bar, shared_chance
from .measure import Cells
from .tree_counts import TreeCounts, read_tree

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise


@dataclass(frozen=True, slots=True)
class RankCounts(TreeCounts):
    """The distribution function of a column, in rows."""

    kind = "ranges"
    answered_as = "ranges"
    exact_numbers = False

    def never_negative(self) -> bool:
        return True

    def outputs(self) -> tuple[Steps, ...]:
        field = replace(self.steps.field, name=f"{self.steps.field.name} up to")
        return (Steps(replace(self.steps.lattice, field=field)),)

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        return [Fraction(count) for cell in cells for count in self.ranges(cell, noises).cumulative.tolist()]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        # Those of one cell hold together in any case: they are the band of its distribution function.
        each = shared_chance(chance, len(cells)) if simultaneous else chance
        bars = []
        for cell in cells:
            ranges = self.ranges(cell, noises)
            for value, low, high in zip(
                ranges.cumulative.tolist(), *(end.tolist() for end in ranges.band(each)), strict=True
            ):
                bars.append(Bar(min(Fraction(low), Fraction(value)), max(Fraction(high), Fraction(value))))
        return bars

    def error(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> Fraction | None:
        """Return the error of the count up to one value: the largest among those of the largest variances.

        Another count may err a few hundredths further where a given noise has very wide tails.
        """
        from dovetail.workloads.tree_queries import range_error, worst_prefixes

        tree, each = self.tree(), shared_chance(chance, cells)
        laws = (range_error(tree, noises[0], 0, last) for last in worst_prefixes(tree))
        return Fraction(max(law.two_sided(each) for law in laws))

    def rough_error(self, noises: Sequence[IntegerNoise], chance: Fraction) -> Fraction | None:
        """Return the error of the count that has the largest variance."""
        from dovetail.workloads.tree_queries import range_error, worst_prefixes

        tree = self.tree()
        return Fraction(range_error(tree, noises[0], 0, worst_prefixes(tree)[0]).two_sided(chance))

    def error_of_all(
        self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1
    ) -> Fraction | None:
        # The counts of one cell err together: each value gets its share of the chance.
        return self.error(noises, shared_chance(chance, cells) / self.steps.cells)

    def remarks(self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction) -> tuple[str, ...]:
        of = " of a group" if len(cells) > 1 else ""
        return (*self.steps.lattice.clamping(), f"The intervals hold for all values{of} at once.")

    def to_dict(self) -> dict[str, Any]:
        return {"ranges": self.written_tree()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        return cls(*read_tree(data["ranges"], axes))

    def words(self) -> str:
        return f"rows up to each {self.steps.field.name}"
