"""A joint fitted to noisy tables: the algebra against plain sums, and what it gains."""

from __future__ import annotations

import tracemalloc
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric
from dovetail.sampling import experiment_bits, replay
from dovetail.workloads.fitting import Margins, fit_joint, total_rows

SHAPE = (3, 4, 2, 5)


@st.composite
def margins(draw: st.DrawFn) -> Margins:
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    every = [c for k in range(len(sizes) + 1) for c in combinations(range(len(sizes)), k)]
    return Margins(sizes, tuple(draw(st.sets(st.sampled_from(every), min_size=1))))


def summed(joint: np.ndarray, table: tuple[int, ...]) -> np.ndarray:
    return joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in table))


@given(margins(), st.integers(0, 2**32 - 1))
def test_tables_are_sums_and_spreading_is_their_adjoint(found: Margins, seed: int) -> None:
    random = np.random.default_rng(seed)
    joint = random.random(found.sizes)
    tables = found.of(joint)
    for table, values in tables.items():
        assert np.allclose(values, summed(joint, table))
    pulls = {table: random.standard_normal(values.shape) for table, values in tables.items()}
    spread = np.empty(found.sizes)
    found.spread(pulls, spread)
    inner = sum(float(np.sum(pulls[table] * tables[table])) for table in tables)
    assert float(np.sum(spread * joint)) == pytest.approx(inner, rel=1e-9, abs=1e-9)


def population(seed: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """A table of which most cells are empty, as real ones are."""
    random = np.random.default_rng(seed)
    return random.multinomial(20_000, random.dirichlet(np.full(prod(shape), 0.03))).reshape(shape)


def test_exact_tables_are_met() -> None:
    truth = population(1)
    tables = {table: summed(truth, table) for table in combinations(range(4), 2)}
    joint = fit_joint(SHAPE, tables, dict.fromkeys(tables, 1.0), rounds=2000)
    assert joint.min() >= 0
    missed = sum(float(np.sum((summed(joint, table) - values) ** 2)) for table, values in tables.items())
    assert missed <= 0.9 * sum(values.size for values in tables.values())


def test_a_fit_errs_less_than_the_tables_it_was_made_from() -> None:
    shape = (6, 7, 8, 9)
    truth, noise = population(2, shape), Geometric("0.05")
    tables = {table: summed(truth, table) for table in combinations(range(4), 3)}
    noisy = {
        table: values + replay(noise, values.shape, experiment_bits(seed, 10_000))
        for seed, (table, values) in enumerate(tables.items())
    }
    joint = fit_joint(shape, noisy, dict.fromkeys(tables, noise.variance()))
    before = np.mean([np.abs(noisy[t] - tables[t]).mean() for t in tables])
    after = np.mean([np.abs(summed(joint, t) - tables[t]).mean() for t in tables])
    assert after < 0.8 * before
    assert joint.sum() == pytest.approx(total_rows(noisy, dict.fromkeys(tables, noise.variance())))


def test_the_number_of_rows_leans_on_small_tables() -> None:
    tables = {(): np.array(100), (0,): np.array([40, 80])}
    assert total_rows(tables, {(): 1.0, (0,): 1.0}) == pytest.approx((100 + 120 / 2) / 1.5)
    assert total_rows({(0,): np.array([-50, 10])}, {(0,): 1.0}) == 1


def test_noise_alone_leaves_a_table() -> None:
    joint = fit_joint((4, 4), {(0, 1): np.arange(-8, 8).reshape(4, 4)}, {(0, 1): 100.0})
    assert joint.min() >= 0
    assert joint.sum() == pytest.approx(1)


def test_ten_million_cells_need_at_most_twenty_bytes_each() -> None:
    shape = (10,) * 7
    tables = {table: np.full((10, 10), 10.0 + sum(table)) for table in combinations(range(7), 2)}
    tracemalloc.start()
    fit_joint(shape, tables, dict.fromkeys(tables, 1e-6), rounds=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 20 * prod(shape)


@pytest.mark.parametrize(
    ("tables", "variances"),
    [
        ({}, {}),
        ({(0,): np.ones(3)}, {(1,): 1.0}),
        ({(0,): np.ones(3)}, {(0,): 0.0}),
        ({(0,): np.ones(3)}, {(0,): float("nan")}),
        ({(0,): np.ones(4)}, {(0,): 1.0}),
        ({(1, 0): np.ones((4, 3))}, {(1, 0): 1.0}),
        ({(7,): np.ones(4)}, {(7,): 1.0}),
    ],
)
def test_what_cannot_be_fitted_is_refused(tables, variances) -> None:
    with pytest.raises(InvalidParameter):
        fit_joint(SHAPE, tables, variances)


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="at most"):
        fit_joint((10**4, 10**4), {(0,): np.ones(10**4)}, {(0,): 1.0})


def test_a_table_of_all_columns_is_met_however_small_its_noise() -> None:
    """The joint is changed in place: what was summed from it before must not change with it."""
    truth = np.array([[107, 303, 1465, 101, 7614], [166, 460, 1271, 143, 13085]])
    joint = fit_joint((2, 5), {(0, 1): truth}, {(0, 1): 1.5})
    assert np.abs(joint - truth).max() < 8
