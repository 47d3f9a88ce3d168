"""Spell conditions, and the values that they compare: of stored columns and of derived ones.

A derived column is spelled so that it has a value, or NULL, on every row: days and times are cut only between
the years 1 and 9999, and everything else is compared with constants.
"""

from __future__ import annotations

from fractions import Fraction
from sys import float_info
from typing import Any

from sqlglot import exp

from dovetail.query.condition import ColumnComparison, Condition, Every, Member, Missing
from dovetail.query.derived_columns import Binned, Cases, DatePart, DateStart
from dovetail.query.field import Field
from dovetail.query.lookup import LookedUp
from dovetail.query.partitions import Bins

from .bins import bin_number, constants
from .engine import Engine
from .lookup_joins import looked_up_value

_LARGEST = float_info.max
_OPERATORS: dict[str, type[exp.Expression]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def value_of(engine: Engine, field: Field) -> Any:
    """Spell a column, stored or derived, as its kind."""
    if field.derivation is None:
        return engine.value(field)
    return _DERIVED[type(field.derivation)](engine, field.derivation)


def equal_value(engine: Engine, field: Field) -> Any:
    """Spell a column that is only asked whether it is equal to constants, and has to be equal to one."""
    texts = engine.texts(field) if field.derivation is None else None
    return value_of(engine, field) if texts is None else texts


def _date_part(engine: Engine, made: DatePart) -> Any:
    return _in_span(engine, made, lambda moment: engine.date_part(made.part, moment))


def _date_start(engine: Engine, made: DateStart) -> Any:
    return _in_span(engine, made, lambda moment: engine.date_start(made.unit, moment))


def _in_span(engine: Engine, made: DatePart | DateStart, spell: Any) -> Any:
    """Spell something of a day or a time where it has one of the labels, NULL elsewhere."""
    moment, kind = value_of(engine, made.field), made.field.kind
    ends = [each.date() if kind == "date" else each for each in made.span()]
    low, high = constants(engine, kind, ends)
    return exp.case().when(between(moment, low, high), spell(moment), copy=False)


def between(value: Any, low: Any, high: Any) -> Any:
    """Spell that a value lies between two others, or is one of them."""
    above = exp.GTE(this=value.copy(), expression=low.copy())
    return exp.and_(above, exp.LTE(this=value.copy(), expression=high.copy()), copy=False)


def _binned(engine: Engine, made: Binned) -> Any:
    """Spell the lower edge of a bin from its number; exact, as the whole numbers in it are below 2^52."""
    number = bin_number(engine, Bins(made.field, made.edges()), value_of(engine, made.field))
    counted = exp.Add(
        this=exp.cast(number, "BIGINT", copy=False), expression=engine.constant("integer", made.first)
    )
    whole = exp.Mul(
        this=exp.paren(counted, copy=False), expression=engine.constant("integer", made.width.numerator)
    )
    if made.kind == "integer":
        return whole
    parts = engine.constant("number", Fraction(made.width.denominator))
    return exp.Div(this=exp.cast(whole, "DOUBLE", copy=False), expression=parts, typed=False, safe=False)


def _cases(engine: Engine, made: Cases) -> Any:
    case = exp.case()
    for condition, value in made.branches:
        case = case.when(spelled(engine, condition), engine.constant(made.kind, value), copy=False)
    return case if made.otherwise is None else case.else_(engine.constant(made.kind, made.otherwise))


_DERIVED: dict[type, Any] = {
    DatePart: _date_part,
    DateStart: _date_start,
    Binned: _binned,
    Cases: _cases,
    LookedUp: looked_up_value,
}


def spelled(engine: Engine, condition: Condition) -> Any:
    """Spell a condition that is true on the same rows; nothing asks whether it is false or NULL on others."""
    if isinstance(condition, ColumnComparison):
        return _compared(engine, condition)
    if isinstance(condition, Member):
        listed = constants(engine, condition.field.kind, condition.values)
        if condition.negated:
            return exp.Not(this=exp.In(this=value_of(engine, condition.field), expressions=listed))
        return exp.In(this=equal_value(engine, condition.field), expressions=listed)
    if isinstance(condition, Missing):
        missing = exp.Is(this=value_of(engine, condition.field), expression=exp.Null())
        return exp.Not(this=missing) if condition.negated else missing
    join = exp.and_ if isinstance(condition, Every) else exp.or_
    return join(*(spelled(engine, part) for part in condition.parts), copy=False)


def _compared(engine: Engine, condition: ColumnComparison) -> Any:
    field, operator = condition.field, _OPERATORS[condition.operator]
    constant = engine.constant(field.kind, condition.value)
    if operator is exp.EQ:
        return exp.EQ(this=equal_value(engine, field), expression=constant)
    ordered = field.derivation is None and operator is not exp.NEQ
    doubles = engine.doubles(field) if ordered else None
    if doubles is None:
        return operator(this=value_of(engine, field), expression=constant)
    found = operator(this=doubles, expression=constant)
    below = operator in (exp.LT, exp.LTE)
    end = engine.constant("number", Fraction(-_LARGEST if below else _LARGEST))
    finite = (exp.GTE if below else exp.LTE)(this=doubles.copy(), expression=end)
    return exp.and_(found, finite, copy=False)
