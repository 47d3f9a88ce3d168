"""Find out which keys the rows hold: a key is released where its noisy count reaches a threshold.

A key that some row has is released, with its noisy count, if count + noise >= threshold; one that no row has
never is. Let a neighbour be added who has u_1, ..., u_k rows in k cells.

- A cell that others are in as well is there with and without them. Its noise pays for it like for a public
  cell, and leaving out small noisy counts is post-processing.
- A cell of theirs alone is only there with them. Its chance to be released is p(u) = P(Y >= threshold - u).
  Unless that happens in one of these cells, both tables give the same. So they agree, but for an event of
  probability delta = 1 - (1 - p(u_1))···(1 - p(u_k)).

Of the ways to spread at most m rows over at most c cells two are the worst. Noise falls off to both sides, so
p(u + 1) - p(u) = P(Y = threshold - u - 1) grows with u up to the threshold: p is convex, and so is
-ln(1 - p), which rises and bends upwards in p. So k cells are worst as (m - k + 1, 1, ..., 1), and as that
sum is convex in k again, k = 1 or k = c is the worst.

Where one neighbour takes another's place, either table has cells of its own, each with at most this delta,
and on what is left they agree but for cells that are in both.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from dovetail.answers.threshold import Threshold
from dovetail.exact.balls import above, precision
from dovetail.exact.bisection import least_whole
from dovetail.noise import IntegerNoise
from dovetail.privacy.charge import DELTA_UNIT
from dovetail.query.checked_query import CheckedQuery

from .sensitivity import used_rows

_BITS = 128


def threshold_for(question: CheckedQuery, noise: IntegerNoise, units: int) -> Threshold:
    """Return the least threshold whose delta is at most so many units of 1e-18.

    >>> from dovetail.noise import Geometric
    >>> from dovetail.query.measures import Rows
    >>> threshold_for(CheckedQuery(Rows()), Geometric(1), 10**12)
    Threshold(least=15, units=607896203478)
    """
    return _least(noise, _worst_ways(question), units)


def _worst_ways(question: CheckedQuery) -> tuple[tuple[int, int], ...]:
    """Return the ways of one neighbour to be in cells of their own that cover all others.

    A way is how many rows are in the first cell, and how many more cells have one row each.
    """
    if question.persons is None:
        return ((1, 0),)
    cells = question.persons.max_cells
    if question.measure.counts_persons:
        return ((1, cells - 1),)
    rows = used_rows(question)
    cells = min(rows, cells)
    return ((rows, 0), (rows - cells + 1, cells - 1))


@lru_cache(maxsize=256)
def _least(noise: IntegerNoise, ways: tuple[tuple[int, int], ...], units: int) -> Threshold:
    own = max(first for first, _ in ways)
    least = least_whole(own + 1, lambda tried: tried > own and _units(noise, ways, tried) <= units)
    return Threshold(least, _units(noise, ways, least))


def _units(noise: IntegerNoise, ways: tuple[tuple[int, int], ...], least: int) -> int:
    """Return, rounded up, the largest delta of a threshold that lies above all rows of one neighbour."""
    chances = []
    for first, others in ways:
        beyond, beyond_one = (noise.tail_ball(least - rows, _BITS) for rows in (first, 1))
        with precision(_BITS):
            stay = (-beyond).log1p() + others * (-beyond_one).log1p()
            chances.append(above(-stay.expm1()))
    return ceil(Fraction(max(chances)) / DELTA_UNIT)
