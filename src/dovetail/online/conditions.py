"""Which cells of a column meet a comparison; where it would cut a cell in two, it is refused.

A run knows rows by their cells only. Negations were pushed down to the comparisons when the condition was
read, so it is enough to know for which rows each comparison is true; unknown counts as false, as in SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, NoReturn, TypeAlias

import numpy as np

from dovetail.errors import InvalidQuery
from dovetail.query.condition import ColumnComparison, Member, Missing
from dovetail.query.field import Constant, written
from dovetail.query.partitions import Bins, Keys

from .region import Mask

Leaf: TypeAlias = ColumnComparison | Member | Missing

_NEGATED = {"<>": "=", ">=": "<", ">": "<="}


def holds(axis: Keys | Bins, leaf: Leaf) -> Mask:
    """Return for each cell of a column whether its rows meet the comparison.

    >>> from dovetail.query.field import Field
    >>> age = Field("age", "integer")
    >>> holds(Bins(age, (0, 18, 65, 120)), ColumnComparison(age, ">", 17)).tolist()
    [False, True, True]
    """
    if axis.field.kind != leaf.field.kind:
        raise InvalidQuery(
            f"{axis.field.name} is asked about as {leaf.field.kind}, but the run has it as "
            f"{axis.field.kind}.",
            "Declare its type in the schema.",
        )
    if isinstance(axis, Bins):
        flags = [_in_bin(axis, leaf, *pair) for pair in pairwise(axis.edges)]
    else:
        flags = [_of_value(leaf, value) for value in axis.values]
    if axis.other is not None:
        flags.append(_elsewhere(axis, leaf))
    return np.array(flags, np.bool_)


def constants(leaf: Leaf) -> tuple[Constant, ...]:
    """Return what a comparison names."""
    if isinstance(leaf, ColumnComparison):
        return (leaf.value,)
    return leaf.values if isinstance(leaf, Member) else ()


def _of_value(leaf: Leaf, value: Constant | None) -> bool:
    if isinstance(leaf, Missing):
        return (value is None) != leaf.negated
    if value is None:
        return False
    if isinstance(leaf, Member):
        return (value in leaf.values) != leaf.negated
    return _COMPARED[leaf.operator](value, leaf.value)


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda value, constant: bool(value == constant),
    "<>": lambda value, constant: bool(value != constant),
    "<": lambda value, constant: bool(value < constant),
    "<=": lambda value, constant: bool(value <= constant),
    ">": lambda value, constant: bool(value > constant),
    ">=": lambda value, constant: bool(value >= constant),
}


def _in_bin(axis: Bins, leaf: Leaf, low: Constant, edge: Constant) -> bool:
    """Tell whether all rows of a bin meet a comparison, or none."""
    if isinstance(leaf, Missing):
        return leaf.negated
    least, most = _read(axis, low), _read(axis, edge)
    whole = axis.field.kind in ("integer", "date")
    last = most - (1 if axis.field.kind == "integer" else timedelta(days=1)) if whole else most
    if isinstance(leaf, Member):
        inside, negated = _equal(axis, leaf, least, last, whole), leaf.negated
    else:
        negated = leaf.operator in _NEGATED
        operator = _NEGATED.get(leaf.operator, leaf.operator)
        if operator == "=":
            inside = _equal(axis, leaf, least, last, whole)
        else:
            inside = _below(axis, leaf, operator, least, last, whole)
    return inside != negated


def _below(axis: Bins, leaf: ColumnComparison, operator: str, least: Any, last: Any, whole: bool) -> bool:
    """Decide `<` or `<=` for the values from `least` to `last`, which itself is one only where `whole`."""
    bound = _read(axis, leaf.value)
    if last < bound or (last == bound and (operator == "<=" or not whole)):
        return True
    if least > bound or (least == bound and operator == "<"):
        return False
    _cut(axis, leaf)


def _equal(axis: Bins, leaf: ColumnComparison | Member, least: Any, last: Any, whole: bool) -> bool:
    named = {_read(axis, value) for value in constants(leaf)}
    inside = {value for value in named if least <= value and (value <= last if whole else value < last)}
    if not inside:
        return False
    if whole and len(inside) == _steps(least, last):
        return True
    _cut(axis, leaf)


def _steps(least: Any, last: Any) -> int:
    return 1 + ((last - least).days if isinstance(least, date) else int(last - least))


def _elsewhere(axis: Keys | Bins, leaf: Leaf) -> bool:
    """Decide for the cell of all other rows: those without a value, too, unless they have a cell."""
    no_missing = isinstance(axis, Keys) and None in axis.values
    if isinstance(leaf, Missing):
        if no_missing:
            return leaf.negated
        _cut(axis, leaf)
    negated = leaf.negated if isinstance(leaf, Member) else leaf.operator == "<>"
    equality = isinstance(leaf, Member) or leaf.operator in ("=", "<>")
    if equality and all(_listed(axis, value) for value in constants(leaf)) and (no_missing or not negated):
        return negated
    _cut(axis, leaf)


def _listed(axis: Keys | Bins, value: Constant) -> bool:
    if isinstance(axis, Keys):
        return value in axis.values
    first, last = _read(axis, axis.edges[0]), _read(axis, axis.edges[-1])
    return bool(first <= _read(axis, value) < last)


def _read(axis: Bins, value: Any) -> Any:
    """Return a constant as the engines compare it: numbers as doubles."""
    return float(value) if axis.field.kind == "number" else value


def _cut(axis: Keys | Bins, leaf: Leaf) -> NoReturn:
    spoken = leaf.to_dict()["compare"]
    named = ", ".join(str(written(value)) for value in constants(leaf)[:5])
    edges = isinstance(axis, Bins)
    raise InvalidQuery(
        f"{axis.field.name} {spoken}{f' {named}' if named else ''} splits a cell of this run, which "
        "only knows how many rows are in each cell.",
        "Compare with an edge of its bins." if edges else "Name values that have a cell of their own.",
    )
