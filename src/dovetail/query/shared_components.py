"""Find what several questions have in common, so that it is measured and paid once.

The mean of a column is made of a sum and a count, its variance of these and a sum of squares; its sum and its
count follow from them. Quantiles of a column are all read from one tree of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .checked_query import CheckedQuery
from .condition import ColumnComparison, Condition, Every, Member, Missing
from .measures import Measure


def shared(questions: Sequence[CheckedQuery]) -> list[tuple[int, Measure | None]]:
    """Return, of each question, which one to ask instead and the measure that reads its answer there.

    None stands for the question itself, asked as it is.
    """
    order = sorted(range(len(questions)), key=lambda place: -len(questions[place].measure.components()))
    # Of the same rows in the same cells, what is asked and what it releases.
    asked: dict[Any, list[tuple[int, frozenset[str]]]] = {}
    sources: dict[int, tuple[int, Measure | None]] = {}
    for place in order:
        question = questions[place]
        alike = asked.setdefault((question.axes, _rows(question)), [])
        forms = [(form, frozenset(form.contents())) for form in question.measure.forms()]
        ways = [(other, form) for other, given in alike for form, needed in forms if set() < needed <= given]
        sources[place] = ways[0] if ways else (place, None)
        if sources[place] == (place, None):
            alike.append((place, forms[0][1]))
    return [sources[place] for place in range(len(questions))]


def components_read(measure: Measure, whole: Measure) -> tuple[int, ...]:
    """Return which components of `whole` a measure reads, in its own order.

    >>> from dovetail.query.measures import Rows
    >>> components_read(Rows(), Rows())
    (0,)
    """
    places = {content: place for place, content in enumerate(whole.contents())}
    return tuple(places[content] for content in measure.contents())


def _rows(question: CheckedQuery) -> frozenset[str]:
    """Return the conditions on the rows that matter, among them that a value is there where one is needed."""
    where, lattice = question.where, question.measure.lattice()
    parts: Sequence[Condition] = where.parts if isinstance(where, Every) else [where] if where else []
    # By name: a list of comparisons is mostly of one column.
    fields = {part.field.name: part.field for part in parts if _needs_value(part)}  # type: ignore[union-attr]
    if lattice is not None:
        fields[lattice.field.name] = lattice.field
    present = (Missing(field, True) for field in fields.values())
    return frozenset(each.text for each in (*parts, *present))


def _needs_value(part: Condition) -> bool:
    """Tell whether a condition holds of no row without a value in its column."""
    return isinstance(part, ColumnComparison | Member) or (isinstance(part, Missing) and part.negated)
