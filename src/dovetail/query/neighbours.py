"""Say what is protected: a row, or a person with all their rows, added, removed or replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .field import Field

Neighbours: TypeAlias = Literal["add-remove", "replace"]
NEIGHBOURS = ("add-remove", "replace")
PROTECTED = {"add-remove": "a row added or removed", "replace": "a row replaced"}


def protected(neighbours: str, unit: str | None) -> str:
    """Return in words what is protected; all charges of a budget must mean the same.

    `unit` is the column that identifies persons.

    >>> protected("replace", None)
    'a row replaced'
    """
    words = PROTECTED[neighbours]
    return words if unit is None else words.replace("row", f"person ({unit!r})", 1)


@dataclass(frozen=True, slots=True)
class Persons:
    """Whose rows they are, and how much of one person a question may use: rows in all, in so many cells."""

    unit: Field
    max_rows: int
    max_cells: int

    def to_dict(self) -> dict[str, Any]:
        return {"unit": self.unit.written(), "max_rows": self.max_rows, "max_cells": self.max_cells}
