"""Comparisons of cells against the rows that can lie in each, one by one."""

from __future__ import annotations

import operator
from datetime import date, timedelta
from fractions import Fraction
from itertools import chain, combinations, pairwise
from typing import Any

import pytest

from dovetail.errors import InvalidQuery
from dovetail.online.conditions import holds
from dovetail.query.condition import ColumnComparison, Member, Missing
from dovetail.query.field import Field
from dovetail.query.partitions import Bins, Keys

COMPARED = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
AGE, BORN, SCORE = Field("age", "integer"), Field("born", "date"), Field("score", "number")
REGION = Field("region", "text")
DAY = date(2024, 2, 28)
DAYS = [DAY + timedelta(days=number) for number in range(-2, 7)]
TENTH = Fraction(1, 10)
# Doubles on both sides of every constant, and the constants themselves.
NUMBERS = [-1.0, -0.01, 0.0, 0.05, 0.1, 0.2, 0.5, 0.7, 1.0, 1.5]

# A column's cells, the values that a row may have, and the constants that it is compared with.
AXES: dict[str, tuple[Bins | Keys, list[Any], list[Any]]] = {
    "integer bins": (Bins(AGE, (0, 1, 3, 6)), list(range(-3, 10)), list(range(-1, 8))),
    "integer bins and a rest": (Bins(AGE, (0, 1, 3), "rest"), list(range(-9, 12)), list(range(-1, 5))),
    "days": (Bins(BORN, (DAY, DAYS[3], DAYS[5])), DAYS, DAYS[1:]),
    "days and a rest": (Bins(BORN, (DAY, DAYS[3], DAYS[5]), "rest"), [*DAYS, date.min, date.max], DAYS[1:7]),
    "numbers": (Bins(SCORE, (0, TENTH, 1)), NUMBERS, [-1, 0, TENTH, Fraction(1, 2), 1]),
    "numbers and a rest": (Bins(SCORE, (0, TENTH, 1), "rest"), [*NUMBERS, -99.0, 99.0], [0, TENTH, 1]),
    "keys": (Keys(REGION, ("b", "d")), list("bd"), list("abcd")),
    "keys and no value": (Keys(REGION, ("b", None, "d")), ["b", "d"], list("abcd")),
    "keys and a rest": (Keys(REGION, ("b", "d"), "rest"), list("0abcdz"), list("abcd")),
    "keys, no value and a rest": (Keys(REGION, ("b", None), "rest"), list("0abcz"), list("abc")),
}


def cell_of(axis: Bins | Keys, value: Any) -> int | None:
    """The cell that a row lies in, None where it lies in none."""
    if isinstance(axis, Keys):
        places = [place for place, key in enumerate(axis.values) if key == value]
    else:
        edges = [float(edge) if axis.field.kind == "number" else edge for edge in axis.edges]
        pairs = pairwise(edges)
        places = [] if value is None else [i for i, (low, top) in enumerate(pairs) if low <= value < top]
    rest = len(axis.labels) - 1 if axis.other is not None else None
    return places[0] if places else rest


def true_for(leaf: Any, value: Any) -> bool:
    """Whether a row meets a comparison, as SQL has it: unknown is false."""
    if isinstance(leaf, Missing):
        return (value is None) is not leaf.negated
    if value is None:
        return False

    def read(constant: Any) -> Any:
        return float(constant) if leaf.field.kind == "number" else constant

    if isinstance(leaf, Member):
        return (value in [read(each) for each in leaf.values]) is not leaf.negated
    return bool(COMPARED[leaf.operator](value, read(leaf.value)))


def leaves(axis: Bins | Keys, constants: list[Any]) -> list[Any]:
    field = axis.field
    lists = chain.from_iterable(combinations(constants, number) for number in (1, 2, 3))
    return [
        *(Missing(field, negated) for negated in (False, True)),
        *(ColumnComparison(field, sign, each) for sign in COMPARED for each in constants),
        *(Member(field, each, negated) for each in lists for negated in (False, True)),
    ]


@pytest.mark.parametrize("name", AXES)
def test_a_comparison_is_decided_just_where_all_rows_of_each_cell_agree(name: str) -> None:
    axis, values, constants = AXES[name]
    for leaf in leaves(axis, constants):
        found: list[set[bool]] = [set() for _ in axis.labels]
        for value in [*values, None]:
            cell = cell_of(axis, value)
            if cell is not None:
                found[cell].add(true_for(leaf, value))
        if all(len(each) == 1 for each in found):
            assert holds(axis, leaf).tolist() == [each == {True} for each in found], leaf
        else:
            with pytest.raises(InvalidQuery, match="splits a cell"):
                holds(axis, leaf)


def test_a_column_is_asked_about_as_what_the_run_has_it_as() -> None:
    with pytest.raises(InvalidQuery, match="the run has it as integer"):
        holds(Bins(AGE, (0, 18)), ColumnComparison(Field("age", "number"), ">", 17))
