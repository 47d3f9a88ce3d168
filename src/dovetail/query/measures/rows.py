"""How many rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dovetail.query.partitions import Axis

from .component_contents import COUNT
from .measure import Measure, RowCount
from .sensitivity import COUNTED, Component


@dataclass(frozen=True, slots=True)
class Rows(Measure):
    """How many rows."""

    kind = "rows"
    counts = True

    def aggregates(self) -> tuple[RowCount, ...]:
        return (RowCount(),)

    def components(self) -> tuple[Component, ...]:
        return (Component("count", COUNTED),)

    def contents(self) -> tuple[str, ...]:
        return (COUNT,)

    def to_dict(self) -> dict[str, Any]:
        return {"count": self.kind}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        return cls()

    def words(self) -> str:
        return "count"

    def bounded_effect(self) -> str:
        return "counts of rows are at most the true ones"

    def scale(self) -> str:
        return "rows"
