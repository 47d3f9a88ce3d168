"""Hold a question after it was checked against the schema: everything that decides price and answer.

    SELECT axes, measure FROM data WHERE where GROUP BY axes

Two questions are the same exactly when their dictionaries are equal, however they were spelled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from dovetail.errors import InvalidQuery
from dovetail.errors.remedies import Give

from .condition import Condition
from .field import Constant
from .measures import Measure
from .neighbours import Persons
from .partitions import Axis, Cell, Discovered, listed_axes, public_cells

# What counts as the number of cells where it is secret: more than any person has.
_UNLIMITED = 2**63


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that was checked against a schema."""

    measure: Measure
    axes: tuple[Axis, ...] = ()
    where: Condition | None = None
    persons: Persons | None = None

    def __post_init__(self) -> None:
        if self.discovers and not self.measure.counts:
            raise InvalidQuery(
                "Keys are found in the rows by histograms and counts of persons only.",
                "Ask one of them first: the keys that it shows are public and can be listed here.",
                Give("keys"),
            )

    @property
    def cells(self) -> int:
        """Return how many cells the axes have together."""
        return _UNLIMITED if self.discovers else public_cells(self.axes)

    @property
    def discovers(self) -> bool:
        """Tell whether the keys of a column are found out, so that the answer's cells are not public."""
        return any(isinstance(axis, Discovered) for axis in self.axes)

    @property
    def partition(self) -> tuple[Axis, ...]:
        """Return by what the rows are grouped: the axes, then those of the measure's own parts."""
        return (*self.axes, *self.measure.partition())

    @property
    def named_by(self) -> tuple[Axis, ...]:
        """Return what names the numbers of the answer: the axes, then what the measure gives in each cell."""
        return (*self.axes, *self.measure.outputs())

    @property
    def step(self) -> Fraction:
        """Return what one unit of the released integers stands for."""
        return self.measure.step()

    @property
    def grouped(self) -> bool:
        """Tell whether the answer is a table rather than one number."""
        return bool(self.named_by)

    def settled(self) -> CheckedQuery:
        """Return the question as it is measured where no way is chosen."""
        return replace(self, measure=self.measure.settled())

    def cell_keys(self) -> list[tuple[Constant | None, ...]]:
        """Return the labels of every public number, the last axis running fastest."""
        assert not self.discovers, "the answer knows its keys, the question does not"
        own = self.measure.labels()
        cells = product(*(axis.labels for axis in listed_axes(self.axes)))
        return [(*cell, *label) for cell in cells for label in own]

    def named(self, cell: Cell) -> tuple[Constant | None, ...]:
        """Return the labels of a cell that was found out."""
        return tuple(
            key if isinstance(axis, Discovered) else axis.labels[int(key)]  # type: ignore[arg-type]
            for axis, key in zip(self.axes, cell, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form: what the ledger compares."""
        written = {
            "measure": self.measure.to_dict(),
            "axes": [axis.to_dict() for axis in self.partition],
            "where": self.where.to_dict() if self.where else None,
        }
        return written if self.persons is None else written | {"persons": self.persons.to_dict()}
