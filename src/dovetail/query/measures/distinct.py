"""How many persons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dovetail.query.partitions import Axis

from .measure import Measure, RowCount
from .sensitivity import COUNTED, Component, Contribution, Move, Shift


@dataclass(frozen=True, slots=True)
class Distinct(Measure):
    """How many persons."""

    kind = "persons"
    counts = True
    counts_persons = True

    def aggregates(self) -> tuple[RowCount, ...]:
        return (RowCount(),)

    def components(self) -> tuple[Component, ...]:
        return (Component("count", COUNTED),)

    def moves(self, contribution: Contribution) -> tuple[Move, ...]:
        # A person is one in each of their cells; one who takes their place may be in as many others.
        touched = contribution.cells
        if contribution.neighbours == "replace":
            touched = min(2 * touched, contribution.all_cells)
        return ((Shift(0, 1),) * touched,)

    def to_dict(self) -> dict[str, Any]:
        return {"count": self.kind}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        return cls()

    def words(self) -> str:
        return "count of persons"

    def bounded_effect(self) -> str:
        return "counts of persons are at most the true ones"

    def scale(self) -> str:
        return "persons"
