"""Spell what a question looks at in one row: its cell, its value on the lattice, and whether it counts."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

from sqlglot import exp

from dovetail.query.field import LARGEST_INTEGER, Constant
from dovetail.query.lattice import Lattice
from dovetail.query.measures import Measure, RowCount, ValueCount, ValueSum
from dovetail.query.partitions import Axis, Bins, Discovered, Keys, Steps
from dovetail.query.times import constant_of, value_at

from .bins import bin_number, constants
from .conditions import between, equal_value, value_of
from .engine import Engine

_HALF = Fraction(1, 2)
_NAMEABLE: dict[str, tuple[Constant, Constant]] = {
    "integer": (-LARGEST_INTEGER, LARGEST_INTEGER),
    "date": (date.min, date.max),
}


def needs_flag(axis: Axis) -> bool:
    """Tell whether a NULL group may be either the rows without a value or those with another one."""
    return isinstance(axis, Keys) and axis.other is not None and None in axis.values


def on_lattice(engine: Engine, lattice: Lattice, value: Any = None) -> Any:
    """Spell a row's value clamped and rounded to lattice integers; NULL where there is no number.

    For |low|, |high| <= 2^52 both bounds plus a half are exact doubles and rounding is monotone, so the
    floor stays within [low, high] whatever the row holds. `value` spells the row's value, if not its column.
    """
    value = value_of(engine, lattice.field) if value is None else value
    if lattice.origin is not None:
        return _in_time(engine, lattice, value)
    low, high = (exp.Literal.number(point) for point in (lattice.low, lattice.high))
    if lattice.field.kind == "integer" and lattice.step == 1:
        point, inside = value, value.copy()
    else:
        point = engine.scaled(exp.cast(value, "DOUBLE"), lattice.step)
        half = exp.Add(this=point.copy(), expression=engine.constant("number", _HALF))
        inside = engine.whole(exp.Floor(this=half))
    return _clamped(point, (low, high), inside, (low, high))


def _clamped(value: Any, ends: tuple[Any, Any], inside: Any, places: tuple[Any, Any]) -> Any:
    """Spell `inside` between the ends and the place of an end beyond it; most rows take the first branch."""
    low, high = ends
    least, most = places
    return (
        exp.case()
        .when(between(value, low, high), inside, copy=False)
        .when(exp.LT(this=value.copy(), expression=low.copy()), least.copy(), copy=False)
        .when(exp.GT(this=value.copy(), expression=high.copy()), most.copy(), copy=False)
    )


def _in_time(engine: Engine, lattice: Lattice, value: Any) -> Any:
    """Spell a day or a time in steps from the origin, rounded half up: in whole numbers, so exactly."""
    kind, unit = lattice.field.kind, 1 if lattice.field.kind == "date" else 10**6
    first, last = (constant_of(lattice, value_at(lattice, place)) for place in (0, lattice.high))
    start, step = int(value_at(lattice, 0) * unit), int(lattice.step * unit)
    since = exp.Sub(this=engine.elapsed(kind, value.copy()), expression=exp.Literal.number(start))
    twice = exp.Mul(this=exp.paren(since, copy=False), expression=exp.Literal.number(2))
    halved = exp.paren(exp.Add(this=twice, expression=exp.Literal.number(step)), copy=False)
    inside = exp.IntDiv(this=halved, expression=exp.Literal.number(2 * step))
    ends = engine.constant(kind, first), engine.constant(kind, last)
    return _clamped(value, ends, inside, (exp.Literal.number(0), exp.Literal.number(lattice.high)))


def aggregates(engine: Engine, measure: Measure, value: Any) -> list[Any]:
    """Spell what a measure counts and adds up; `value` spells what it adds up of a row, if anything."""
    return [_SPELLED[type(each)](engine, each, value) for each in measure.aggregates()]


def _row_count(engine: Engine, aggregate: RowCount, value: Any) -> Any:
    return exp.Count(this=exp.Star())


def _value_count(engine: Engine, aggregate: ValueCount, value: Any) -> Any:
    return exp.Count(this=value.copy())


def _value_sum(engine: Engine, aggregate: ValueSum, value: Any) -> Any:
    if aggregate == ValueSum():
        return engine.wide_sum(value.copy())
    # In 64 bits: a column of small integers would overflow in its own type.
    origin = exp.Literal.number(aggregate.origin)
    apart = exp.paren(exp.Sub(this=exp.cast(value.copy(), "BIGINT"), expression=origin), copy=False)
    term: Any = apart
    for _ in range(1, aggregate.power):
        term = exp.Mul(this=term, expression=apart.copy())
    return engine.wide_sum(term)


_SPELLED: dict[type, Any] = {RowCount: _row_count, ValueCount: _value_count, ValueSum: _value_sum}


def cell_columns(engine: Engine, axis: Axis) -> list[Any]:
    """Spell the value (or bin number) by which a row is grouped and, where needed, whether it is missing."""
    if isinstance(axis, Steps):
        return [on_lattice(engine, axis.lattice)]
    if isinstance(axis, Keys):
        return _key_columns(engine, axis, _key(engine, axis))
    value = value_of(engine, axis.field)
    if isinstance(axis, Bins):
        return [bin_number(engine, axis, value)]
    return [_nameable(engine, axis, value)]


def _key(engine: Engine, axis: Keys) -> Any:
    """Spell the value that is one of the keys; where it is none, only a missing one has to be known."""
    return (value_of if None in axis.values else equal_value)(engine, axis.field)


def _key_columns(engine: Engine, axis: Keys, value: Any) -> list[Any]:
    # A derived column has its own values only, or none.
    if axis.other is None or (axis.declared and axis.field.derivation is not None):
        return [value]
    known = exp.In(this=value.copy(), expressions=constants(engine, axis.field.kind, axis.values))
    columns: list[Any] = [exp.case().when(known, value, copy=False)]
    if needs_flag(axis):
        columns.append(exp.Is(this=value.copy(), expression=exp.Null()))
    return columns


def _nameable(engine: Engine, axis: Discovered, value: Any) -> Any:
    """Spell a value that comes back as a key: one that no query could name, or a driver read, is missing."""
    if axis.field.kind not in _NAMEABLE:
        return value
    low, high = constants(engine, axis.field.kind, _NAMEABLE[axis.field.kind])
    return exp.case().when(between(value, low, high), value, copy=False)


def in_some_cell(engine: Engine, axis: Axis) -> Any:
    """Spell the condition that a row lies in one of the cells."""
    if isinstance(axis, Discovered):
        return exp.true()
    if isinstance(axis, Steps):
        # Every value has a place on the lattice.
        return exp.Not(this=exp.Is(this=value_of(engine, axis.lattice.field), expression=exp.Null()))
    if isinstance(axis, Bins):
        value = value_of(engine, axis.field)
        first, last = constants(engine, axis.field.kind, (axis.edges[0], axis.edges[-1]))
        return exp.and_(
            exp.GTE(this=value, expression=first), exp.LT(this=value.copy(), expression=last), copy=False
        )
    listed = constants(engine, axis.field.kind, axis.values)
    value = _key(engine, axis)
    inside: Any = exp.In(this=value, expressions=listed) if listed else exp.false()
    if None in axis.values:
        inside = exp.or_(inside, exp.Is(this=value.copy(), expression=exp.Null()), copy=False)
    return inside
