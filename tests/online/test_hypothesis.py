"""The dense hypothesis against plain sums over all cells."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.online import Hypothesis, Region
from dovetail.online import hypothesis as belief
from dovetail.online.region import halves


@st.composite
def beliefs(draw: st.DrawFn) -> tuple[Hypothesis, Region, np.ndarray]:
    """A small hypothesis, a region with any grouping of its axes, and the cells as plain numbers."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    cells = random.random(shape) + 0.01
    total = draw(st.sampled_from([1, 40, 32561]))
    axes = list(random.permutation(len(shape)))
    factors = []
    while axes and draw(st.booleans()):
        group = [int(axes.pop()) for _ in range(min(len(axes), draw(st.integers(1, 2))))]
        factors.append((group, random.random([shape[axis] for axis in group]) < 0.6))
    plain = cells / cells.sum() * total
    return Hypothesis(cells.copy(), total), Region.of(shape, *factors), plain


def dense(region: Region) -> np.ndarray:
    """The mask cell by cell, from the meaning of factors."""
    mask = np.ones(region.shape, bool)
    for place in np.ndindex(*region.shape):
        for axes, table in region.factors:
            mask[place] &= table[tuple(place[axis] for axis in axes)]
    return mask


@given(beliefs())
def test_a_count_is_the_sum_over_its_cells(case) -> None:
    hypothesis, region, plain = case
    assert np.array_equal(region.dense(), dense(region))
    assert hypothesis.count(region) == pytest.approx(plain[dense(region)].sum(), rel=1e-12, abs=1e-12)


@given(beliefs())
def test_a_count_asked_again_is_the_same_from_a_kept_marginal(case) -> None:
    hypothesis, region, _ = case
    first, *again = (hypothesis.count(region) for _ in range(3))
    assert again == pytest.approx([first, first], rel=1e-12, abs=1e-12)
    assert region.axes in hypothesis._kept


@given(beliefs(), st.floats(0.01, 100))
def test_multiplying_a_region_keeps_the_total_and_all_other_proportions(case, factor) -> None:
    hypothesis, region, plain = case
    before = hypothesis.version
    hypothesis.multiply(region, factor)
    expected = np.where(dense(region), plain * factor, plain)
    expected *= plain.sum() / expected.sum()
    every = tuple(range(len(region.shape)))
    assert np.allclose(hypothesis.marginal(every), expected, rtol=1e-10)
    assert hypothesis.version == before + 1


@given(beliefs())
def test_a_marginal_is_kept_only_until_the_next_change(case) -> None:
    hypothesis, region, plain = case
    first = hypothesis.marginal([0])
    assert np.allclose(first, plain.sum(axis=tuple(range(1, plain.ndim))))
    hypothesis.multiply(region, 3.0)
    every = hypothesis.marginal(range(plain.ndim))
    assert np.allclose(hypothesis.marginal([0]), every.sum(axis=tuple(range(1, plain.ndim))))


def test_scales_are_settled_before_floats_run_out() -> None:
    hypothesis = Hypothesis.uniform((2, 2), 100)
    top = Region.product((2, 2), {0: [True, False]})
    for _ in range(2500):
        hypothesis.multiply(top, 1e3)
        hypothesis.multiply(top, 1e-3)
    assert hypothesis.count(top) == pytest.approx(50, rel=1e-9)
    for _ in range(100):
        hypothesis.multiply(Region.of((2, 2)), 1e10)
    assert hypothesis.count(top) == pytest.approx(50, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-100, 1e-20, 1e20, 1e100])
def test_scales_are_settled_before_one_step_more_would_be_too_far(factor: float) -> None:
    hypothesis = Hypothesis(np.array([[1.0, 2.0], [3.0, 4.0]]), 100)
    top = Region.product((2, 2), {0: [True, False]})
    for _ in range(40):
        hypothesis.multiply(Region.of((2, 2)), factor)
        assert 2.0**-200 < hypothesis._sum < 2.0**200
        assert hypothesis.count(top) == pytest.approx(30, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-3, 1e-9, 1e-17, 1e-25])
@pytest.mark.parametrize("rest", [1.0, 1e-7, 1e-12])
def test_what_is_left_is_right_where_nearly_everything_was_taken_away(rest: float, factor: float) -> None:
    """Subtracted from the sum, nearly everything would leave roundings, or nothing at all to divide by."""
    hypothesis = Hypothesis(np.array([3e9, 7e9, rest]), 1e10)
    region = Region.product((3,), {0: [True, True, False]})
    hypothesis.multiply(region, factor)
    inside = Fraction(factor) * 10**10
    expected = 10**10 * inside / (inside + Fraction(rest))
    assert hypothesis.count(region) == pytest.approx(float(expected), rel=1e-9)


def test_sums_are_added_up_anew_now_and_then() -> None:
    """A thousand changes gather roundings, which would stay for ever."""
    hypothesis = Hypothesis.uniform((2, 2), 100)
    top = Region.product((2, 2), {0: [True, False]})
    hypothesis._sum *= 1.01
    for _ in range(999):
        hypothesis.multiply(top, 1.0)
    assert hypothesis.count(top) == pytest.approx(50 / 1.01)
    hypothesis.multiply(top, 1.0)
    assert hypothesis.count(top) == pytest.approx(50, rel=1e-12)


def test_few_and_small_marginals_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief, "_KEPT_CELLS", 6)
    monkeypatch.setattr(belief, "_MOST_KEPT", 2)
    hypothesis = Hypothesis.uniform((2, 3, 4), 240)
    for axes in ([0, 1], [1, 2], [0], [2]):
        assert hypothesis.marginal(axes).sum() == pytest.approx(240)
    assert set(hypothesis._kept) == {(0, 1), (0,)}
    large, small = (
        Region.product((2, 3, 4), {axis: [True] * size for axis, size in which.items()})
        for which in ({1: 3, 2: 4}, {0: 2, 1: 3})
    )
    fresh = Hypothesis.uniform((2, 3, 4), 240)
    for _ in range(2):
        assert fresh.count(large) == fresh.count(small) == pytest.approx(240)
    assert set(fresh._kept) == {(0, 1)}


@settings(max_examples=30)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=8))
def test_halves_are_as_square_as_they_can_be(shape) -> None:
    left, right = halves(shape)
    assert [*left, *right] == list(range(len(shape)))
    side = max(prod(shape[: len(left)]), prod(shape[len(left) :]))
    assert all(side <= max(prod(shape[:cut]), prod(shape[cut:])) for cut in range(len(shape) + 1))


def test_ten_million_cells_need_at_most_twenty_bytes_each() -> None:
    shape = (10, 10, 10, 10, 10, 10, 10)
    region = Region.product(shape, {axis: np.arange(10) < 7 for axis in range(7)})
    mixed = Region.of(shape, ([0, 6], np.add.outer(range(10), range(10)) % 2 == 0))
    everything = Region.of(shape, (list(range(7)), np.zeros(shape, bool)))
    tracemalloc.start()
    hypothesis = Hypothesis.uniform(shape, 1000)
    for each in (region, mixed, everything):
        hypothesis.count(each)
        hypothesis.multiply(each, 2.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 20 * prod(shape)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hypothesis.uniform((10**4, 10**4), 5),
        lambda: Hypothesis.uniform((0,), 5),
        lambda: Hypothesis(np.array([1.0, -1.0]), 5),
        lambda: Hypothesis(np.zeros((3, 0)), 5),
        lambda: Hypothesis(np.array([0.0, 0.0]), 5),
        lambda: Hypothesis(np.array([1, 2]), 5),
        lambda: Hypothesis(np.array([1.0, np.nan]), 5),
        lambda: Hypothesis.uniform((2,), "nan"),
        lambda: Hypothesis.uniform((2,), 5).multiply(Region.of((2,)), 0.0),
        lambda: Hypothesis.uniform((2,), 5).count(Region.of((3,))),
        lambda: Region.of((2, 2), ([0], [True, False]), ([0], [True, True])),
        lambda: Region.of((2, 2), ([0], [True])),
    ],
)
def test_what_is_no_table_is_refused(make) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_a_noisy_number_of_rows_counts_as_one_at_least() -> None:
    assert Hypothesis.uniform((2,), -7).total == 1


@pytest.mark.parametrize("block", [1, 20, 1 << 14])
def test_cells_are_changed_block_by_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief, "_BLOCK", block)
    cells = np.arange(1.0, 61.0).reshape(6, 10)
    region = Region.product((6, 10), {0: [True, False, True, True, True, False], 1: [True, False] * 5})
    guess = Hypothesis(cells.copy(), cells.sum())
    guess.multiply(region, 3.0)
    wanted = np.where(region.dense(), 3 * cells, cells)
    assert np.allclose(guess.marginal([0, 1]), wanted * cells.sum() / wanted.sum())
