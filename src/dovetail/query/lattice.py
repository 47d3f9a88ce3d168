"""Put the values of a column on whole steps between public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from dovetail.exact.figures import exact_figure

from .field import Field, read_column


@dataclass(frozen=True, slots=True)
class Lattice:
    """A column clamped to [low, high] and rounded to multiples of step; low and high in steps.

    The steps of days and times are days and seconds, and are counted from `origin`. Of a derived column, all
    of whose values are known, `alters` says that some of them are not on the lattice.
    """

    field: Field
    low: int
    high: int
    step: Fraction
    origin: date | None = None
    alters: bool = False

    def clamping(self) -> tuple[str, ...]:
        """Say what happens to values that are not on the lattice, if there are any: no error bar covers it.

        >>> print(*Lattice(Field("age", "integer"), 17, 90, Fraction(1)).clamping())
        Values of age below 17 count as 17, and those above 90 as 90; the error bars do not cover that.
        """
        if self.field.derivation is not None and not self.alters:
            return ()
        low, high = self._end(self.low), self._end(self.high)
        below, above, to = "below", "above", f"multiples of {exact_figure(self.step)}"
        if self.origin is not None:
            unit = "days" if self.field.kind == "date" else "seconds"
            below, above, to = "before", "after", f"steps of {exact_figure(self.step)} {unit}"
        whole = self.field.kind in ("integer", "date") and self.step == 1
        steps = "" if whole else f", and all are rounded to {to}"
        return (
            f"Values of {self.field.name} {below} {low} count as {low}, and those {above} {high} as {high}"
            f"{steps}; the error bars do not cover that.",
        )

    def _end(self, place: int) -> str:
        """Return the value so many steps from the origin, for reading."""
        number = place * self.step
        if self.origin is None:
            return exact_figure(number)
        microseconds = number * (86_400 if self.field.kind == "date" else 1) * 10**6
        return str(self.origin + timedelta(microseconds=int(microseconds)))

    def to_dict(self) -> dict[str, Any]:
        column = self.field.written()
        made = {"column": column, "low": self.low, "high": self.high, "step": str(self.step)}
        made |= {} if self.origin is None else {"origin": self.origin.isoformat()}
        return made | {"alters": True} if self.alters else made

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Lattice:
        """Read what `to_dict` wrote."""
        field = read_column(data["column"])
        origin: Any = None if "origin" not in data else field.constant(data["origin"])
        alters = data.get("alters", False)
        return cls(field, data["low"], data["high"], Fraction(data["step"]), origin, alters)
