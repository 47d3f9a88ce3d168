"""The run itself, driven by replayed bits and by the real sampler."""

from __future__ import annotations

import pickle

import pytest

from dovetail.errors import UpdatesExhausted
from dovetail.noise import Geometric
from dovetail.online import Guard, Outcome, ResponseCurve, SparseVector, Thresholds, measure, verdict
from dovetail.sampling import Recording, experiment_bits, replay
from online_transcripts import FULL, words

GUARD = Guard(Geometric("0.2"), ResponseCurve.pure("0.3"), Geometric("0.1"), 2, distance=20)
MIDDLE = Thresholds(0, 0)


def test_thresholds_are_two_draws_of_their_own() -> None:
    bits = experiment_bits(7, 64)
    thresholds = Thresholds.drawn(GUARD, Recording(bits))
    assert [thresholds.above, thresholds.below] == replay(GUARD.threshold_noise, 2, bits).tolist()
    assert "private" in repr(thresholds)


def test_the_upper_test_comes_first_and_reads_its_own_word() -> None:
    weight = GUARD.tests.weight(20 - 5)
    assert verdict(GUARD, MIDDLE, 5, words(weight - 1)) == 1
    lower = GUARD.tests.weight(20 + 5)
    assert verdict(GUARD, MIDDLE, 5, words(weight, lower - 1)) == -1
    assert verdict(GUARD, MIDDLE, 5, words(weight, lower)) == 0


def test_far_beyond_a_threshold_every_word_fires() -> None:
    assert verdict(GUARD, MIDDLE, 20, words(FULL)) == 1
    assert verdict(GUARD, MIDDLE, 19, words(FULL, FULL)) == 0
    assert verdict(GUARD, MIDDLE, -20, words(FULL, FULL)) == -1


def test_a_threshold_moves_its_own_side_only() -> None:
    high = Thresholds(above=30, below=0)
    assert verdict(GUARD, high, 49, words(FULL, FULL)) == 0
    assert verdict(GUARD, high, 50, words(FULL)) == 1
    assert verdict(GUARD, high, -20, words(FULL, FULL)) == -1
    low = Thresholds(above=0, below=30)
    assert verdict(GUARD, low, -49, words(FULL, FULL)) == 0
    assert verdict(GUARD, low, -50, words(FULL, FULL)) == -1
    assert verdict(GUARD, low, 20, words(FULL)) == 1


def test_a_measured_answer_has_noise_of_its_own() -> None:
    bits = experiment_bits(3, 64)
    assert measure(GUARD, 1000, Recording(bits)) == 1000 + replay(GUARD.answer_noise, None, bits)
    assert measure(Guard(Geometric(1), ResponseCurve.pure(1), None, 1), 1000) is None


def test_a_run_counts_its_firings_and_then_refuses() -> None:
    run = SparseVector(GUARD, MIDDLE)
    assert run.ask(10, 10, words(FULL, FULL)) == Outcome(0)
    assert run.left == 2
    for _ in range(2):
        assert run.ask(10_000, 10).sign == 1
    assert (run.left, run.asked, run.fired) == (0, 3, 2)
    with pytest.raises(UpdatesExhausted, match="not checked") as caught:
        run.ask(10, 10)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.asked, again.updates) == (3, 2)
    assert run.asked == 3


def test_a_whole_run_repeats_from_its_bits() -> None:
    def transcript(seed: int) -> list[Outcome]:
        source = Recording(experiment_bits(seed, 4000))
        run = SparseVector.opened(GUARD, source)
        asked = []
        for truth in range(0, 80, 2):
            if run.left:
                asked.append(run.ask(truth, 20, source))
        return asked

    assert transcript(1) == transcript(1)
    assert transcript(1) != transcript(2)


def test_passed_answers_keep_the_promise_of_the_whole_run() -> None:
    """1,000 runs of 50 questions each miss alpha in at most 5 %, but for a false alarm of 1e-9."""
    guard = Guard(Geometric("0.2"), ResponseCurve.pure("0.3"), None, 3, distance=20)
    alpha, missed = guard.alpha("0.95"), 0
    for _ in range(1000):
        run = SparseVector.opened(guard)
        wrong = False
        for error in (alpha + 1, -alpha - 1) * 25:
            if not run.left:
                break
            wrong |= run.ask(error, 0).sign == 0
        missed += wrong
    # P(Binomial(1000, 0.05) > 95) < 1e-9.
    assert missed <= 95
    narrow = sum(
        SparseVector.opened(guard).ask(side * (alpha - 12), 0).sign == 0
        for _ in range(500)
        for side in (1, -1)
    )
    assert narrow > 95  # a promise that is 12 too small would be seen
