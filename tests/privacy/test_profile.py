"""delta(epsilon) and its inverse are monotone; chances of a loss above a limit are never below the truth."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, inf, nextafter

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loss_oracle as oracle
from dovetail.noise import (
    DiscreteGaussian,
    Geometric,
    GeometricMixture,
    Laplace,
    LaplaceMixture,
    PiecewiseGeometric,
    TruncatedGeometric,
)
from dovetail.privacy import PrivacyLoss, privacy_loss, profile
from dovetail.privacy.fourier import Placed, dominating, tilted
from loss_oracle import geometric_noises, simple_rates

# Rates so far apart that no lattice holds both, uses without end, losses without a common unit.
CORNERS = {
    "far apart": lambda: privacy_loss(GeometricMixture("1e-9", 40, 10**9)).compose(1000),
    "falling": lambda: privacy_loss(GeometricMixture(30, "1e-6", 2)).compose(2),
    "many uses": lambda: privacy_loss(Geometric("1e-4")).compose(10**6),
    "wide Gaussian": lambda: privacy_loss(DiscreteGaussian(2000)).compose(10**6),
    "no unit": lambda: privacy_loss(LaplaceMixture("0.2", 1, 5).rounded()).compose(50),
    "infinite": lambda: privacy_loss(TruncatedGeometric("0.3", 40)).compose(20),
    "mixed": lambda: (
        privacy_loss(Geometric("1/3")).compose(9).then(privacy_loss(Geometric("0.1")).compose(400))
    ),
    "a gap": lambda: PrivacyLoss.from_pmfs([0.5, 0.4999, 1e-4], [0.4, 0.6 - 1e-9, 1e-9]).compose(30),
    "many kinds": lambda: (
        privacy_loss(LaplaceMixture(8, "2e-8", 97).rounded(), sensitivity=(3, 19, 37))
        .then(privacy_loss(GeometricMixture("2e-5", 99, 65_487)).compose(3))
        .then(privacy_loss(TruncatedGeometric(6, 16_066)).compose(276))
        .compose(3228)
    ),
}
DELTAS = [*np.geomspace(1e-300, 0.999999, 30).tolist(), 0.5, 0.999, 1 - 2.0**-53, 1.0]


@pytest.mark.parametrize("name", CORNERS)
def test_a_larger_delta_never_needs_a_larger_epsilon(name):
    loss = CORNERS[name]()
    found = [loss.epsilon_at(delta) for delta in sorted(DELTAS)]
    assert all(more >= less for more, less in pairwise(found))
    assert found[-1] == 0
    kept = [(e, d) for e, d in zip(found, sorted(DELTAS), strict=True) if e < inf]
    assert all(loss.delta(epsilon) <= delta for epsilon, delta in kept)


@pytest.mark.parametrize("name", CORNERS)
def test_a_larger_epsilon_never_has_a_larger_delta(name):
    loss = CORNERS[name]()
    top = min(loss.epsilon, loss.epsilon_at(1e-30), 1e4)
    points = np.linspace(0, top, 60)
    found = [loss.delta(float(point)) for point in points]
    assert all(more >= less for more, less in pairwise(found))


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("delta", [0.5, 1e-6, 1e-279])
def test_a_figure_takes_a_few_transforms_however_small_delta_is(name, delta, monkeypatch):
    work = []

    def counted(losses, tilt):
        found = tilted(losses, tilt)
        work.append(len(found.probabilities) * (len(found.lattice.factors) + 1))
        return found

    monkeypatch.setattr(profile, "tilted", counted)
    loss = CORNERS[name]()
    epsilon = loss.epsilon_at(delta)
    assert len(work) <= 4
    if epsilon < inf:
        loss.delta(epsilon)
        loss.above(epsilon)
        assert len(work) <= 9
    assert all(points <= 2**22 for points in work)


@settings(max_examples=40)
@given(geometric_noises(3), st.integers(1, 40), st.floats(1e-60, 0.999), st.integers(0, 60))
def test_neighbouring_deltas_are_in_order(noise, uses, delta, apart):
    loss = privacy_loss(noise).compose(uses)
    more = delta
    for _ in range(apart):
        more = nextafter(more, 1)
    assert loss.epsilon_at(Fraction(more)) <= loss.epsilon_at(Fraction(delta))


@pytest.mark.parametrize(
    "noise", [Geometric(1), GeometricMixture(30, "1e-6", 2), Laplace("0.1"), DiscreteGaussian(3)]
)
@pytest.mark.parametrize("uses", [1, 2, 100])
def test_a_delta_of_1_needs_no_epsilon(noise, uses):
    assert privacy_loss(noise).compose(uses).epsilon_at(1) == 0


def test_uses_that_a_lattice_cannot_hold_are_bounded_by_basic_composition():
    """k uses lose at most k times the total variation of one, which is p(0)."""
    noise = GeometricMixture("1e-9", 40, 10**9)
    loss = privacy_loss(noise).compose(1000)
    assert 1000 * float(noise.pmf(0)) < 1e-6
    assert loss.epsilon_at("1e-6") == 0
    assert loss.delta(0) == pytest.approx(1000 * float(noise.pmf(0)), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    geometric_noises(2, simple_rates),
    st.integers(1, 4),
    st.integers(1, 4),
    st.fractions(-4, 8, max_denominator=20),
)
def test_the_chance_above_a_limit_is_that_of_enumeration(noise, shift, uses, limit):
    loss = privacy_loss(noise, sensitivity=shift).compose(uses)
    with mpmath.workdps(oracle.DIGITS):
        truth = one = oracle.loss_atoms(noise, shift)
        for _ in range(uses - 1):
            truth = oracle.convolve(truth, one)
        for found, holds in (
            (loss.above(limit), lambda x: x > limit),
            (loss.tail(limit), lambda x: abs(x) > limit),
        ):
            exact = mpmath.fsum(mass for x, mass in truth.items() if holds(x))
            assert oracle.never_below_and_close(found, exact, 1e-9, 1e-12)
        if limit >= 0:
            assert loss.above(limit) >= loss.delta(limit) * (1 - 1e-12)


@pytest.mark.parametrize("tilt", [0.25, 1.0, 7.5])
@pytest.mark.parametrize("uses", [1, 50, 10**6])
def test_chernoffs_bound_is_never_below_the_moments_of_the_losses(uses, tilt):
    atoms = privacy_loss(PiecewiseGeometric(("1/3", "1/7"), (5,)), sensitivity=2).forward.parts[0][0]
    rung = profile.Rung(Placed(((atoms, uses),), dominating), 0.0, tilt, 0.0)
    with mpmath.workdps(40):
        pairs = zip(atoms.steps.tolist(), atoms.log_masses.tolist(), strict=True)
        moment = mpmath.fsum(
            mpmath.exp(mpmath.mpf(mass) + mpmath.mpf(tilt) * oracle.number(step * atoms.unit))
            for step, mass in pairs
        )
        total = uses * mpmath.log(moment)
        assert 0 <= mpmath.mpf(rung._log_total) - total <= 1e-9 * (1 + abs(total) + uses * 1e-4)
        for epsilon in (0.5, float(total / tilt) + 1):
            exact = mpmath.exp(min(total - mpmath.mpf(tilt) * epsilon, 0))
            assert oracle.never_below_and_close(rung.outside(epsilon), exact, 1e-2)
        for delta in (0.5, 1e-12):
            assert mpmath.exp(total - mpmath.mpf(tilt) * rung.outside_from(delta)) <= delta


@settings(max_examples=12, deadline=None)
@given(geometric_noises(2), geometric_noises(2), st.integers(1, 3), st.floats(0, 4))
def test_on_a_grid_no_chance_is_below_the_truth(one, two, uses, limit):
    """Losses without a common unit: connecting the dots would move some of the mass below the limit."""
    loss = privacy_loss(one).compose(uses).then(privacy_loss(two, sensitivity=2))
    with mpmath.workdps(oracle.DIGITS):
        truth = oracle.loss_atoms(two, 2)
        for _ in range(uses):
            truth = oracle.convolve(truth, oracle.loss_atoms(one, 1))
        exact = Fraction(limit)
        above = mpmath.fsum(mass for x, mass in truth.items() if x > exact)
        below = mpmath.fsum(mass for x, mass in truth.items() if x < -exact)
        near = mpmath.fsum(mass for x, mass in truth.items() if x > exact - Fraction(1, 1000))
        assert above - mpmath.mpf("1e-40") <= loss.above(exact) <= near * (1 + 1e-6) + 1e-9
        assert loss.tail(exact) >= above + below - mpmath.mpf("1e-40")


@pytest.mark.parametrize("epsilon", ["0.1", 1, 1000])
def test_a_continuous_loss_has_no_tail_below_the_truth(epsilon):
    """P(L > t) = 1 - exp(-(epsilon - t)/2)/2 for the Laplace; its run of losses is bucketed."""
    loss = privacy_loss(Laplace(epsilon))
    size = float(Fraction(epsilon))
    for share in (0.0, 0.123, 0.5, 0.77, 0.999):
        t = share * size
        above = 1 - exp(-(size - t) / 2) / 2
        below = exp(-(size + t) / 2) / 2
        assert above <= loss.above(t) <= above + size / 2048
        assert above + below <= loss.tail(t) <= min(above + below + size / 1024, 1)


def test_wide_noise_of_whole_numbers_has_no_tail_below_the_truth():
    """5,000 losses, bucketed by us and listed here."""
    noise, d = PiecewiseGeometric((Fraction(1, 4000), Fraction(1, 1000)), (7000,)), 5000
    loss = privacy_loss(noise, sensitivity=d)
    k = np.arange(-60_000, 60_001)

    def phi(x):
        return np.where(np.abs(x) <= 7000, np.abs(x) / 4000, 7000 / 4000 + (np.abs(x) - 7000) / 1000)

    mass = np.exp(-phi(k)) / np.exp(-phi(k)).sum()
    lost = phi(k - d) - phi(k)
    for t in (0.3001, 1.0001, 2.5001, 4.9):
        truth = float(mass[np.abs(lost) > t].sum())
        assert truth * (1 - 1e-9) <= loss.tail(t) <= truth * 1.01 + 1e-3


def test_composed_continuous_losses_have_no_tail_below_the_truth():
    """Two uses of the Laplace: P(L1 + L2 > t) by quadrature over the first loss."""
    loss = privacy_loss(Laplace(1)).compose(2)

    def above(t):
        return 1.0 if t < -1 else 0.0 if t >= 1 else 1 - exp(-(1 - t) / 2) / 2

    for t in (0.5, 1.0, 1.5):
        # The first loss has an atom of 1/2 at 1, one of exp(-1)/2 at -1, and the density exp(-(1 - x)/2)/4.
        grid = np.linspace(-1, 1, 200_001)
        middle = (grid[1:] + grid[:-1]) / 2
        inner = float(sum(np.exp(-(1 - middle) / 2) / 4 * np.array([above(t - x) for x in middle]))) * 1e-5
        truth = above(t - 1) / 2 + exp(-1) / 2 * above(t + 1) + inner
        assert truth - 1e-6 <= loss.above(t) <= truth + 2e-3


def test_delta_is_not_the_chance_of_a_larger_loss():
    loss = privacy_loss(Geometric(1))
    assert loss.delta("0.999999") < 1e-6
    assert loss.above("0.999999") == pytest.approx(np.e / (1 + np.e), rel=1e-12)
    assert loss.above(1) == 0
    assert PrivacyLoss.from_pmfs([1, 0], [0, 1]).above(5) == 1


def test_losses_of_which_a_list_is_uneven_are_bounded_from_above():
    """Few atoms far apart and many close together: a start left of what a tilt sees must not lose mass."""
    noise = PiecewiseGeometric(("3.014e-10", "0.05701", "19.8", "0.07496"), (117087256, 266787565, 840854937))
    loss = privacy_loss(noise, sensitivity=10**6).compose(10**7)
    assert loss.delta(0) == pytest.approx(1, abs=1e-6)
    assert loss.epsilon_at("1e-12") > 1.1e9


def test_no_epsilon_has_a_delta_below_the_chance_of_an_infinite_loss():
    finite = privacy_loss(Geometric(1)).forward.parts[0][0]
    composed = profile.Profile(Placed(((finite, 3),), dominating), infinite=0.25)
    assert composed.epsilon(0.2) == inf
    assert composed.epsilon(0.3) <= 3
    assert composed.delta(100) >= 0.25
