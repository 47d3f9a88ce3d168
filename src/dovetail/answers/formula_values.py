"""Compute numbers from noisy ones, cell by cell, with intervals that hold as often as was asked for.

The aggregates of a SELECT are calculated with as noisy numbers are: sums by the exact law of their noises,
ratios by inversion. That takes some hundredths of a second a cell; so where there are many cells, each
aggregate gets its share of the chance to miss and interval arithmetic covers the rest, which is wider. A
quotient whose denominator may be 0 has no interval, and none has a value where it is 0: None stands for both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias

from dovetail.query.measures import Bar, shared_chance
from dovetail.query.shared_components import components_read
from dovetail.query.sql.formula import Aggregate, Formula, Number, Test, Tests, aggregates_in

from .answer import Answer
from .noisy_numbers import NoisyNumber, ReleasedNumber, constant, opaque
from .noisy_ratios import UNLIMITED

# Of more cells, intervals of formulas are boxes.
MOST_INVERTED = 100

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


def bars_of(
    formula: Formula, answers: Sequence[Answer], places: Sequence[int], chance: Fraction, wide: bool
) -> list[Bar | None]:
    """Return the intervals of a formula in some cells; with `wide`, those of all cells hold at once."""
    used = list(dict.fromkeys(aggregates_in(formula)))
    read = {each: read_from(answers[each.answer], each) for each in used}
    cells = len(read[used[0]].cells)
    if isinstance(formula, Aggregate) or cells > MOST_INVERTED:
        share = 1 - chance / len(used)
        bars = {each: answer.bars(share, simultaneous=wide) for each, answer in read.items()}
        return [box_of(formula, bars, place) for place in places]
    alone = all(answer.own_noise for answer in read.values())
    together = shared_chance(chance, cells) if alone else chance / cells
    level = 1 - (together if wide else chance)
    return [_inverted(formula, answers, read, place, level) for place in places]


def _inverted(
    formula: Formula, answers: Sequence[Answer], read: Mapping[Aggregate, Answer], place: int, level: Fraction
) -> Bar | None:
    numbers = {each: _number(each, answers[each.answer], answer, place) for each, answer in read.items()}
    try:
        number: NoisyNumber = _calculated(formula, numbers)
    except ZeroDivisionError:
        return None
    bar = number.bar(level)
    return None if max(-bar.low, bar.high) >= UNLIMITED else bar


def _calculated(formula: Formula, numbers: Mapping[Aggregate, NoisyNumber]) -> NoisyNumber:
    if isinstance(formula, Number):
        return constant(formula.value)
    if isinstance(formula, Aggregate):
        return numbers[formula]
    left, right = _calculated(formula.left, numbers), _calculated(formula.right, numbers)
    made: NoisyNumber = _SIGNS[formula.sign](left, right)
    return made


def _number(wanted: Aggregate, whole: Answer, read: Answer, place: int) -> NoisyNumber:
    """Return an aggregate of one cell to calculate with; what several read is the same noise for all.

    All were asked at once, so their noises have one law together.
    """
    measure = read.query.measure
    linear = measure.linear()
    if linear is None or read.clamp or not read.own_noise:

        def interval(level: Fraction) -> Bar:
            return read.bars(level)[place]

        return NoisyNumber({opaque("select", (wanted, place), read.values()[place], interval): Fraction(1)})
    taken = (0,) if wanted.measure is None else components_read(wanted.measure, whole.query.measure)
    terms = {
        ReleasedNumber("select", (wanted.answer, part, place), Fraction(number), noise): many
        for part, number, noise, many in zip(taken, read.cells[place], read.noises, linear, strict=True)
        if many
    }
    return NoisyNumber(terms)


def box_of(formula: Formula, bars: Mapping[Aggregate, Sequence[Bar]], place: int) -> Bar | None:
    """Return the interval of a formula in one cell by interval arithmetic; None where it has no end."""
    if isinstance(formula, Number):
        return Bar(formula.value, formula.value)
    if isinstance(formula, Aggregate):
        return bars[formula][place]
    left, right = box_of(formula.left, bars, place), box_of(formula.right, bars, place)
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
    verdicts = [kept(part, values, place) for part in tests.parts]
    if tests.word == "not":
        return None if verdicts[0] is None else not verdicts[0]
    decisive = tests.word == "or"
    return decisive if decisive in verdicts else None if None in verdicts else not decisive
