from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.answers.consistency import nearest_counts
from dovetail.answers.intervals import bars, values
from dovetail.noise import Geometric, GeometricMixture
from dovetail.pricing.stretching import component_noises
from dovetail.query import Column, Count, Histogram, Linear, Mean, Schema, Sum

TABLE = Schema([Column("x", "number"), Column("k", "text", values=["a", "b", "c"])]).table()
NOISE = GeometricMixture("0.2", 1, 5)


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)])
@pytest.mark.parametrize(
    "query",
    [Count(), Sum("x", low=0, high=7, step="0.5"), Linear("k", {"a": 1}, step="0.1")],
    ids=["count", "sum", "linear"],
)
def test_an_interval_is_the_shortest_that_holds_its_level(query: Count, level: Fraction) -> None:
    question = query.checked(TABLE)
    noises = component_noises(question, NOISE)
    (bar,) = bars(question, noises, [(100,)], level, simultaneous=False, clamp=False)
    half = (bar.high - bar.low) / 2 / question.step
    assert (bar.high + bar.low) / 2 == 100 * question.step
    assert noises[0].within(float(half)) >= level
    assert noises[0].within(float(half) - 1) < level


def test_simultaneous_intervals_hold_for_all_cells_at_once() -> None:
    question = Histogram("k").checked(TABLE)
    noises = component_noises(question, NOISE)
    cells = [(10,), (20,), (30,)]
    level = Fraction(19, 20)
    half = bars(question, noises, cells, level, simultaneous=True, clamp=False)[0].high - 10
    assert NOISE.within(float(half)) ** 3 >= level
    assert NOISE.within(float(half) - 1) ** 3 < level
    assert bars(question, noises, cells, level, simultaneous=False, clamp=False)[0].high - 10 < half


@settings(deadline=None)
@given(
    st.lists(st.integers(-5, 9), min_size=1, max_size=40),
    st.integers(-40, 40),
    st.integers(-8, 8),
)
def test_a_mean_s_interval_holds_its_value_and_keeps_the_bounds(
    rows: list[int], shift: int, count_shift: int
) -> None:
    question = Mean("x", low=-2, high=3, step=1).checked(TABLE)
    noises = component_noises(question, Geometric(1))
    kept = [min(max(row, -2), 3) for row in rows]
    total, count = sum(2 * row - 1 for row in kept), len(kept)
    noisy = (total + shift, count + count_shift)
    (bar,) = bars(question, noises, [noisy], Fraction(19, 20), simultaneous=False, clamp=False)
    (value,) = values(question, noises, [noisy], clamp=False)
    assert bar.low <= value <= bar.high
    assert -2 <= bar.low <= bar.high <= 3


def test_a_mean_is_exact_without_noise_and_bounded_without_rows() -> None:
    question = Mean("x", low=0, high=10, step="0.5").checked(TABLE)
    noises = component_noises(question, Geometric(1))
    rows = [2, 3, 20]  # in steps
    centred = sum(2 * row - 20 for row in rows)
    assert values(question, noises, [(centred, 3)], clamp=False) == [Fraction(25, 6)]
    assert values(question, noises, [(-(10**6), -5)], clamp=False) == [0]


@given(st.lists(st.integers(-50, 200), min_size=1, max_size=30))
def test_consistent_counts_are_non_negative_keep_the_total_and_the_order(counts: list[int]) -> None:
    made = nearest_counts(counts)
    assert min(made) >= 0
    assert sum(made) == max(sum(counts), 0)
    for one, another in product(range(len(counts)), repeat=2):
        if counts[one] > counts[another]:
            assert made[one] >= made[another]


@given(st.lists(st.integers(-3, 4), min_size=2, max_size=4))
def test_no_other_whole_table_with_that_total_is_nearer(counts: list[int]) -> None:
    made = nearest_counts(counts)
    total = max(sum(counts), 0)

    def distance(table: tuple[int, ...] | list[int]) -> int:
        return sum((a - b) ** 2 for a, b in zip(table, counts, strict=True))

    best = min(
        distance(table) for table in product(range(total + 1), repeat=len(counts)) if sum(table) == total
    )
    assert distance(made) == best
