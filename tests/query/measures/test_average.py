"""The interval of a mean covers it as often as it says: every pair of noises, with its exact chance."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dovetail.answers.intervals import bars
from dovetail.noise import Geometric, GeometricMixture, IntegerNoise
from dovetail.pricing.stretching import component_noises
from dovetail.query import Column, Mean, Schema

# What is left out of both tails of a noise.
MISSING = 1e-8
TENTH = [[10], [0, 10], [9, 10], [9] * 40, [1] * 300]
TABLE = Schema([Column("x", "integer")]).table()


def misses(rows: list[int], high: int, noise: IntegerNoise, chance: Fraction) -> float:
    """Return the probability that the interval of such a chance misses the mean; at most 4e-8 too high."""
    question = Mean("x", low=0, high=high, step=1).checked(TABLE)
    noises = component_noises(question, noise)
    total, count = sum(2 * row - high for row in rows), len(rows)
    drawn = [np.arange(-end, end + 1) for end in (int(each.error_bound(MISSING)) for each in noises)]
    masses = np.outer(*(each.pmf(values) for each, values in zip(noises, drawn, strict=True)))
    released = [(total + int(more), count + int(extra)) for more, extra in product(*drawn)]
    mean = Fraction(sum(rows), len(rows))
    found = bars(question, noises, released, 1 - chance, simultaneous=False, clamp=False)
    missed = np.array([not bar.low <= mean <= bar.high for bar in found])
    return float(masses.ravel() @ missed) + 2 * MISSING


def just_enough(noise: IntegerNoise) -> Fraction:
    """Return a chance that a count keeps without any bar: only a count that is off by one or more misses."""
    return Fraction(float(2 * noise.sf(0)) * (1 + 1e-9))


@pytest.mark.parametrize("chance", [Fraction(1, 5), Fraction(1, 20)], ids=str)
@pytest.mark.parametrize("noise", [Geometric(1), GeometricMixture("0.5", 4, 1)], ids=str)
def test_the_interval_of_a_mean_misses_no_more_often_than_it_says(
    noise: IntegerNoise, chance: Fraction
) -> None:
    for rows in TENTH:
        assert misses(rows, 10, noise, chance) <= chance, rows


@pytest.mark.parametrize("noise", [Geometric(4), Geometric(6)], ids=str)
def test_where_sum_and_count_miss_on_their_own_the_mean_still_keeps_its_chance(noise: IntegerNoise) -> None:
    """Nearly every miss of either is a miss of the mean, so one that gave each the whole chance is caught."""
    rows, chance = [90] * 1000, just_enough(noise)
    assert misses(rows, 100, noise, chance) <= chance
    assert misses(rows, 100, noise, 2 * chance) > 1.1 * chance
