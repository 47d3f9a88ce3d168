"""From released integers to values and rigorous intervals on the analyst's scale, clamped where asked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dovetail.noise import IntegerNoise
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Bar, Cells


def values(
    question: CheckedQuery, noises: Sequence[IntegerNoise], cells: Cells, clamp: bool
) -> list[Fraction]:
    """Return the noisy values of every cell.

    >>> from dovetail.noise import Geometric
    >>> from dovetail.query.measures import Rows
    >>> values(CheckedQuery(Rows()), [Geometric(1)], [(-3,)], clamp=True)
    [Fraction(0, 1)]
    """
    estimates = question.measure.estimates(cells, noises)
    return [_clamped(value) for value in estimates] if clamp else estimates


def bars(
    question: CheckedQuery,
    noises: Sequence[IntegerNoise],
    cells: Cells,
    level: Fraction,
    simultaneous: bool,
    clamp: bool,
) -> list[Bar]:
    """Return the interval of every value: the chance to miss is at most 1 - level, for each or for all."""
    intervals = question.measure.intervals(cells, noises, 1 - level, simultaneous)
    return [Bar(_clamped(bar.low), _clamped(bar.high)) for bar in intervals] if clamp else intervals


def _clamped(value: Fraction) -> Fraction:
    return max(value, Fraction(0))
