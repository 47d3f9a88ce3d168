"""Quantiles of a column, with intervals that need no assumption on the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from dovetail.query.field import Field
from dovetail.query.partitions import Axis, Keys
from dovetail.query.times import constant_of, value_at

from .error_bars import Bar, shared_chance
from .measure import Cells
from .tree_counts import TreeCounts, read_tree

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise

Kind: TypeAlias = Literal["disc", "cont"]

_EXTREMES = {
    Fraction(0): "One row decides the smallest value; the quantile 0.01 is much more accurate.",
    Fraction(1): "One row decides the largest value; the quantile 0.99 is much more accurate.",
}


@dataclass(frozen=True, slots=True)
class QuantileValues(TreeCounts):
    """The quantiles `qs` of a column: of one q a number, of several a table."""

    qs: tuple[Fraction, ...]
    between: Kind = "disc"

    kind = "quantiles"
    exact_numbers = False
    unknown_error = "The error of a quantile depends on the rows, which are private."

    def outputs(self) -> tuple[Keys, ...]:
        return (Keys(Field("q", "number"), self.qs),) if len(self.qs) > 1 else ()

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        return [
            self._value(self.ranges(cell, noises).point(q, self.between)) for cell in cells for q in self.qs
        ]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        # Quantiles of one cell rest on the same counts, those of different cells are independent.
        each = shared_chance(chance, len(cells)) / len(self.qs) if simultaneous else chance
        quantiles = (
            self.ranges(cell, noises).quantile(q, each, self.between) for cell in cells for q in self.qs
        )
        values = self.estimates(cells, noises)
        return [
            Bar(min(self._value(each.low), value), max(self._value(each.high), value))
            for each, value in zip(quantiles, values, strict=True)
        ]

    def _value(self, place: float) -> Fraction:
        """Return the value at a place among the points, which may lie between two."""
        return value_at(self.steps.lattice, place)

    def constant(self, value: Fraction) -> Fraction | date:
        return constant_of(self.steps.lattice, value)

    def error(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> None:
        return None

    def remarks(self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction) -> tuple[str, ...]:
        texts = [text for q, text in _EXTREMES.items() if q in self.qs]
        empty = sum(self.ranges(cell, noises).may_be_empty(chance) for cell in cells)
        if empty:
            where = f"In {empty} of {len(cells)} groups there" if len(cells) > 1 else "There"
            texts.append(f"{where} may be no row at all (n may be 0), and then there is no quantile.")
        return (*self.steps.lattice.clamping(), *texts)

    def to_dict(self) -> dict[str, Any]:
        qs = [str(q) for q in self.qs]
        return {"quantiles": {**self.written_tree(), "qs": qs, "between": self.between}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        given = data["quantiles"]
        return cls(*read_tree(given, axes), tuple(map(Fraction, given["qs"])), given["between"])

    def words(self) -> str:
        name = self.steps.field.name
        if len(self.qs) > 1:
            return f"quantiles of {name}"
        known = {Fraction(0): "minimum", Fraction(1, 2): "median", Fraction(1): "maximum"}
        (q,) = self.qs
        return f"{known.get(q, f'quantile {float(q):g}')} of {name}"

    def scale(self) -> str:
        return self.steps.field.name
