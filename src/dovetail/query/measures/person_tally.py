"""How many persons have so many rows, and rows in so many cells: what contribution bounds are chosen by.

Every person is in one count of rows and in one count of cells; the last count of each has no upper end. So a
person who is added moves one count of each by one, and a person who takes another's place two of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dovetail.query.field import Field
from dovetail.query.neighbours import Persons
from dovetail.query.partitions import Axis, Keys, ListedAxis, listed_axes

from .error_bars import Bar, half_width
from .measure import Cells, Measure, RowCount
from .sensitivity import COUNTED, Component, Contribution, Move, Shift

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise

_NAME = Field("contribution", "text")


@dataclass(frozen=True, slots=True)
class PersonTally(Measure):
    """Persons counted by their rows, up to `most_rows`, and by the cells of `by`, up to `most_cells`."""

    most_rows: int
    most_cells: int = 0
    by: tuple[ListedAxis, ...] = ()

    kind = "contributions"
    counts = True
    counts_persons = True
    tallies_persons = True
    answered_as = "contributions"

    def partition(self) -> tuple[ListedAxis, ...]:
        return self.by

    def aggregates(self) -> tuple[RowCount, ...]:
        return (RowCount(),)

    def released(self, parts: Cells) -> tuple[int, ...]:
        """Return the counts from groups of persons: their rows, their cells, and how many they are."""
        rows, cells = [0] * self.most_rows, [0] * self.most_cells
        for of_rows, of_cells, persons in parts:
            rows[of_rows - 1] += persons
            if self.most_cells:
                cells[of_cells - 1] += persons
        return (*rows, *cells)

    def tallied(self, persons: Persons) -> Persons:
        return Persons(persons.unit, self.most_rows, max(self.most_cells, 1))

    def components(self) -> tuple[Component, ...]:
        rows = Component("rows", COUNTED, self.most_rows)
        return (rows, Component("cells", COUNTED, self.most_cells)) if self.most_cells else (rows,)

    def moves(self, contribution: Contribution) -> tuple[Move, ...]:
        each = 1 if contribution.neighbours == "add-remove" else 2
        parts = enumerate(component.parts for component in self.components())
        return (tuple(Shift(number, 1) for number, many in parts for _ in range(min(each, many))),)

    def outputs(self) -> tuple[ListedAxis, ...]:
        return (Keys(_NAME, (*_labels(self.most_rows, "row"), *_labels(self.most_cells, "cell"))),)

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        return [Fraction(count) for cell in cells for count in cell]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        each = chance / (self.numbers() * len(cells)) if simultaneous else chance
        widths = [half_width(noise, each, 1) for noise in noises]
        around = [
            width
            for width, component in zip(widths, self.components(), strict=True)
            for _ in range(component.parts)
        ]
        return [
            Bar(Fraction(count - width), Fraction(count + width))
            for cell in cells
            for count, width in zip(cell, around, strict=True)
        ]

    def error(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> Fraction:
        return Fraction(max(half_width(noise, chance, cells) for noise in noises))

    def error_of_all(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> Fraction:
        return self.error(noises, chance / (self.numbers() * cells))

    def remarks(self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction) -> tuple[str, ...]:
        return (f"How many rows a person has beyond {self.most_rows:,} is not known.",)

    def to_dict(self) -> dict[str, Any]:
        return {"contributions": {"most_rows": self.most_rows, "most_cells": self.most_cells}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        given = data["contributions"]
        return cls(given["most_rows"], given["most_cells"], listed_axes(axes) if given["most_cells"] else ())

    def words(self) -> str:
        columns = ", ".join(axis.field.name for axis in self.by)
        return f"rows per person, and cells by {columns}" if columns else "rows per person"

    def scale(self) -> str:
        return "persons"


def _labels(most: int, word: str) -> list[str]:
    """Return the names of the counts.

    >>> _labels(3, "row")
    ['1 row', '2 rows', '3 or more rows']
    """
    names = [f"{number:,} {word}{'s' * (number > 1)}" for number in range(1, most)]
    return [*names, f"{most:,} or more {word}s"] if most else []
