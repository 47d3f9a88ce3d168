"""How far one row can move an answer: the proof obligations behind every price.

A question releases one or more integers per cell (its components: a mean has a sum and a count). Component i
is noised with `noise.stretched(units[i])`. A `Move` lists the components that one neighbour can shift at the
same time, and by how much; the price is the worst over all moves. Shifts are absolute: noise is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .question import Average, Question, Rows, Total, Weighted

Neighbours: TypeAlias = Literal["add-remove", "replace"]
NEIGHBOURS = ("add-remove", "replace")
PROTECTED = {"add-remove": "a row added or removed", "replace": "a row replaced"}


@dataclass(frozen=True, slots=True)
class Shift:
    """One released integer moves by at most `by`."""

    component: int
    by: int


Move: TypeAlias = tuple[Shift, ...]


def units(question: Question) -> tuple[int, ...]:
    """Return, per component, how far one added row moves it: the stretch of its noise.

    >>> units(Question(Rows()))
    (1,)
    """
    measure = question.measure
    if isinstance(measure, Rows):
        return (1,)
    if isinstance(measure, Weighted):
        return (max(abs(weight) for weight in measure.weights),)
    low, high = measure.lattice.low, measure.lattice.high
    if isinstance(measure, Average):
        return (high - low, 1)
    return (max(abs(low), abs(high)),)


def moves(question: Question, neighbours: Neighbours) -> tuple[Move, ...]:
    """Return the moves that cover every pair of neighbours.

    >>> moves(Question(Rows()), "replace")
    ((Shift(component=0, by=1),),)
    """
    added = tuple(Shift(component, by) for component, by in enumerate(units(question)))
    if neighbours == "add-remove":
        return (added,)
    within = _replaced_in_one_cell(question)
    # A replaced row can leave one cell and enter another; with one cell it can only enter or leave.
    across = (*added, *added) if question.cells > 1 else added
    return (across, within) if _exceeds(within, across) else (across,)


def _replaced_in_one_cell(question: Question) -> Move:
    """Return the move of a row whose value changes while it stays in its cell, or leaves through `where`."""
    measure = question.measure
    if isinstance(measure, Total):
        low, high = measure.lattice.low, measure.lattice.high
        return (Shift(0, max(abs(low), abs(high), high - low)),)
    if isinstance(measure, Average):
        # The centred sum 2x - low - high runs from -(high - low) to high - low.
        return (Shift(0, 2 * (measure.lattice.high - measure.lattice.low)),)
    if isinstance(measure, Weighted):
        return (Shift(0, max(*measure.weights, 0) - min(*measure.weights, 0)),)
    return (Shift(0, 1),)


def _exceeds(within: Move, across: Move) -> bool:
    """Tell whether some shift of `within` is larger than the same component's in `across`."""
    largest: dict[int, int] = {}
    for shift in across:
        largest[shift.component] = max(largest.get(shift.component, 0), shift.by)
    return any(shift.by > largest.get(shift.component, 0) for shift in within)
