"""Real runs with the real sampler: the epsilon that they prove to be lost, against what is charged."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import pytest
from scipy.stats import beta

from dovetail.noise import Geometric
from dovetail.online import Guard, ResponseCurve, SparseVector, Thresholds

GUARD = Guard(Geometric("0.6"), ResponseCurve.pure("0.3"), None, 1, distance=10)
RUNS = 40_000
FALSE_ALARM = 1e-9
GUESS, QUESTIONS = -8, 4


def sound(truth: int) -> bool:
    """Whether a run passes four questions about a count that the neighbour moves."""
    run = SparseVector.opened(GUARD)
    return all(run.ask(truth, GUESS).sign == 0 for _ in range(QUESTIONS))


def without_threshold(truth: int) -> bool:
    run = SparseVector(GUARD, Thresholds(0, 0))
    return all(run.ask(truth, GUESS).sign == 0 for _ in range(QUESTIONS))


def without_noise(truth: int) -> bool:
    """Between two exact comparisons there is room for one value of the count."""
    edge = GUARD.distance + SparseVector.opened(GUARD).thresholds.above + GUESS
    return truth < edge <= 1


def fresh_thresholds(truth: int) -> bool:
    return all(SparseVector.opened(GUARD).ask(truth, GUESS).sign == 0 for _ in range(QUESTIONS))


def proven(event: Callable[[int], bool], runs: int = RUNS) -> float:
    """Return a lower bound of epsilon from how often an event occurs in D and in D' (Clopper-Pearson)."""
    seen = [sum(event(truth) for _ in range(runs)) for truth in (0, 1)]
    most, least = max(seen), min(seen)
    low = float(beta.ppf(FALSE_ALARM / 4, most, runs - most + 1)) if most else 0.0
    high = float(beta.isf(FALSE_ALARM / 4, least + 1, runs - least))
    return log(low / high) if low > 0 else 0.0


def test_real_runs_prove_no_more_than_is_charged() -> None:
    reached = proven(sound)
    assert 0 < reached <= GUARD.loss().epsilon


@pytest.mark.parametrize(
    ("broken", "runs"), [(without_threshold, RUNS), (without_noise, RUNS), (fresh_thresholds, 2 * RUNS)]
)
def test_broken_runs_prove_more_than_is_charged(broken: Callable[[int], bool], runs: int) -> None:
    """With so many runs, each is missed less than once in a million times."""
    assert proven(broken, runs) > GUARD.loss().epsilon
