"""Variances: what one row moves, by enumeration; estimates against NumPy; coverage."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, IntegerNoise, PiecewiseGeometric
from dovetail.workloads.dispersion import DispersionEstimates, replacements, shifts


def numbers(values: list[int], low: int, high: int) -> tuple[int, int, int]:
    """What is released of values between low and high, without noise."""
    z = 2 * np.array(values, np.int64) - low - high
    return len(values), int(z.sum()), int((2 * z * z - (high - low) ** 2).sum())


@pytest.mark.parametrize("width", [1, 2, 7, 20])
def test_one_row_moves_no_more_and_some_row_moves_as_much(width: int) -> None:
    moves = [numbers([value], 5, 5 + width) for value in range(5, 6 + width)]
    assert all(abs(a) <= b for move in moves for a, b in zip(move, shifts(width), strict=True))
    assert tuple(max(abs(move[i]) for move in moves) for i in range(3)) == shifts(width)
    assert any(tuple(map(abs, move)) == shifts(width) for move in moves)


@pytest.mark.parametrize(("width", "boxes"), [(1, 8), (2, 1), (7, 3), (20, 8), (33, 4)])
def test_replacements_are_covered(width: int, boxes: int) -> None:
    covers = replacements(width, boxes)
    rows = [numbers([value], 0, width) for value in range(width + 1)] + [(0, 0, 0)]
    for one, other in product(rows, rows):
        move = [abs(a - b) for a, b in zip(one, other, strict=True)]
        assert any(all(a <= b for a, b in zip(move, cover, strict=True)) for cover in covers), move


def test_a_cover_without_the_middle_would_miss_replacements() -> None:
    """The mutation: the two ends alone, (1, R, R²) and (0, 2R, 0), do not cover what lies between."""
    covers = [(1, 10, 100), (0, 20, 0)]
    one, other = numbers([5], 0, 10), numbers([10], 0, 10)
    move = [abs(a - b) for a, b in zip(one, other, strict=True)]
    assert not any(all(a <= b for a, b in zip(move, cover, strict=True)) for cover in covers)


PRECISE = [
    DispersionEstimates(*[Geometric(60)] * 3, width=12, chance=0.05, sample=sample)
    for sample in (False, True)
]


@given(st.lists(st.integers(-3, 9), min_size=2, max_size=40), st.booleans())
@example(values=[-3, 9], sample=True)
@settings(max_examples=100, deadline=None)
def test_without_noise_it_is_the_variance(values: list[int], sample: bool) -> None:
    estimated = PRECISE[sample]
    count, total, squares = numbers(values, -3, 9)
    truth = float(np.var(values, ddof=int(sample)))
    assert estimated.variance(count, total, squares) == pytest.approx(truth, abs=1e-9)
    assert estimated.deviation(count, total, squares) == pytest.approx(truth**0.5, abs=1e-6)
    bounds = estimated.interval(count, total, squares)
    assert bounds.low - 1e-9 <= truth <= bounds.high + 1e-9
    assert bounds.low == pytest.approx(truth, abs=1e-6)
    assert bounds.high == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize(("values", "sample"), [([4], False), ([-3, 9], True), ([2, 5], True)])
@pytest.mark.parametrize("released", [1, 0, -1, -7])
def test_a_count_that_noise_made_too_low_is_taken_as_the_fewest_rows(
    values: list[int], sample: bool, released: int
) -> None:
    _, total, squares = numbers(values, -3, 9)
    truth = float(np.var(values, ddof=int(sample)))
    assert PRECISE[sample].variance(released, total, squares) == pytest.approx(truth, abs=1e-9)


class Asked:
    """A noise that notes which chance its bar was asked for."""

    def __init__(self) -> None:
        self.chances: list[Fraction] = []

    def error_bound(self, chance: Fraction) -> Fraction:
        self.chances.append(chance)
        return Fraction(4)


def test_the_chances_to_miss_add_up_to_the_one_that_is_given() -> None:
    """Both ratios miss, and of a sample's variance the number of rows."""
    for sample in (False, True):
        rows = Asked()
        estimated = DispersionEstimates(rows, Geometric(1), Geometric(1), 10, "0.2", sample)  # type: ignore[arg-type]
        if sample:
            assert estimated._row_bar == 4
        assert [estimated._means.chance, estimated._squares.chance] == [estimated._each] * 2
        assert 2 * estimated._each + sum(rows.chances) == Fraction("0.2")


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize(
    "released",
    [(60, 30, -900), (60, -350, 3000), (9, 60, 500), (200, 0, -16_000), (3, 9, 40), (400, 3600, 30_000)],
)
def test_an_interval_is_that_of_all_means_squares_and_rows_within_theirs(
    released: tuple[int, int, int], sample: bool
) -> None:
    """A search over a fine grid of the means, and every number of rows."""
    width = 10
    noises = [Geometric("0.9").stretched(shift) for shift in shifts(width)]
    estimated = DispersionEstimates(*noises, width=width, chance=0.2, sample=sample)
    count, total, squares = released
    mean, ratio = estimated._means.interval(total, count), estimated._squares.interval(squares, count)
    bar = int(noises[0].error_bound("0.02"))
    rows = np.arange(max(count - bar, 2), max(count + bar, 2) + 1)
    factors = rows / (rows - 1) if sample else np.ones(1)
    means = np.append(np.linspace(mean.low, mean.high, 2001), 0.0 if mean.low < 0 < mean.high else mean.low)
    second = (np.array([ratio.low, ratio.high]) + width**2) / 2
    every = np.maximum(second[:, None] - means**2, 0) / 4
    found = estimated.interval(*released)
    assert found.low == pytest.approx(every.min() * factors.min(), abs=1e-9)
    assert found.high == pytest.approx(every.max() * factors.max(), abs=1e-9)
    deviation = estimated.deviation_interval(*released)
    assert (deviation.low**2, deviation.high**2) == pytest.approx((found.low, found.high))


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("rows", [2, 5, 20, 50])
def test_variances_are_covered_and_half_the_interval_is_not(rows: int, sample: bool) -> None:
    runs, chance, width = 200, 0.2, 10
    values = np.random.default_rng(rows).integers(0, width + 1, rows).tolist()
    noises = [Geometric("0.5").stretched(shift) for shift in shifts(width)]
    estimated = DispersionEstimates(*noises, width=width, chance=chance, sample=sample)
    truth, missed = float(np.std(values, ddof=int(sample))), 0
    drawn = np.column_stack([noise.sample(runs) for noise in noises]) + numbers(values, 0, width)
    for released in drawn.tolist():
        found = estimated.deviation_interval(*released)
        missed += not found.low <= truth <= found.high
    assert missed <= binom.isf(1e-9, runs, chance)


def missed(rows: list[int], width: int, noise: IntegerNoise, chance: Fraction, sample: bool) -> float:
    """Return how often an interval misses, over all that three noises can do but for one part in 1,000."""
    centred = [2 * x - width for x in rows]
    true = len(rows), sum(centred), sum(2 * z * z - width**2 for z in centred)
    mean = Fraction(sum(rows), len(rows))
    variance = sum((x - mean) ** 2 for x in rows) / (len(rows) - sample)
    noises = [noise.stretched(by) for by in shifts(width)]
    found = DispersionEstimates(*noises, width=width, chance=chance, sample=sample)
    # Each of the two ratios is the same for many of the triples.
    for ratios in (found._means, found._squares):
        vars(ratios)["interval"] = cache(ratios.interval)
    laws = [[(k, float(each.pmf(k))) for k in range(-60, 61) if each.pmf(k) > 1e-4] for each in noises]
    total = seen = 0.0
    for (a, p), (b, q), (c, r) in product(*laws):
        bounds = found.interval(true[0] + a, true[1] + b, true[2] + c)
        seen += p * q * r
        total += p * q * r * (not bounds.low - 1e-12 <= variance <= bounds.high + 1e-12)
    assert seen > 0.999
    return total


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize(
    ("rows", "width", "noise"),
    [
        ([0, 1], 1, Geometric("1.2")),
        ([0, 2], 2, Geometric("2.5")),
        ([1, 1], 2, Geometric("2.5")),
        ([0, 0, 2, 1], 2, PiecewiseGeometric(["0.9", "2.5"], [2])),
    ],
)
def test_whatever_noise_does_no_variance_is_missed_more_often_than_said(
    rows: list[int], width: int, noise: IntegerNoise, sample: bool
) -> None:
    assert missed(rows, width, noise, Fraction(1, 10), sample) <= 0.1


def test_intervals_for_three_times_the_chance_would_be_caught() -> None:
    assert missed([0, 2], 2, Geometric("2.5"), Fraction(3, 10), False) > 0.1


def test_a_standard_error_alone_is_too_short() -> None:
    """The power of the test above: the estimate itself, plus and minus little, misses too often."""
    runs, width, values = 2000, 10, [0, 10] * 10
    noises = [Geometric("0.5").stretched(shift) for shift in shifts(width)]
    estimated, missed = DispersionEstimates(*noises, width=width, chance=0.2), 0
    drawn = np.column_stack([noise.sample(runs) for noise in noises]) + numbers(values, 0, width)
    for released in drawn.tolist():
        missed += abs(estimated.deviation(*released) - 5) > 0.1
    assert missed > binom.isf(1e-9, runs, 0.2)


@pytest.mark.parametrize("width", [0, 2**26 + 1])
def test_ranges_that_do_not_fit_are_refused(width: int) -> None:
    with pytest.raises(InvalidParameter, match="larger step"):
        shifts(width)
    with pytest.raises(InvalidParameter, match="larger step"):
        DispersionEstimates(*(Geometric(1) for _ in range(3)), width=width, chance=0.05)


def test_sample_is_yes_or_no() -> None:
    with pytest.raises(InvalidParameter, match="sample"):
        DispersionEstimates(*(Geometric(1) for _ in range(3)), width=3, chance=0.05, sample=1)  # type: ignore[arg-type]
