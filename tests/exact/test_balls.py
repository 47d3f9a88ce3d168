"""Balls hold what they claim, floats lie on their side, and one thread at a time has the precision."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from math import inf, nextafter

import mpmath
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dovetail.exact import above, ball, float_down, float_up, lower, nearest, precision, refined, upper
from dovetail.noise import Geometric, GeometricMixture

fractions = st.fractions(min_value=-(10**30), max_value=10**30)


@given(fractions)
def test_a_ball_holds_its_rational_and_floats_lie_on_their_side(value: Fraction) -> None:
    low, middle, high = (side(lambda: ball(value)) for side in (lower, nearest, upper))
    assert Fraction(low) <= value <= Fraction(high)
    assert nextafter(nextafter(low, inf), inf) >= high
    assert low <= middle <= high


@given(st.fractions(min_value=-300, max_value=300))
def test_exp_is_enclosed_within_two_units(value: Fraction) -> None:
    with mpmath.workdps(60):
        truth = mpmath.exp(mpmath.mpf(value.numerator) / value.denominator)
        low, high = (side(lambda: ball(value).exp()) for side in (lower, upper))
        assert low <= truth <= high
        assert high <= nextafter(nextafter(nextafter(low, inf), inf), inf)


@pytest.mark.parametrize("digits", [10, 100, 1000])
def test_what_cancels_is_recovered_by_more_precision(digits: int) -> None:
    tiny = Fraction(1, 10**digits)
    found = refined(lambda: (ball(1) + ball(tiny)) - ball(1))
    assert found.rel_accuracy_bits() >= 64
    assert abs(found * 10**digits - 1) < 1e-15


def test_what_is_too_small_for_a_float_is_0_and_bounds_stay_on_their_side() -> None:
    def hidden() -> arb:
        return (ball(1) + (-ball(10**5)).exp()).log()

    assert nearest(hidden) == 0
    assert lower(hidden) <= 0 < upper(hidden) == 5e-324
    assert nearest(lambda: ball(0)) == lower(lambda: ball(0)) == upper(lambda: ball(0)) == 0


def test_what_is_too_large_for_a_float_has_a_finite_lower_bound() -> None:
    def huge() -> arb:
        return ball(10**4).exp()

    assert upper(huge) == inf
    assert lower(huge) == pytest.approx(1.7976931348623157e308)
    assert above(arb("-inf")) == -inf
    assert above(arb("nan")) == inf


def test_a_formula_that_never_converges_is_reported() -> None:
    with pytest.raises(ArithmeticError, match="did not converge"):
        nearest(lambda: arb(0, 1))


def test_precision_nests_and_returns_after_an_error() -> None:
    before = ctx.prec
    with precision(100):
        with precision(300):
            assert ctx.prec == 300
        assert ctx.prec == 100
        with pytest.raises(ZeroDivisionError), precision(500):
            raise ZeroDivisionError
        assert ctx.prec == 100
    assert ctx.prec == before


def wrong_precisions(work_with: Callable[[int], AbstractContextManager[None]]) -> int:
    """Count how often a thread met a precision that it had not set."""
    wrong = []

    def work(bits: int) -> None:
        for _ in range(20):
            with work_with(bits):
                time.sleep(1e-4)  # the others get their turn here
                if ctx.prec != bits or ball(Fraction(1, 3)).rel_accuracy_bits() < bits - 2:
                    wrong.append(bits)

    threads = [threading.Thread(target=work, args=(bits,)) for bits in (64, 128, 1024, 4096)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(wrong)


@contextmanager
def unguarded(bits: int) -> Iterator[None]:
    """Set the precision as `precision` does, but without its lock."""
    before, ctx.prec = ctx.prec, bits
    yield
    ctx.prec = before


def test_threads_never_see_the_precision_of_another() -> None:
    assert wrong_precisions(precision) == 0
    # The same without the lock goes wrong; otherwise the line above would prove nothing.
    before = ctx.prec
    assert wrong_precisions(unguarded) > 0
    ctx.prec = before


def test_one_noise_evaluated_by_many_threads_gives_one_answer() -> None:
    noise = GeometricMixture("0.2", 1, 5)

    def tail(k: int) -> float:
        return float(noise.tail_ball(1 + k % 7, 60 + 40 * (k % 5)).mid())

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(tail, range(300)))
    assert found == pytest.approx([noise.sf(k % 7) for k in range(300)], rel=1e-12)


def _variance(queue: multiprocessing.Queue) -> None:
    queue.put(Geometric("0.5").variance())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_a_thread_holds_the_precision_is_not_stuck() -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with precision(200):
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    try:
        fork = multiprocessing.get_context("fork")
        queue = fork.Queue()
        child = fork.Process(target=_variance, args=(queue,))
        child.start()
        found = queue.get(timeout=30)
        child.join(30)
    finally:
        done.set()
        thread.join()
    assert child.exitcode == 0
    assert found == pytest.approx(Geometric("0.5").variance())


@given(fractions)
def test_a_fraction_lies_between_its_two_floats_or_is_one(value: Fraction) -> None:
    low, high = float_down(value), float_up(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high in (low, nextafter(low, inf))
    assert (low == high) == (Fraction(float(value)) == value)
