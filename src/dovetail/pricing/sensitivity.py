"""How far one neighbour can move an answer: the proof obligations behind every price.

A question releases one or more integers per cell (its components: a mean has a sum and a count). Component i
is noised with `noise.stretched(units[i])`. A `Move` lists the released integers that one neighbour can shift
at the same time, and by how much; the price is the worst over all moves. Shifts are absolute: noise is
symmetric. A shift that is larger, or that is added to a move, never costs less, so a list of moves covers
whatever lies below one of them.

A neighbour differs by one row or, where the question knows persons, by one person, of whom `max_rows` rows in
`max_cells` cells are used. `moves.py` says how those can be spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dovetail.query.canonical import Question
from dovetail.query.measures import Average, Distinct, Rows, Weighted

# Beyond this many ways, a price would take too long.
MOST_WAYS = 64


@dataclass(frozen=True, slots=True)
class Shift:
    """One released integer moves by at most `by`."""

    component: int
    by: int


Move: TypeAlias = tuple[Shift, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one row can move a component: `up` away from where it was, `down` to the other side.

    A row that takes another's place in the same cell moves it by up + down. For a count that is nothing: the
    row that comes makes up for the one that goes, so `down` is -1.
    """

    up: int
    down: int


def reaches(question: Question) -> tuple[Reach, ...]:
    """Return how far one row can move each component.

    >>> reaches(Question(Rows()))
    (Reach(up=1, down=-1),)
    """
    measure = question.measure
    if isinstance(measure, Rows | Distinct):
        return (Reach(1, -1),)
    if isinstance(measure, Weighted):
        low, high = min(*measure.weights, 0), max(*measure.weights, 0)
    else:
        low, high = measure.lattice.low, measure.lattice.high
    if isinstance(measure, Average):
        # The centred sum 2x - low - high runs from -(high - low) to high - low.
        return (Reach(high - low, high - low), Reach(1, -1))
    # `where` or NULL lets a row add nothing at all, so 0 is always among what it can add.
    above, below = max(high, 0), max(-low, 0)
    return (Reach(max(above, below), min(above, below)),)


def used_rows(question: Question) -> int:
    """Return how many rows of one neighbour a question uses at most, in one cell."""
    if question.persons is None or isinstance(question.measure, Distinct):
        return 1
    return question.persons.max_rows


def units(question: Question) -> tuple[int, ...]:
    """Return, per component, how far one neighbour added moves it: the stretch of its noise.

    >>> units(Question(Rows()))
    (1,)
    """
    return tuple(reach.up * used_rows(question) for reach in reaches(question))


def spread(question: Question, pairs: list[tuple[int, int]]) -> Move:
    """Return the move of so many rows that leave and so many that come, cell by cell; zeros are left out."""
    return tuple(
        Shift(component, by)
        for component, reach in enumerate(reaches(question))
        for leave, come in pairs
        if (by := reach.up * leave + reach.down * come) > 0
    )


def undominated(listed: list[Move]) -> tuple[Move, ...]:
    """Leave out the moves that another one covers, shift by shift."""
    kept: list[Move] = []
    for move in sorted(set(listed), key=lambda move: (-len(move), -sum(shift.by for shift in move))):
        if not any(_covers(other, move) for other in kept):
            kept.append(move)
    return tuple(kept)


def _covers(one: Move, other: Move) -> bool:
    """Tell whether each component's shifts in `other` are at most those in `one`, largest against largest."""
    for component in {shift.component for shift in other}:
        mine, yours = (
            sorted((shift.by for shift in move if shift.component == component), reverse=True)
            for move in (one, other)
        )
        if len(mine) < len(yours) or any(a < b for a, b in zip(mine, yours, strict=False)):
            return False
    return True
