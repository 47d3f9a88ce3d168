"""Many uses against closed sums and against another library: never below the truth, at most 0.1 % above."""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import cache
from math import comb

import mpmath
import numpy as np
import pytest

import loss_oracle
from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture, PiecewiseGeometric
from dovetail.privacy import PrivacyLoss, privacy_loss

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from dp_accounting.pld import privacy_loss_distribution as peer


@cache
def binomial_epsilon(epsilon: str, uses: int, delta: str) -> mpmath.mpf:
    """Solve delta(e) = delta for `uses` of the geometric noise: its loss is ± epsilon, a binomial walk."""
    with mpmath.workdps(40):
        e, target = mpmath.mpf(epsilon), mpmath.mpf(delta)
        yes = 1 / (1 + mpmath.exp(-e))
        top = {
            2 * k - uses: comb(uses, k) * yes**k * (1 - yes) ** (uses - k) for k in range(uses // 2, uses + 1)
        }

        def beyond(at: mpmath.mpf) -> mpmath.mpf:
            return mpmath.fsum(m * -mpmath.expm1(at - x * e) for x, m in top.items() if x * e > at)

        low, high = mpmath.mpf(0), uses * e
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) > target else (low, middle)
        return high


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12", "1e-40"])
@pytest.mark.parametrize(("epsilon", "uses"), [("0.1", 100), ("0.1", 1000), ("1", 50), ("0.01", 700)])
def test_many_uses_of_the_geometric_are_a_binomial_sum(epsilon, uses, delta):
    truth = binomial_epsilon(epsilon, uses, delta)
    found = privacy_loss(Geometric(epsilon)).compose(uses).epsilon_at(delta)
    assert truth * (1 - mpmath.mpf("1e-15")) <= found <= truth * (1 + mpmath.mpf("1e-7"))


def test_the_circle_gives_what_the_binomial_sum_gives():
    with mpmath.workdps(50):
        truth = binomial_epsilon("0.1", 1000, "1e-6")
        atoms = loss_oracle.loss_atoms(Geometric("0.1"), 1)
        found = loss_oracle.composed_delta(atoms, 1000, Fraction(str(truth)))
        assert found == pytest.approx(mpmath.mpf("1e-6"), rel=1e-12)


@pytest.mark.parametrize("uses", [10**5, 10**6])
@pytest.mark.parametrize(
    "noise",
    [Geometric("0.01"), GeometricMixture("0.02", "0.1", 5), PiecewiseGeometric(["0.1", "0.01"], [3])],
    ids=repr,
)
def test_very_many_uses_cost_no_less_than_a_sum_over_a_circle_and_hardly_more(noise, uses):
    """For deltas from 1e-6 to 1e-60; an epsilon that is lower by one part in 10,000 would be caught."""
    loss = privacy_loss(noise).compose(uses)
    with mpmath.workdps(50):
        atoms = loss_oracle.loss_atoms(noise, 1)
        for delta in ("1e-6", "1e-18", "1e-60"):
            epsilon = loss.epsilon_at(delta)
            exact = loss_oracle.composed_delta(atoms, uses, Fraction(epsilon))
            assert exact <= mpmath.mpf(delta)
            assert exact <= mpmath.mpf(loss.delta(epsilon))
            less = loss_oracle.composed_delta(atoms, uses, Fraction(epsilon * 0.9999))
            assert less > mpmath.mpf(delta)


def test_a_thousand_uses_have_the_known_figure():
    found = privacy_loss(Geometric("0.1")).compose(1000).epsilon_at("1e-6")
    assert found == pytest.approx(19.34467, abs=5e-6)


@pytest.mark.parametrize(("rate", "sensitivity", "uses"), [("0.1", 1, 1000), ("0.5", 1, 20), ("0.2", 3, 64)])
def test_discrete_laplace_lies_between_the_peers_bounds(rate, sensitivity, uses):
    found = privacy_loss(Geometric(rate), sensitivity=sensitivity).compose(uses).epsilon_at("1e-6")
    low, high = (
        peer.from_discrete_laplace_mechanism(
            float(rate),
            sensitivity=sensitivity,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-4,
        )
        .self_compose(uses)
        .get_epsilon_for_delta(1e-6)
        for pessimistic in (False, True)
    )
    assert low - 1e-6 <= found <= high * 1.001  # the peer's own truncation shows in the ninth digit


@pytest.mark.parametrize(("sigma", "sensitivity", "uses"), [(5.0, 1, 1), (5.0, 1, 100), (20.0, 3, 400)])
@pytest.mark.parametrize("listed", [False, True])
def test_discrete_gaussian_lies_between_the_peers_bounds(sigma, sensitivity, uses, listed):
    if listed:
        k = np.arange(-400, 401)
        weights = np.exp(-(k**2) / (2 * sigma**2))
        moved = np.exp(-((k - sensitivity) ** 2) / (2 * sigma**2))
        kept = (weights > 1e-40) & (moved > 1e-40)
        p, q = weights[kept] / weights[kept].sum(), moved[kept] / moved[kept].sum()
        loss = PrivacyLoss.from_pmfs(list(p), list(q))
    else:
        loss = privacy_loss(DiscreteGaussian(sigma), sensitivity=sensitivity)
    found = loss.compose(uses).epsilon_at("1e-6")
    low, high = (
        peer.from_discrete_gaussian_mechanism(
            sigma,
            sensitivity=sensitivity,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-4,
        )
        .self_compose(uses)
        .get_epsilon_for_delta(1e-6)
        for pessimistic in (False, True)
    )
    assert low - 1e-6 <= found <= high * 1.001


def test_a_grid_is_within_a_thousandth_of_the_exact_lattice():
    """The same loss, once on its own unit and once listed without one."""
    noise = GeometricMixture("0.2", 1, 5)
    loss = privacy_loss(noise)
    k = np.arange(-50, 51)
    listed = PrivacyLoss.from_pmfs(list(noise.pmf(k) / noise.pmf(k).sum()), list(_moved(noise, k)))
    for uses in (2, 30, 1000, 30_000):
        exact = loss.compose(uses).epsilon_at("1e-6")
        grid = listed.compose(uses).epsilon_at("1e-6")
        assert exact * (1 - 1e-6) <= grid <= exact * 1.001


def _moved(noise, k):
    """The moved noise on the same outcomes; the ends carry 1e-21, which no figure here can see."""
    moved = noise.pmf(k - 1)
    return moved / moved.sum()


def test_a_million_uses_are_finite_and_close_to_the_gaussian_limit():
    loss = privacy_loss(GeometricMixture("0.02", "0.1", 50)).compose(10**6)
    mean, deviation = loss.mean, (loss.renyi(2) * 2 - loss.mean * 2) ** 0.5
    found = loss.epsilon_at("1e-6")
    assert mean + 4.5 * deviation < found < mean + 5.2 * deviation
    assert loss.delta(found) <= 1e-6
