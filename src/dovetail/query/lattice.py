"""Put the values of a column on whole steps between public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from dovetail.exact.figures import exact_figure

from .field import Field, read_column


@dataclass(frozen=True, slots=True)
class Lattice:
    """A column clamped to [low, high] and rounded to multiples of step; low and high in steps.

    The steps of days and times are days and seconds, and are counted from `origin`.
    """

    field: Field
    low: int
    high: int
    step: Fraction
    origin: date | None = None

    def clamping(self) -> str:
        """Say what happens to values that are not on the lattice: no error bar covers it.

        >>> print(Lattice(Field("age", "integer"), 17, 90, Fraction(1)).clamping())
        Values of age below 17 count as 17, and those above 90 as 90; the error bars do not cover that.
        """
        low, high = exact_figure(self.low * self.step), exact_figure(self.high * self.step)
        whole = self.field.kind == "integer" and self.step == 1
        steps = "" if whole else f", and all are rounded to multiples of {exact_figure(self.step)}"
        return (
            f"Values of {self.field.name} below {low} count as {low}, and those above {high} as {high}"
            f"{steps}; the error bars do not cover that."
        )

    def to_dict(self) -> dict[str, Any]:
        column = self.field.written()
        made = {"column": column, "low": self.low, "high": self.high, "step": str(self.step)}
        return made if self.origin is None else made | {"origin": self.origin.isoformat()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Lattice:
        """Read what `to_dict` wrote."""
        field = read_column(data["column"])
        origin: Any = None if "origin" not in data else field.constant(data["origin"])
        return cls(field, data["low"], data["high"], Fraction(data["step"]), origin)
