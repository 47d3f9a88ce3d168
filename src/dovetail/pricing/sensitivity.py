"""How far one neighbour can move an answer: what the measure says, for as much of a neighbour as is used."""

from __future__ import annotations

from itertools import pairwise

from dovetail.noise import IntegerNoise, PiecewiseGeometric
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Contribution, Move
from dovetail.query.neighbours import Neighbours


def used_rows(question: CheckedQuery) -> int:
    """Return how many rows of one neighbour a question uses at most, in one cell."""
    if question.persons is None or question.measure.counts_persons:
        return 1
    return question.persons.max_rows


def units(question: CheckedQuery) -> tuple[int, ...]:
    """Return, per component, how far one neighbour added moves it: the stretch of its noise.

    >>> from dovetail.query.measures import Rows
    >>> units(CheckedQuery(Rows()))
    (1,)
    """
    rows = used_rows(question)
    return tuple(component.reach.up * rows for component in question.measure.components())


def moves(question: CheckedQuery, neighbours: Neighbours, grows: bool = False) -> tuple[Move, ...]:
    """Return the moves that cover every pair of neighbours.

    `grows` says that the rates of the noise grow outward, which makes fewer ways the worst.

    >>> from dovetail.query.measures import Rows
    >>> moves(CheckedQuery(Rows()), "replace")
    ((Shift(component=0, by=1),),)
    """
    return question.measure.moves(contribution(question, neighbours, grows))


def contribution(question: CheckedQuery, neighbours: Neighbours, grows: bool) -> Contribution:
    """Return how much of one neighbour a question uses: a row, or some rows of a person in some cells."""
    cells = 1 if question.persons is None else min(question.persons.max_cells, question.cells)
    return Contribution(neighbours, question.cells, used_rows(question), cells, grows)


def grows_outward(noise: IntegerNoise) -> bool:
    """Tell whether the rates of a noise grow outward: then one cell that takes all is the worst split.

    >>> grows_outward(PiecewiseGeometric([1, 2], [5])), grows_outward(PiecewiseGeometric([2, 1], [5]))
    (True, False)
    """
    return isinstance(noise, PiecewiseGeometric) and all(a <= b for a, b in pairwise(noise.rates))
