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

# What is left out of both tails of a noise, where a chance is met closely.
MISSING = 1e-8
TENTH = [[10], [0, 10], [9, 10], [9] * 40, [1] * 300]
TABLE = Schema([Column("x", "integer")]).table()


def misses(
    rows: list[int], high: int, noise: IntegerNoise, chance: Fraction, missing: float = MISSING
) -> float:
    """Return the probability that the interval of such a chance misses the mean.

    What is left out of the tails counts as missed: it is too high by at most four times that.
    """
    question = Mean("x", low=0, high=high, step=1).checked(TABLE)
    noises = component_noises(question, noise)
    total, count = sum(2 * row - high for row in rows), len(rows)
    drawn = [np.arange(-end, end + 1) for end in (int(each.error_bound(missing)) for each in noises)]
    masses = np.outer(*(each.pmf(values) for each, values in zip(noises, drawn, strict=True)))
    released = [(total + int(more), count + int(extra)) for more, extra in product(*drawn)]
    mean = Fraction(sum(rows), len(rows))
    found = bars(question, noises, released, 1 - chance, simultaneous=False, clamp=False)
    missed = np.array([not bar.low <= mean <= bar.high for bar in found])
    return float(masses.ravel() @ missed) + 2 * missing


def just_enough(noise: IntegerNoise) -> Fraction:
    """Return a chance that a count keeps without any bar: only a count that is off by one or more misses."""
    return Fraction(float(2 * noise.sf(0)) * (1 + 1e-9))


@pytest.mark.parametrize("chance", [Fraction(1, 5), Fraction(1, 20)], ids=str)
@pytest.mark.parametrize("noise", [Geometric(1), GeometricMixture("0.5", 4, 1)], ids=str)
def test_the_interval_of_a_mean_misses_no_more_often_than_it_says(
    noise: IntegerNoise, chance: Fraction
) -> None:
    for rows in TENTH:
        assert misses(rows, 10, noise, chance, missing=1e-5) <= chance, rows


@pytest.mark.parametrize("noise", [Geometric(4), Geometric(6)], ids=str)
def test_where_sum_and_count_miss_on_their_own_the_mean_still_keeps_its_chance(noise: IntegerNoise) -> None:
    """Nearly every miss of either is a miss of the mean, so one that gave each the whole chance is caught."""
    rows, chance = [90] * 1000, just_enough(noise)
    assert misses(rows, 100, noise, chance) <= chance
    assert misses(rows, 100, noise, 2 * chance) > 1.1 * chance


def boxed(high: int, total: int, count: int, around: tuple[int, int]) -> tuple[Fraction, Fraction]:
    """Return the means of all sums and counts so near to the released ones: the simplest valid interval."""
    fewest, most = max(count - around[1], 1), max(count + around[1], 1)
    ends = [Fraction(end, rows) for end in (total - around[0], total + around[0]) for rows in (fewest, most)]
    low, high_end = min(ends[:2]), max(ends[2:])
    return tuple(min(max((end + high) / 2, Fraction(0)), Fraction(high)) for end in (low, high_end))  # type: ignore[return-value]


@pytest.mark.parametrize("simultaneous", [False, True])
def test_the_interval_of_a_mean_is_never_wider_than_a_box_and_much_narrower_in_small_groups(
    simultaneous: bool,
) -> None:
    question = Mean("x", low=0, high=100, step=1).checked(TABLE)
    noises = component_noises(question, Geometric(1))
    cells = [
        (count * (2 * mean - 100) + more, count + extra)
        for count in (1, 2, 5, 10, 20, 50, 1000)
        for mean in (0, 40, 95)
        for more in (-250, 0, 400)
        for extra in (-3, 0, 5)
    ]
    around = tuple(
        int(noise.error_bound(Fraction(1, 40), len(cells) if simultaneous else 1)) for noise in noises
    )
    found = bars(question, noises, cells, Fraction(19, 20), simultaneous, clamp=False)
    ratios = []
    for (total, count), bar in zip(cells, found, strict=True):
        low, high = boxed(100, total, count, around)  # type: ignore[arg-type]
        slack = Fraction(1, 10**8)
        assert low - slack <= bar.low <= bar.high <= high + slack, (total, count)
        if 15 <= count <= 60:
            ratios.append((bar.high - bar.low) / (high - low))
    assert min(ratios) < Fraction(3, 4)
    assert sum(ratios) / len(ratios) < Fraction(17, 20)


@pytest.mark.parametrize(("low", "high"), [(0, 10), (-3, 10), (2, 9)])
def test_what_is_released_of_a_mean_gives_it_back(low: int, high: int) -> None:
    """Twice the sum around the middle of the bounds, so that a row moves it by at most their distance."""
    measure = Mean("x", low=low, high=high, step=1).checked(TABLE).measure
    for rows in ([low], [high], [low, high, high], [3, 4, 5, 6]):
        released = measure.released([(sum(rows), len(rows))])
        assert measure.estimates([released], []) == [Fraction(sum(rows), len(rows))]
        assert abs(released[0]) <= (high - low) * len(rows)
