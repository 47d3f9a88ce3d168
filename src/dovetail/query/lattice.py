"""Put the values of a column on whole steps between public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .field import Field


@dataclass(frozen=True, slots=True)
class Lattice:
    """A column clamped to [low, high] and rounded to multiples of step; low and high in steps."""

    field: Field
    low: int
    high: int
    step: Fraction

    def to_dict(self) -> dict[str, Any]:
        column = [self.field.name, self.field.kind]
        return {"column": column, "low": self.low, "high": self.high, "step": str(self.step)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Lattice:
        """Read what `to_dict` wrote."""
        return cls(Field(*data["column"]), data["low"], data["high"], Fraction(data["step"]))
