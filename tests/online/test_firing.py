"""The price of one firing against adversaries played out in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import exp, expm1, log

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.online import ResponseCurve
from dovetail.online.firing import Beyond, FiringSteps, Within, _convex, _listed, _places, worst_step
from dovetail.online.response_tables import FLOOR, WHOLE


@st.composite
def curves(draw: st.DrawFn) -> ResponseCurve:
    """Short curves of any shape: certain at first, then lower and lower."""
    entries = draw(st.lists(st.integers(FLOOR, WHOLE - 1), min_size=1, max_size=3, unique=True))
    table = (WHOLE, *sorted(entries, reverse=True))
    return ResponseCurve(table, worst_step(table))


def best(pairs, gamma: Fraction, tests: int) -> Fraction:
    """The largest E (P - gamma·Q)+ that an adversary of so many tests reaches: every choice is tried."""

    @cache
    def go(ratio: Fraction, left: int) -> Fraction:
        value = max(1 - ratio, Fraction(0))
        if left == 0:
            return value
        for p, q in pairs:
            fires = max(p - ratio * q, Fraction(0))
            fails = (1 - p) * go(ratio * (1 - q) / (1 - p), left - 1) if p < 1 else Fraction(0)
            value = max(value, fires + fails)
        return value

    return go(gamma, tests)


def chance_pairs(curve: ResponseCurve) -> list[tuple[Fraction, Fraction]]:
    chances = [Fraction(entry, WHOLE) for entry in curve.table]
    return list(pairwise(chances))


@settings(max_examples=25, deadline=None)
@given(curves(), st.lists(st.floats(0, 1.2), min_size=3, max_size=3))
def test_the_list_dominates_every_adversary(curve: ResponseCurve, shares: list[float]) -> None:
    loss = curve.loss()
    for share in shares:
        epsilon = share * loss.epsilon
        reached = best(chance_pairs(curve), Fraction(exp(epsilon)), 4)
        assert loss.forward._profile.delta(epsilon) >= float(reached) - 1e-13
        assert loss.delta(epsilon) >= float(reached) - 1e-13


def test_the_list_is_nearly_the_best_adversary() -> None:
    table = (WHOLE, WHOLE * 3 // 5, WHOLE * 2 // 5, WHOLE * 3 // 10)
    curve = ResponseCurve(table, worst_step(table))
    for epsilon in (0.05, 0.2, 0.4):
        reached = float(best(chance_pairs(curve), Fraction(exp(epsilon)), 7))
        assert reached <= curve.loss().forward._profile.delta(epsilon) <= reached * 1.02 + 1e-6


@pytest.mark.parametrize("nearly", ["0.99", "0.9", "0.75"])
def test_the_list_dominates_tests_that_all_but_surely_fire(nearly: str) -> None:
    """The sure test loses little here, so the best adversary takes the next one, whose failures lead far."""
    chances = (Fraction(1), Fraction(nearly), Fraction(3, 10))
    table = tuple(int(chance * WHOLE) for chance in chances)
    curve = ResponseCurve(table, worst_step(table))
    for epsilon in (0.1, 0.4, 0.8):
        reached = float(best(chance_pairs(curve), Fraction(exp(epsilon)), 5))
        assert reached > 1 - float(chances[1]) * exp(epsilon) + 0.01
        assert reached <= curve.loss().forward._profile.delta(epsilon) <= reached * 1.02 + 1e-6


@settings(max_examples=30, deadline=None)
@given(curves(), st.sampled_from([1.25, 2.0, 8.0, 64.0]))
def test_renyi_is_that_of_the_worst_test_repeated_for_ever(curve: ResponseCurve, order: float) -> None:
    with mpmath.workdps(60):
        moments = []
        for p, q in (
            (mpmath.mpf(int(p * WHOLE)) / WHOLE, mpmath.mpf(int(q * WHOLE)) / WHOLE)
            for p, q in chance_pairs(curve)
        ):
            ratio = (1 - p) ** order * (1 - q) ** (1 - order) if p < 1 else 0
            moments.append(p**order * q ** (1 - order) / (1 - ratio))
        exact = mpmath.log(max(moments)) / (order - 1)
    figure = curve.loss().forward.renyi(order)
    assert exact <= figure
    assert figure <= float(exact) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("rate", ["0.02", "0.5", "3"])
def test_a_pure_curve_costs_its_rate_exactly(rate: str) -> None:
    loss = ResponseCurve.pure(rate).loss()
    assert loss.worst == Fraction(rate)
    assert loss.compose(50).worst == 50 * Fraction(rate)
    assert loss.delta(rate) == 0


def test_moments_never_pass_those_of_the_list() -> None:
    curve = ResponseCurve.renyi("0.02", 12)
    atoms = curve.loss().forward.parts[0][0]
    assert atoms.tighter
    for order in (2, 12, 40):
        listed = log(float(np.sum(np.exp(atoms.log_masses + (order - 1) * atoms.values)))) / (order - 1)
        assert curve.loss().renyi(order) <= listed


def test_the_mean_loss_is_the_limit_of_renyi() -> None:
    loss = ResponseCurve.renyi("0.05", 6).loss()
    assert loss.renyi("1.0001") == pytest.approx(loss.mean, rel=1e-3)
    assert loss.mean <= loss.renyi("1.0001")


def test_the_list_is_a_distribution_and_counts_what_only_q_gives() -> None:
    atoms = ResponseCurve.renyi("0.02", 12).loss().forward.parts[0][0]
    masses = np.exp(atoms.log_masses)
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    assert np.sum(masses * np.exp(-atoms.values)) + atoms.unmatched == pytest.approx(1, abs=1e-12)
    assert atoms.unmatched > 0


def test_zeta_counts_what_only_q_gives() -> None:
    """A test that P surely passes and Q passes with chance q: P tells one outcome, Q two."""
    q = Fraction(1, 2)
    table = (WHOLE, WHOLE // 2)
    loss = ResponseCurve(table, worst_step(table)).loss()
    exact = log(float(1 / q + 1 - q))
    assert exact - 1e-12 <= loss.forward.zeta()
    # Two firings: max(P²/Q, Q) over the four outcomes of Q, of which P gives one.
    twice = loss.compose(2).forward
    joint = log(float(1 / q**2 + 1 - q**2))
    assert joint - 1e-12 <= twice.zeta() <= joint + 1e-3
    # Both directions of the real run are pure, so the figure is at most the worst case.
    assert loss.zeta == loss.epsilon


def test_zeta_is_the_integral_of_delta() -> None:
    loss = ResponseCurve.renyi("0.05", 6).loss().compose(3).forward
    grid = np.linspace(0, float(loss.worst()), 201)
    deltas = np.array([loss._profile.delta(float(x)) for x in grid])
    integral = float(np.trapezoid(deltas * np.exp(grid), grid))
    assert expm1(loss.zeta()) == pytest.approx(2 * deltas[0] + 2 * integral, rel=1e-3)


def test_no_adversary_makes_a_loss_beyond_a_limit_more_likely() -> None:
    """One that fires at once has ln(p/q) with chance p; one that waits has failures behind it as well."""
    curve = ResponseCurve.renyi("0.05", 6)
    loss = curve.loss()
    for one, other in pairwise(curve.table[:40]):
        p, q = one / WHOLE, other / WHOLE
        assert loss.above(log(p / q) * (1 - 1e-9)) >= p
        for tests in (1, 10, 1000):
            waited = tests * (np.log1p(-p) - np.log1p(-q)) if p < 1 else 0.0
            assert loss.forward.below(Fraction(waited * (1 - 1e-9) - 1e-12)) >= (1 - p) ** tests * (p < 1)
    assert loss.above(loss.worst) == 0


@pytest.mark.parametrize("gamma", [0.3, 1.0, 1.4])
def test_where_a_failure_leads_far_the_chord_is_above_the_curve_and_close(gamma: float) -> None:
    """A curve that is a straight line in gamma is its own chord."""
    steps = FiringSteps.of((WHOLE * 9 // 10, WHOLE // 2, WHOLE * 3 // 10))
    step = 0.01
    beyond = Beyond.of(steps, step)
    assert len(beyond.places) == 2
    heights = 1 - gamma * np.exp(step * np.arange(beyond.places.max() + 2)) / 50
    exact = max(
        max(p - gamma * q, 0) + (1 - p) * (1 - gamma * (1 - q) / (1 - p) / 50)
        for p, q in zip(steps.p, steps.q, strict=True)
    )
    assert exact <= beyond.best(gamma, heights) <= exact + 1e-7


@pytest.mark.parametrize("following", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("gamma", [0.3, 1.0, 1.004])
def test_where_a_failure_stays_in_its_cell_the_bound_solves_for_itself(
    gamma: float, following: float
) -> None:
    """H = p - gamma·q + (1 - p)·((1 - share)·H + share·H_next), share being how far a failure leads."""
    chances = [Fraction(1), Fraction(9999, 10000), Fraction(1, 2), Fraction(499, 1000), Fraction(498, 1000)]
    steps = FiringSteps.of(tuple(int(chance * WHOLE) for chance in chances))
    step = 0.01
    within, beyond = Within.of(steps, step), Beyond.of(steps, step)
    assert (len(within.fires), len(beyond.p)) == (2, 1)
    exact = Fraction(0)
    for p, q in pairwise(chances[2:]):
        share = ((1 - q) / (1 - p) - 1) / Fraction(expm1(step))
        height = (p - Fraction(gamma) * q + (1 - p) * share * Fraction(following)) / (p + (1 - p) * share)
        exact = max(exact, height)
    found = within.best(gamma, following)
    assert found == pytest.approx(float(exact), rel=1e-5)
    # A curve that falls lies higher to the left, where failures are taken to lead.
    assert found >= float(exact) or following > exact


def test_a_failure_leads_as_many_whole_places_as_it_raises_gamma() -> None:
    chances = [Fraction(1), Fraction(9, 10), Fraction(1, 2), Fraction(2, 5), Fraction(3999, 10000)]
    steps = FiringSteps.of(tuple(int(chance * WHOLE) for chance in chances))
    step = 0.05
    expected = [1] + [int(log((1 - q) / (1 - p)) / step) for p, q in pairwise(chances[1:])]
    assert _places(steps, step).tolist() == expected
    assert min(expected) == 0


@pytest.mark.parametrize("kind", ["renyi", "pure"])
def test_a_long_curve_costs_hardly_more_than_its_best_adversary(kind: str) -> None:
    """Nearly all of its steps stay in their cells; the adversary repeats one test for ever, or stops."""
    curve = ResponseCurve.renyi("0.02", 12) if kind == "renyi" else ResponseCurve.pure("0.2")
    loss = curve.loss().forward
    for share in (0.1, 0.5, 0.9):
        gamma = exp(share * float(loss.worst()))
        reached = max(float(best([pair], Fraction(gamma), 40)) for pair in chance_pairs(curve)[:12])
        assert reached - 1e-12 <= loss._profile.delta(share * float(loss.worst())) <= reached * 1.25 + 0.02


def test_the_hull_is_the_lower_one_and_exact() -> None:
    xs, heights = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 6.0]), np.array([1.0, 0.5, 0.5, 0.125, 0.125, 0.0])
    kept_x, kept_y = _convex(xs, heights)
    assert _convex(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.5, 0.0])) == ([0, 2], [1, 0])
    assert kept_x == [0, 1, 3, 6]
    assert kept_y == [1, Fraction(1, 2), Fraction(1, 8), 0]


def test_a_polygon_is_the_curve_of_the_list_that_it_becomes() -> None:
    """At a corner x the list has E (1 - x/exp(L))+ of just the height there."""
    xs = [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2)]
    ys = [Fraction(1), Fraction(11, 20), Fraction(1, 5), Fraction(0)]
    atoms = _listed(xs, ys, log(1.5))
    masses, values = np.exp(atoms.log_masses), np.asarray(atoms.values)
    assert len(values) == 3
    for x, y in zip(xs, ys, strict=True):
        assert float(np.sum(masses * np.maximum(1 - float(x) / np.exp(values), 0))) == pytest.approx(float(y))
    assert atoms.unmatched == pytest.approx(0.1)
    assert atoms.ranges is not None
    ranges = (atoms.ranges.low, atoms.ranges.high, atoms.ranges.log_masses)
    assert [len(each) for each in ranges] == [1, 1, 1]
    assert (atoms.ranges.low[0], atoms.ranges.high[0]) == (-700.0, values[-1])
    assert (values - np.log([0.5, 1.0, 1.5]) >= 0).all()
