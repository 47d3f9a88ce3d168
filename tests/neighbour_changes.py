"""All small tables and their neighbours, what moves between them, and which declared moves cover it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, pairwise

from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Move
from dovetail.query.neighbours import Neighbours

Rows = tuple[int, ...]
"""A table: the numbers of the kinds of its rows, in order."""
Change = list[list[int]]
"""Of each component, by how much each of its integers moved, but for those that did not."""


def tables(kinds: int, most: int) -> Iterator[Rows]:
    """Yield every table of up to `most` rows of so many kinds."""
    for size in range(most + 1):
        yield from combinations_with_replacement(range(kinds), size)


def neighbouring(kinds: int, most: int, rule: Neighbours) -> Iterator[tuple[Rows, Rows]]:
    """Yield every pair of neighbours among these tables; of a replaced row in one direction.

    A move covers a change by its size.
    """
    for rows in tables(kinds, most):
        for place, kind in enumerate(rows):
            fewer = rows[:place] + rows[place + 1 :]
            if rule == "add-remove":
                yield rows, fewer
            else:
                yield from ((rows, tuple(sorted((*fewer, other)))) for other in range(kind + 1, kinds))


def changed(question: CheckedQuery, one: Sequence[Sequence[int]], another: Sequence[Sequence[int]]) -> Change:
    """Return what moved, component by component."""
    ends = [0]
    for component in question.measure.components():
        ends.append(ends[-1] + component.parts)
    differences = [[a - b for a, b in zip(*pair, strict=True)] for pair in zip(one, another, strict=True)]
    assert all(len(cell) == ends[-1] for cell in differences)
    return [[by for cell in differences for by in cell[start:end] if by] for start, end in pairwise(ends)]


def lies_below(change: Change, move: Move) -> bool:
    """Tell whether a move covers a change shift by shift, largest against largest."""
    for component, seen in enumerate(change):
        moved, allowed = sorted(map(abs, seen), reverse=True), _allowed(move, component)
        if len(moved) > len(allowed) or any(a > b for a, b in zip(moved, allowed, strict=False)):
            return False
    return True


def merges_below(change: Change, move: Move) -> bool:
    """Tell whether a move covers a change after its cells are merged: all, or those of each direction."""
    for component, seen in enumerate(change):
        up, down = sum(by for by in seen if by > 0), -sum(by for by in seen if by < 0)
        allowed = _allowed(move, component)
        whole = bool(allowed) and up + down <= allowed[0]
        apart = len(allowed) > 1 and max(up, down) <= allowed[0] and min(up, down) <= allowed[1]
        if seen and not whole and not apart:
            return False
    return True


def _allowed(move: Move, component: int) -> list[int]:
    return sorted((shift.by for shift in move if shift.component == component), reverse=True)
