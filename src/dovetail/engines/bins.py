"""Spell the number of the bin that a value lies in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from dovetail.query.partitions import Bins

from .engine import Engine


def constants(engine: Engine, kind: str, values: Sequence[Any]) -> list[Any]:
    """Spell constants of one kind; a missing one is left out."""
    return [engine.constant(kind, value) for value in values if value is not None]


def bin_number(engine: Engine, axis: Bins, value: Any) -> Any:
    """Spell the number of the bin that a value lies in, NULL outside of all."""
    first, end = constants(engine, axis.field.kind, (axis.edges[0], axis.edges[-1]))
    inside = exp.and_(
        exp.GTE(this=value.copy(), expression=first), exp.LT(this=value.copy(), expression=end), copy=False
    )
    width = axis.even_width
    number = _searched(engine, axis, value) if width is None else _divided(engine, axis, value, width)
    return exp.case().when(inside, number, copy=False)


def _divided(engine: Engine, axis: Bins, value: Any, width: int) -> Any:
    """Spell (value - first edge) // width: exact for whole numbers, and one step however many bins."""
    # In 64 bits: a column of small integers would overflow in its own type.
    start = exp.cast(engine.constant("integer", axis.edges[0]), "BIGINT")
    above = exp.paren(exp.Sub(this=value.copy(), expression=start), copy=False)
    return exp.IntDiv(this=above, expression=engine.constant("integer", width))


def _searched(engine: Engine, axis: Bins, value: Any) -> Any:
    """Spell a binary search over the edges."""

    def between(low: int, high: int) -> Any:
        if high - low == 1:
            return exp.Literal.number(low)
        middle = (low + high) // 2
        edge = engine.constant(axis.field.kind, axis.edges[middle])
        below = exp.LT(this=value.copy(), expression=edge)
        return (
            exp.case().when(below, between(low, middle), copy=False).else_(between(middle, high), copy=False)
        )

    return between(0, len(axis.edges) - 1)
