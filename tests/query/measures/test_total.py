"""Intervals of sums, by every draw of their noises."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dovetail.noise import Geometric
from dovetail.query import Column, Schema, Sum
from dovetail.query.measures import Total

TABLE = Schema([Column("x", "number")]).table()
CHANCE = Fraction(1, 10)


def covered(measure: Any, cell: tuple[int, ...], truth: Fraction, simultaneous: int = 1) -> float:
    """Return the chance that the interval of a cell holds the truth."""
    noises = [Geometric("0.5"), Geometric("0.8")][: len(cell)]
    reach = np.arange(-40, 41)
    draws = np.stack(np.meshgrid(*[reach] * len(cell), indexing="ij"), axis=-1).reshape(-1, len(cell))
    mass = np.prod([noise.pmf(column) for noise, column in zip(noises, draws.T, strict=True)], axis=0)
    if simultaneous > 1:
        width = measure.error(noises, CHANCE, simultaneous)
        bars = [(value - width, value + width) for value in measure.estimates(draws + cell, noises)]
    else:
        bars = [(bar.low, bar.high) for bar in measure.intervals(draws + cell, noises, CHANCE, False)]
    return float(sum(p for p, (low, high) in zip(mass, bars, strict=True) if low <= truth <= high))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("low", "high"), [(-3, 10), (-5, 5), (2, 9)])
def test_an_interval_holds_the_sum_as_often_as_it_says_and_hardly_more(
    low: int, high: int, centred: bool
) -> None:
    measure = replace(Sum("x", low=low, high=high, step="0.5").checked(TABLE).measure, centred=centred)
    total, count, middle = 7, 4, 2 * (low + high)
    cell = (2 * total - middle * count, count) if centred else (total,)
    assert tuple(measure.released([(total, count)] if centred else [(total,)])) == cell
    assert measure.estimates([cell], [])[0] == Fraction(total, 2)
    assert sum(weight * part for weight, part in zip(measure.linear(), cell, strict=True)) == Fraction(
        total, 2
    )
    assert 0.9 <= covered(measure, cell, Fraction(total, 2)) < 0.97
    # Ten sums at once: each is missed less often.
    assert 0.9 ** (1 / 10) <= covered(measure, cell, Fraction(total, 2), simultaneous=10) < 0.998
    width = [
        bar.high - bar.low
        for bar in measure.intervals([cell] * 10, [Geometric("0.5")] * len(cell), CHANCE, True)
    ]
    alone = measure.intervals([cell], [Geometric("0.5")] * len(cell), CHANCE, True)[0]
    assert min(width) > alone.high - alone.low


@pytest.mark.parametrize("centred", [False, True])
def test_a_sum_that_is_written_down_is_read_as_it_was(centred: bool) -> None:
    measure = replace(Sum("x", low=-3, high=10, step="0.5").checked(TABLE).measure, centred=centred)
    assert Total.from_dict(measure.to_dict(), ()) == measure
    assert ("centred" in measure.to_dict()) is centred


@pytest.mark.parametrize(
    ("low", "high", "effect"),
    [
        (0, 9, "at most the true"),
        (-9, 0, "at least the true"),
        (-9, 9, "of these rows"),
        (-9, 1, "of these rows"),
    ],
)
def test_what_left_out_rows_do_to_a_sum_is_said(low: int, high: int, effect: str) -> None:
    measure = Sum("x", low=low, high=high, step=1).checked(TABLE).measure
    assert effect in measure.bounded_effect()
    assert measure.never_negative() == (low >= 0)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("low", "high"), [(0, 5), (-5, 5), (-2, 3), (-9, -4), (3, 8)])
def test_no_row_moves_a_sum_further_than_its_reach_and_some_row_does(
    low: int, high: int, centred: bool
) -> None:
    """What each value adds to the released integers, one by one; a row may also be replaced by another."""
    values = Sum("x", low=low, high=high, step=1).checked(TABLE).measure.lattice()
    assert values is not None
    measure = Total(values, centred=centred)
    added = [measure.released([(x, 1)] if centred else [(x,)])[0] for x in range(low, high + 1)]
    reach = measure.components()[0].reach
    assert reach.up == max(map(abs, added))
    assert reach.up + max(reach.down, 0) >= max(added) - min(added)
