"""Lay out the answers to a SELECT: HAVING, ORDER BY and LIMIT act on the noisy table.

What is stored is the table before that. Whichever groups are shown then, their error bars hold for all groups
at once wherever noise decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.query.partitions import Axis, Keys
from dovetail.query.sql import Selection
from dovetail.query.sql.formula import aggregates_in
from dovetail.query.sql.order import Direction

from .answer import Answer
from .formula_values import aggregate_values, kept, value_of
from .table import TableAnswer


def laid_out(text: str, selection: Selection, answers: Sequence[Answer]) -> TableAnswer:
    """Order and cut the answers as the SELECT says; all of it looks at noisy values only."""
    cells, chosen = len(answers[0].cells), set()
    places = list(range(cells))
    if selection.having is not None:
        values = aggregate_values([selection.having], answers)
        places = [place for place in places if kept(selection.having, values, place)]
        chosen |= {each.answer for each in aggregates_in(selection.having)}
    # The last criterion first: sorting keeps the order of equals.
    for direction in reversed(selection.order):
        ranks = _ranks(direction, answers, cells)
        places.sort(key=ranks.__getitem__, reverse=direction.descending)
    if selection.limit is not None and selection.limit < cells:
        places = places[: selection.limit]
        noisy = [each.column.noisy for each in selection.order if each.column.key is None]
        chosen |= {each.answer for formula in noisy for each in aggregates_in(formula)}
    return TableAnswer(text, selection.columns, tuple(answers), tuple(places), frozenset(chosen))


def _ranks(direction: Direction, answers: Sequence[Answer], cells: int) -> list[Any]:
    """Return by what each cell is sorted; what divides by 0 comes last either way."""
    if direction.column.key is None:
        formula = direction.column.noisy
        aggregates = aggregate_values([formula], answers)
        values = [value_of(formula, aggregates, place) for place in range(cells)]
        return [((value is None) != direction.descending, value or 0) for value in values]
    question, key = answers[0].query, direction.column.key
    rank = _label_ranks(question.axes[key], direction.descending)
    return [rank[labels[key]] for labels in question.cell_keys()]


def _label_ranks(axis: Axis, descending: bool) -> dict[Any, int]:
    """Rank the labels of an axis: by value, then "other", then missing; these two are last either way."""
    assert isinstance(axis, Keys)
    known = sorted((value for value in axis.values if value is not None), key=lambda value: (value,))
    last = [label for label in (axis.other, None) if label in axis.labels and label not in known]
    ordered: list[Any] = [*reversed(last), *known] if descending else [*known, *last]
    return {label: number for number, label in enumerate(ordered)}
