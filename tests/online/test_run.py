"""Whole runs: where an answer comes from decides what is known of its error."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import InvalidParameter, InvalidQuery, UpdatesExhausted
from dovetail.noise import Geometric
from dovetail.online import (
    Base,
    Guard,
    Hypothesis,
    Learner,
    Region,
    ResponseCurve,
    Run,
    SparseVector,
    Thresholds,
    base_strategy,
)
from dovetail.sampling import Recording, experiment_bits
from online_transcripts import FULL, words

SHAPE = (3, 4, 2)
TABLE = (
    np.random.default_rng(4).multinomial(3000, np.random.default_rng(5).dirichlet(np.ones(24))).reshape(SHAPE)
)
GUARD = Guard(Geometric("0.5"), ResponseCurve.pure("0.3"), Geometric("0.2"), 3, distance=60)
QUIET = Thresholds(0, 0)


def truth(region: Region) -> int:
    return int(TABLE[region.dense()].sum())


def measured_base(way: int) -> Base:
    strategy = base_strategy(SHAPE, way, Geometric("0.5"))
    tables = {
        columns: TABLE.sum(axis=tuple(axis for axis in range(3) if axis not in columns))
        for columns in strategy.measured
    }
    return Base(
        strategy, {each: values + Geometric("0.5").sample(values.shape) for each, values in tables.items()}
    )


FIRST = Region.product(SHAPE, {0: [True, False, False]})
PAIR = Region.product(SHAPE, {0: [True, False, True], 2: [True, False]})
ALL = Region.product(SHAPE, {0: [True, True, False], 1: [True, False, True, True], 2: [True, False]})


def test_an_answer_from_tables_has_the_interval_of_the_unbiased_estimate() -> None:
    run = Run.from_base(measured_base(2), truth)
    found = run.answer(PAIR)
    assert (found.origin, run.asked) == ("base", 1)
    low, high = found.interval("0.95")
    assert round(low) <= found.value <= round(high)
    assert found.interval("0.95") == run.base.estimate(PAIR).interval("0.95")


def test_what_no_table_tells_is_unchecked_and_has_no_interval() -> None:
    found = Run.from_base(measured_base(2), truth).answer(ALL)
    assert found.origin == "unchecked"
    with pytest.raises(InvalidQuery, match="not checked"):
        found.interval()


def test_a_passed_guess_is_within_alpha_and_a_measured_one_within_its_noise() -> None:
    run = Run(Learner(Hypothesis(TABLE + 0.01, 3000)), truth, None, SparseVector(GUARD, QUIET))
    checked = run.answer(PAIR, source=words(FULL, FULL))
    assert (checked.origin, checked.value) == ("checked", run.learner.guess(PAIR))
    assert checked.interval("0.9") == (checked.value - GUARD.alpha("0.9"), checked.value + GUARD.alpha("0.9"))
    bits = bytes(8) + experiment_bits(1, 100)
    fired = run.answer(PAIR, source=Recording(bits))
    assert fired.origin == "measured"
    assert fired.interval("0.95")[1] - fired.value == GUARD.answer_noise.quantile_abs("0.95")
    assert (run.left, run.asked) == (2, 2)


def test_a_firing_is_recorded_before_anything_is_learnt() -> None:
    class Broken(Exception):
        pass

    def fail(region: Region, measured: int) -> None:
        raise Broken

    run = Run.empty(SHAPE, 3000, truth, SparseVector(GUARD, QUIET), fail)
    before = run.learner.hypothesis.version
    with pytest.raises(Broken):
        run.answer(FIRST, source=Recording(bytes(8) + experiment_bits(1, 100)))
    assert run.learner.hypothesis.version == before
    assert run.left == 2  # it is paid for, whoever saw it


def test_updates_run_out_and_unchecked_answers_go_on() -> None:
    kept: list[tuple[Region, int]] = []
    run = Run.empty(
        SHAPE, 3000, truth, SparseVector(GUARD, QUIET), lambda region, value: kept.append((region, value))
    )
    for _ in range(3):
        run.answer(FIRST, source=Recording(bytes(8) + experiment_bits(1, 100)))
    with pytest.raises(UpdatesExhausted):
        run.answer(FIRST)
    assert run.answer(FIRST, unchecked=True).origin == "unchecked"
    again = Run.empty(SHAPE, 3000, truth, SparseVector(GUARD, QUIET))
    again.replay(kept)
    assert again.left == 0
    assert np.allclose(again.learner.hypothesis.cells, run.learner.hypothesis.cells)


def test_a_guard_over_a_base_checks_what_the_base_guesses() -> None:
    run = Run.from_base(measured_base(1), truth, SparseVector(GUARD, QUIET))
    assert {run.answer(region).origin for region in (FIRST, PAIR, ALL)} <= {"checked", "measured"}


def test_a_run_has_a_base_or_tests_that_measure() -> None:
    with pytest.raises(InvalidParameter):
        Run(Learner(Hypothesis.uniform(SHAPE, 10)), truth)
    silent = Guard(Geometric(1), ResponseCurve.pure(1), None, 1)
    with pytest.raises(InvalidParameter):
        Run.from_base(measured_base(1), truth, SparseVector(silent, QUIET))
