"""Intervals of ratios: coverage summed up over all noises, and never wider than a box."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture, IntegerNoise
from dovetail.workloads.ratios import Bounds, Ratios

WIDTH = 3
CHANCE = Fraction(1, 5)
NOISES = {
    "geometric": (Geometric("0.8").stretched(WIDTH), Geometric("0.8")),
    "mixture": (GeometricMixture("0.5", 2, 2).stretched(WIDTH), GeometricMixture("0.5", 2, 2)),
    "gaussian": (DiscreteGaussian(5), DiscreteGaussian(2)),
    "precise": (Geometric(3).stretched(WIDTH), Geometric(3)),
    "uneven": (Geometric(2), Geometric("0.4")),
}


@lru_cache
def known(kind: str, chance: Fraction) -> Ratios:
    return Ratios(*NOISES[kind], low=-WIDTH, high=WIDTH, chance=chance)


def chance_to_miss(ratios: Ratios, total: int, count: int, most: float = 1e-6) -> float:
    """The chance that the interval misses total/count, summed over all noises but for `most`."""
    reaches = [int(-noise.ppf(most)) for noise in (ratios.total_noise, ratios.count_noise)]
    first, second = (np.arange(-reach, reach + 1) for reach in reaches)
    p, q = np.asarray(ratios.total_noise.pmf(first)), np.asarray(ratios.count_noise.pmf(second))
    missed, truth = 0.0, total / count
    for c, chance in zip(second.tolist(), q.tolist(), strict=True):
        for s, other in zip(first.tolist(), p.tolist(), strict=True):
            found = ratios.interval(total + s, count + c)
            if not found.low <= truth <= found.high:
                missed += chance * other
    return missed


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize(
    ("total", "count"), [(3, 1), (-3, 1), (0, 1), (6, 2), (-4, 3), (24, 8), (-60, 20), (1, 7)]
)
def test_every_ratio_is_covered(kind: str, total: int, count: int) -> None:
    ratios = known(kind, CHANCE)
    missed = chance_to_miss(ratios, total, count, most=1e-4)
    assert missed <= CHANCE
    assert missed > 0.01 or kind in ("precise", "uneven")


@dataclass(frozen=True)
class HalfBars(Ratios):
    """A broken interval: bars of half the width."""

    def interval(self, total: int, count: int) -> Bounds:
        found = super().interval(total, count)
        middle, half = (found.low + found.high) / 2, (found.high - found.low) / 4
        return Bounds(middle - half, middle + half)


@pytest.mark.parametrize("kind", NOISES)
def test_bars_pay_for_the_boxes_of_all_ratios_up_to_the_next_point(kind: str) -> None:
    """What the bar or the box of a ratio between two points can miss, summed over all noises."""
    ratios = known(kind, CHANCE)
    pivot, grid = ratios._pivot, ratios._grid
    first, second = (np.arange(-60, 61), np.arange(-40, 41))
    p, q = np.asarray(ratios.total_noise.pmf(first)), np.asarray(ratios.count_noise.pmf(second))
    s, c = np.meshgrid(first, second, indexing="ij")
    chances, a, b = np.outer(p, q), pivot.total_bar, pivot.count_bar
    for place in (0, 63, 64, 90):
        for share in (0.0, 0.3, 0.5, 1.0):
            m = float(grid[place] + share * (grid[place + 1] - grid[place]))
            for count in (1, 2, 5, 50):
                total, rows = m * count + s, count + c
                bar = np.abs(s - m * c) > ratios._bars[place]
                least, most = np.maximum(rows - b, 1), np.maximum(rows + b, 1)
                low = (total - a) / np.where(total < a, least, most)
                high = (total + a) / np.where(total > -a, least, most)
                box = (m < low - 1e-9) | (m > high + 1e-9)
                assert float(np.sum(chances[bar | box])) <= float(CHANCE) + 1e-9


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("place", [64, 65, 66, 90, 128])
def test_a_bar_is_the_least_that_pays_for_all_that_can_be_missed(kind: str, place: int) -> None:
    """Noise by noise, as the head of the module says when the box of a ratio misses."""
    ratios = known(kind, CHANCE)
    pivot, ratio = ratios._pivot, float(ratios._grid[place])
    spacing = float(ratios._grid[1] - ratios._grid[0])
    a, b = pivot.total_bar, pivot.count_bar
    s, c = np.meshgrid(np.arange(-200, 201), np.arange(-b, int(pivot.count_reach) + 1), indexing="ij")
    chances = np.multiply(ratios.total_noise.pmf(s), ratios.count_noise.pmf(c))
    boxes = np.zeros(s.shape, bool)
    for near in np.linspace(ratio - spacing, ratio + spacing, 41):
        m, up = abs(near), s if near >= 0 else -s
        boxes |= (up > a + m * (b + c) + 1e-9) | (up < m * np.maximum(c - b, 0) - a - 1e-9)
    never = float(ratios.count_noise.sf(b)) + float(ratios.count_noise.sf(int(pivot.count_reach)))

    def missed(bar: float) -> float:
        return never + float(np.sum(chances[boxes | (np.abs(s - ratio * c) > bar)]))

    (bar,) = pivot.bars(np.array([ratio]), spacing).tolist()
    assert missed(bar * (1 + 1e-7)) <= CHANCE or bar == a + ratio * b
    assert missed(bar * (1 - 1e-6) - 1e-6) > float(CHANCE) * (1 - 1e-6)
    size = np.array([ratio])
    for other in (0.1, 0.3 * bar, 0.7 * bar, 1.3 * bar, 3 * bar, 20 * bar):
        (found,) = pivot._missed(size, np.array([other]), pivot._boxes(size, spacing)).tolist()
        assert found == pytest.approx(missed(other), abs=1e-7)


@pytest.mark.parametrize("kind", NOISES)
def test_every_noise_of_the_count_is_looked_at_or_counts_as_missed(kind: str) -> None:
    pivot = known(kind, CHANCE)._pivot
    assert float(np.sum(pivot.masses)) + pivot.missed == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("width", [1, 1000])
def test_bins_of_the_count_hold_each_of_its_errors_once(width: int) -> None:
    noise = Geometric("0.1").stretched(width)
    pivot = Ratios(Geometric("0.1"), noise, low=0, high=1, chance=CHANCE)._pivot
    starts, ends = pivot.places[:-1] - pivot.half_bin, pivot.places[:-1] + pivot.half_bin
    assert starts[0] == -pivot.count_bar
    np.testing.assert_array_equal(starts[1:], ends[:-1] + 1)
    held = noise.cdf(ends.astype(np.int64)) - noise.cdf(starts.astype(np.int64) - 1)
    np.testing.assert_allclose(pivot.masses[:-1], held, rtol=1e-6, atol=1e-12)
    assert pivot.places[-1] <= pivot.count_reach


@pytest.mark.parametrize("kind", NOISES)
def test_bars_between_two_points_are_as_high_as_both_allow_and_no_higher(kind: str) -> None:
    """A bar rises from either point by at most the reach per ratio: looked at in 1,000 places in between."""
    ratios = known(kind, CHANCE)
    pivot, grid = ratios._pivot, ratios._grid
    step = float(grid[1] - grid[0])
    ends, rise = pivot.bars(grid, step), step * pivot.count_reach
    share = np.linspace(0, 1, 1001)[:, None]
    allowed = np.minimum(ends[:-1] + share * rise, ends[1:] + (1 - share) * rise).max(axis=0)
    assert np.all(ratios._bars >= allowed - 1e-9)
    assert np.all(ratios._bars <= allowed + rise / 1000 + 1e-9)


@pytest.mark.parametrize("kind", NOISES)
def test_a_box_holds_the_ratios_of_all_its_totals_and_counts_and_no_more(kind: str) -> None:
    ratios = known(kind, CHANCE)
    a, b = ratios._pivot.total_bar, ratios._pivot.count_bar
    for total, count in product(range(-a - 3, a + 4), (-b - 2, -b, 0, 1, b, b + 1, b + 2, 3 * b + 5)):
        counts = range(max(count - b, 1), max(count + b, 1) + 1)
        within = [each / rows for each, rows in product(range(total - a, total + a + 1), counts)]
        box = ratios.box(total, count)
        assert box.low == pytest.approx(min(max(min(within), -WIDTH), WIDTH), abs=1e-9)
        assert box.high == pytest.approx(min(max(max(within), -WIDTH), WIDTH), abs=1e-9)


def test_intervals_of_half_the_width_are_caught() -> None:
    ratios = HalfBars(*NOISES["geometric"], low=-WIDTH, high=WIDTH, chance=CHANCE)
    assert chance_to_miss(ratios, 24, 8, most=1e-4) > CHANCE


@given(
    st.sampled_from(sorted(NOISES)),
    st.integers(-100, 100),
    st.integers(-20, 60),
    st.sampled_from([Fraction(1, 20), Fraction(1, 5), Fraction(1, 100)]),
)
@settings(max_examples=300, deadline=None)
def test_never_wider_than_the_box(kind: str, total: int, count: int, chance: Fraction) -> None:
    ratios = known(kind, chance)
    found, box = ratios.interval(total, count), ratios.box(total, count)
    assert box.low <= found.low <= found.high <= box.high
    assert found.low >= -WIDTH
    assert found.high <= WIDTH


def groups(rows: int, runs: int, noises: tuple[IntegerNoise, IntegerNoise]) -> np.ndarray:
    ages = np.random.default_rng(rows).integers(0, 101, rows)
    total = int((2 * ages - 100).sum())
    return np.column_stack([total + noises[0].sample(runs), rows + noises[1].sample(runs), [total] * runs])


def test_groups_of_1_to_50_rows_are_covered_and_much_narrower() -> None:
    noises, chance = (Geometric("0.5").stretched(100), Geometric("0.5")), 0.1
    ratios = Ratios(*noises, low=-100, high=100, chance=chance)
    narrower = {}
    for rows in (1, 2, 5, 10, 20, 50):
        missed, ours, boxes = 0, 0.0, 0.0
        for total, count, truth in groups(rows, 300, noises).tolist():
            found, box = ratios.interval(total, count), ratios.box(total, count)
            missed += not found.low <= truth / rows <= found.high
            ours, boxes = ours + found.high - found.low, boxes + box.high - box.low
        assert missed <= binom.isf(1e-9, 300, chance)
        narrower[rows] = ours / boxes
    assert narrower[20] < 0.9
    assert narrower[50] < 0.8


def test_a_bar_without_noise_on_the_count_is_that_of_the_total() -> None:
    ratios = Ratios(Geometric(1), Geometric(60), low=-1, high=1, chance=0.1)
    found = ratios.interval(0, 100)
    assert found.high == pytest.approx(Geometric(1).quantile_abs("0.9") / 100, rel=0.35)


def test_wide_noise_is_looked_at_in_bins() -> None:
    """A thousand times the noise on a thousand times the rows gives the same interval, but for the bins."""
    near = Ratios(Geometric("0.1").stretched(100), Geometric("0.1"), low=0, high=100, chance=CHANCE)
    wide = (Geometric("0.1").stretched(100_000), Geometric("0.1").stretched(1000))
    far = Ratios(*wide, low=0, high=100, chance=CHANCE)
    one, other = near.interval(40 * 200, 200), far.interval(40 * 200_000, 200_000)
    assert other.low == pytest.approx(one.low, rel=0.02)
    assert other.high == pytest.approx(one.high, rel=0.02)
    missed = 0
    for total, count in zip(wide[0].sample(400).tolist(), wide[1].sample(400).tolist(), strict=True):
        found = far.interval(40 * 50_000 + total, 50_000 + count)
        missed += not found.low <= 40 <= found.high
    assert missed <= binom.isf(1e-9, 400, float(CHANCE))


@pytest.mark.parametrize(
    ("low", "high"), [(1, 1), (2, 1), (float("nan"), 1), (0, float("inf")), (float("-inf"), 0)]
)
def test_the_range_of_a_ratio_is_finite(low: float, high: float) -> None:
    with pytest.raises(InvalidParameter, match="low"):
        Ratios(Geometric(1), Geometric(1), low=low, high=high, chance=0.05)
