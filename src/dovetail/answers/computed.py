"""Compute numbers from noisy ones, cell by cell, with intervals that hold as often as was asked for.

If each of k noisy numbers misses its interval with a chance of at most 1/k of the allowed one, all intervals
hold at once but for that chance, and then interval arithmetic covers whatever is computed from them. A
quotient whose denominator may be 0 has no interval, and none has a value where it is 0: None stands for both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias

from dovetail.query.measures import Bar
from dovetail.query.sharing import components_read
from dovetail.query.sql.formula import Aggregate, Formula, Number, Test, Tests, aggregates_in

from .answer import Answer

Value: TypeAlias = Fraction | None
Values: TypeAlias = Mapping[Aggregate, Sequence[Fraction]]
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def read_from(answer: Answer, wanted: Aggregate) -> Answer:
    """Return the answer that an aggregate is, read from one that releases more where it has to be."""
    if wanted.measure is None:
        return answer
    whole = answer.query.measure
    ends = list(accumulate((component.parts for component in whole.components()), initial=0))
    taken = components_read(wanted.measure, whole)
    cells = tuple(
        tuple(int(number) for place in taken for number in cell[ends[place] : ends[place + 1]])
        for cell in answer.cells
    )
    noises = tuple(answer.noises[place] for place in taken)
    return replace(answer, query=replace(answer.query, measure=wanted.measure), noises=noises, cells=cells)


def aggregate_values(
    formulas: Sequence[Formula | Test | Tests], answers: Sequence[Answer]
) -> dict[Aggregate, list[Fraction]]:
    """Return the values of the aggregates in formulas, over all cells."""
    used = {each for formula in formulas for each in aggregates_in(formula)}
    return {each: read_from(answers[each.answer], each).values() for each in used}


def value_of(formula: Formula, values: Values, place: int) -> Value:
    """Return what a formula gives in one cell; None where it divides by 0."""
    if isinstance(formula, Number):
        return formula.value
    if isinstance(formula, Aggregate):
        return values[formula][place]
    left, right = value_of(formula.left, values, place), value_of(formula.right, values, place)
    if left is None or right is None or (formula.sign == "/" and right == 0):
        return None
    made: Fraction = _SIGNS[formula.sign](left, right)
    return made


def bar_of(formula: Formula, bars: Mapping[Aggregate, Sequence[Bar]], place: int) -> Bar | None:
    """Return the interval of a formula in one cell by interval arithmetic; None where it has no end."""
    if isinstance(formula, Number):
        return Bar(formula.value, formula.value)
    if isinstance(formula, Aggregate):
        return bars[formula][place]
    left, right = bar_of(formula.left, bars, place), bar_of(formula.right, bars, place)
    if left is None or right is None:
        return None
    if formula.sign == "-":
        return Bar(left.low - right.high, left.high - right.low)
    if formula.sign == "/" and right.low <= 0 <= right.high:
        return None
    # Each of the others is monotone in both, one way or the other, so its ends lie in corners.
    corners = [
        _SIGNS[formula.sign](one, other) for one in (left.low, left.high) for other in (right.low, right.high)
    ]
    return Bar(min(corners), max(corners))


def kept(tests: Test | Tests, values: Values, place: int) -> bool | None:
    """Tell whether a cell passes, by its noisy values; None where they don't say, as in SQL."""
    if isinstance(tests, Test):
        left, right = value_of(tests.left, values, place), value_of(tests.right, values, place)
        return None if left is None or right is None else _TESTS[tests.sign](left, right)
    found = [kept(part, values, place) for part in tests.parts]
    if tests.word == "not":
        return None if found[0] is None else not found[0]
    decisive = tests.word == "or"
    return decisive if decisive in found else None if None in found else not decisive
