"""Joints, rows and whole tables from marginals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric
from dovetail.workloads import MarginalWorkload, Strategy
from dovetail.workloads.synthetic import consistent, fitted_joint, synthetic_rows, whole_joint

from .test_marginals import margins

WANTED = MarginalWorkload((3, 2, 4), ((0, 1), (0, 2), (1, 2)))
PRECISE = Strategy.alike("joint", WANTED, Geometric(9))
NOISY = Strategy.alike("joint", WANTED, Geometric("0.3"))
counts = arrays.arrays(np.int64, (3, 2, 4), elements=st.integers(0, 50))


@given(counts)
@settings(max_examples=40, deadline=None)
def test_margins_of_the_fitted_joint_come_close(joint: np.ndarray) -> None:
    truth = margins(WANTED, joint + 1)
    fitted = fitted_joint(PRECISE, truth)
    found = margins(WANTED, fitted)
    for table in WANTED.tables:
        assert np.abs(found[table] - truth[table]).sum() <= 0.01 * truth[table].sum()


def test_independent_columns_are_fitted_as_such() -> None:
    wanted = MarginalWorkload((2, 3), ((0,), (1,)))
    strategy = Strategy.alike("joint", wanted, Geometric(12))
    joint = fitted_joint(strategy, {(0,): np.array([10, 30]), (1,): np.array([4, 16, 20])})
    assert np.allclose(joint, np.outer([10, 30], [4, 16, 20]) / 40, rtol=0.02)


@given(counts, st.integers(1, 300))
@settings(max_examples=60, deadline=None)
def test_rows_follow_the_joint_to_within_one_row_along_its_cells(joint: np.ndarray, rows: int) -> None:
    joint = joint + 0.01
    found = whole_joint(joint, rows)
    expected = np.cumsum(joint.ravel()) / joint.sum() * rows
    assert np.all(np.abs(np.cumsum(found.ravel()) - expected) <= 0.5 + 1e-9)
    listed = synthetic_rows(joint, rows)
    assert listed.shape == (rows, 3)
    assert np.array_equal(listed, synthetic_rows(joint, rows))


@given(counts, st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_consistent_tables_agree_and_keep_the_total(joint: np.ndarray, seed: int) -> None:
    noise = np.random.default_rng(seed)
    noisy = {key: each + noise.normal(0, 5, each.shape) for key, each in margins(WANTED, joint).items()}
    found = consistent(NOISY, noisy)
    total = max(round(float(np.mean([each.sum() for each in noisy.values()]))), 0)
    assert all(each.min() >= 0 and each.sum() == total for each in found.values())
    assert np.array_equal(found[0, 1].sum(axis=1), found[0, 2].sum(axis=1))
    assert np.array_equal(found[0, 1].sum(axis=0), found[1, 2].sum(axis=1))


def test_consistent_tables_stay_near_the_estimates() -> None:
    joint = np.random.default_rng(5).integers(200, 900, (3, 2, 4))
    truth = margins(WANTED, joint)
    found = consistent(PRECISE, truth)
    for table in WANTED.tables:
        assert np.abs(found[table] - truth[table]).sum() <= 0.02 * truth[table].sum()


def test_tables_that_contradict_each_other_are_fitted_all_the_same() -> None:
    wanted = MarginalWorkload((2, 2, 2), ((0, 1), (1, 2), (0, 2)))
    tables = {(0, 1): np.diag([9, 9]), (1, 2): np.diag([9, 9]), (0, 2): np.diag([9, 9])[::-1]}
    strategy = Strategy.alike("joint", wanted, Geometric(1))
    assert fitted_joint(strategy, tables).sum() == pytest.approx(18)
    assert sum(consistent(strategy, tables)[0, 1].ravel()) == 18


def test_an_empty_estimate_gives_empty_tables() -> None:
    nothing = {table: np.full(WANTED.shape(table), -1.0) for table in WANTED.tables}
    assert all(table.sum() == 0 for table in consistent(NOISY, nothing).values())
    assert fitted_joint(NOISY, nothing).sum() == pytest.approx(1)


def test_too_large_joints_and_bad_numbers_of_rows_are_refused() -> None:
    large = MarginalWorkload((4000, 4000), ((0,), (1,)))
    ones = {table: np.ones(4000) for table in large.tables}
    with pytest.raises(InvalidParameter, match="cells"):
        fitted_joint(Strategy.alike("joint", large, Geometric(1)), ones)
    with pytest.raises(InvalidParameter, match="rows"):
        synthetic_rows(np.ones(3), 0)
    with pytest.raises(InvalidParameter, match="positive sum"):
        synthetic_rows(np.zeros(3), 5)
