"""Multiplicative weights: each step ends on its target, and the truth comes nearer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.online import Hypothesis, Learner, Measurement, Region
from dovetail.online.multiplicative_weights import LATEST, impose, shrunken

SHAPE = (3, 4)


def region(*cells: int) -> Region:
    mask = np.zeros(12, bool)
    mask[list(cells)] = True
    return Region.of(SHAPE, ([0, 1], mask.reshape(SHAPE)))


@given(st.sets(st.integers(0, 11), min_size=1, max_size=11), st.integers(-50, 160), st.floats(0, 40))
def test_a_step_ends_on_the_shrunken_target_and_keeps_other_proportions(cells, value, deviation) -> None:
    hypothesis = Hypothesis(np.arange(1.0, 13.0).reshape(SHAPE), 100)
    inside = region(*cells)
    mask, before = inside.dense(), hypothesis.marginal([0, 1])
    believed = hypothesis.count(inside)
    impose(hypothesis, Measurement(inside, value, deviation))
    after = hypothesis.marginal([0, 1])
    target = np.clip(shrunken(value, believed, deviation), min(0.5, believed), 100 - min(0.5, 100 - believed))
    assert after[mask].sum() == pytest.approx(target, rel=1e-9)
    assert after.sum() == pytest.approx(100)
    for side in (mask, ~mask):
        assert np.allclose(after[side] / after[side].sum(), before[side] / before[side].sum())


def test_a_gap_of_nothing_changes_nothing() -> None:
    hypothesis = Hypothesis.uniform(SHAPE, 120)
    impose(hypothesis, Measurement(region(0), 10, 0.0))
    impose(hypothesis, Measurement(region(0), 12, 5.0))
    assert hypothesis.version == 0


def test_what_is_believed_empty_or_everything_stays() -> None:
    hypothesis = Hypothesis(np.eye(3, 4), 10)
    for inside in (region(1, 2, 3), region(0, 5, 10), region(*range(12))):
        impose(hypothesis, Measurement(inside, 5, 0.0))
    assert hypothesis.version == 0


def test_even_absurd_answers_leave_a_table() -> None:
    learner = Learner(Hypothesis.uniform(SHAPE, -3))
    for value in (10**9, -(10**9), 5, 0):
        learner.learn(Measurement(region(0, 1), value, 1.0))
    cells = learner.hypothesis.marginal([0, 1])
    assert cells.sum() == pytest.approx(1)
    assert np.all(cells > 0)


def test_learning_comes_near_the_truth() -> None:
    random = np.random.default_rng(5)
    truth = random.multinomial(5000, random.dirichlet(np.ones(12) / 2)).reshape(SHAPE)
    learner = Learner(Hypothesis.uniform(SHAPE, 5000))
    for _ in range(200):
        inside = region(*random.choice(12, 5, replace=False))
        learner.learn(Measurement(inside, int(truth[inside.dense()].sum()), 0.0))
    assert np.abs(learner.hypothesis.marginal([0, 1]) - truth).max() < 5


def test_the_latest_measurements_are_imposed_again() -> None:
    learner = Learner(Hypothesis.uniform(SHAPE, 100))
    learner.learn(Measurement(region(0, 1), 60, 0.0))
    learner.learn(Measurement(region(1, 2), 50, 0.0))
    assert learner.guess(region(1, 2)) == 50
    assert abs(learner.hypothesis.count(region(0, 1)) - 60) < 10
    for _ in range(LATEST + 5):
        learner.learn(Measurement(region(3), 7, 0.0))
    assert len(learner.latest) == LATEST


@pytest.mark.parametrize(("total", "least"), [(1, 0.25), (100, 0.5)])
def test_no_measurement_empties_a_region_nor_the_rest(total: int, least: float) -> None:
    for value, left in ((0, least), (10**6, total - least)):
        hypothesis = Hypothesis.uniform(SHAPE, total)
        impose(hypothesis, Measurement(region(*range(6)), value, 0.0))
        assert hypothesis.count(region(*range(6))) == pytest.approx(left)


def test_a_learner_imposes_what_is_new_at_once_and_then_all_of_the_latest_in_turn() -> None:
    """The same rule on plain numbers: towards each target, all other proportions kept."""
    told = [(region(0, 1, 2, 3), 70, 3.0), (region(0, 4, 8), 15, 2.0), (region(3, 7), 45, 0.5)]
    learner, plain = Learner(Hypothesis(np.arange(1.0, 13.0).reshape(SHAPE), 100)), np.arange(1.0, 13.0)
    plain = plain.reshape(SHAPE) / plain.sum() * 100

    def step(cells: np.ndarray, inside: Region, value: int, deviation: float) -> np.ndarray:
        mask, believed = inside.dense(), cells[inside.dense()].sum()
        gap = value - believed
        if abs(gap) <= deviation:
            return cells
        target = min(max(believed + gap - deviation**2 / gap, 0.5), 99.5)
        return np.where(mask, cells * target / believed, cells * (100 - target) / (100 - believed))

    for number, (inside, value, deviation) in enumerate(told, 1):
        learner.learn(Measurement(inside, value, deviation))
        plain = step(plain, inside, value, deviation)
        for each in told[:number]:
            plain = step(plain, *each)
    assert np.allclose(learner.hypothesis.marginal([0, 1]), plain, rtol=1e-9)
