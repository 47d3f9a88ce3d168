"""The privacy loss against enumeration: never below the truth, hardly above it."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, log, nan
from unittest import mock

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.pyplot import close

import loss_oracle as oracle
from dovetail.errors import InvalidParameter
from dovetail.noise import (
    DiscreteGaussian,
    Geometric,
    GeometricMixture,
    PiecewiseGeometric,
    TruncatedGeometric,
)
from dovetail.privacy import privacy_loss
from loss_oracle import geometric_noises, never_below_and_close, simple_rates


@given(geometric_noises(), st.integers(1, 7), st.floats(0, 4), st.sampled_from(["1.5", 2, 7, 64]))
def test_one_use_agrees_with_enumeration(noise, shift, epsilon, order):
    loss = privacy_loss(noise, sensitivity=shift)
    with mpmath.workdps(oracle.DIGITS):
        truth = oracle.loss_atoms(noise, shift)
        assert loss.worst == max(truth)
        assert never_below_and_close(loss.zeta, oracle.zeta(truth))
        assert never_below_and_close(loss.delta(epsilon), oracle.delta(truth, str(epsilon)))
        assert never_below_and_close(loss.renyi(order), oracle.renyi(truth, order))
        assert never_below_and_close(loss.mean, oracle.mean(truth))
        found = loss.epsilon_at("1e-3")
        assert oracle.delta(truth, Fraction(found)) <= mpmath.mpf("1e-3")
        if found > 1e-9:
            assert oracle.delta(truth, Fraction(found) - Fraction(1, 10**9)) > mpmath.mpf("1e-3") * (1 - 1e-9)


def check_composition(one, two, uses, epsilon, closeness):
    loss = privacy_loss(one).compose(uses).then(privacy_loss(two, sensitivity=2))
    with mpmath.workdps(oracle.DIGITS):
        truth = oracle.loss_atoms(two, 2)
        for _ in range(uses):
            truth = oracle.convolve(truth, oracle.loss_atoms(one, 1))
        assert loss.worst == max(truth)
        assert never_below_and_close(loss.zeta, oracle.zeta(truth), closeness)
        assert never_below_and_close(loss.delta(epsilon), oracle.delta(truth, str(epsilon)), 1, closeness)
        assert never_below_and_close(loss.renyi(3), oracle.renyi(truth, 3))
        assert never_below_and_close(loss.mean, oracle.mean(truth))
        assert (
            loss.tail(epsilon) >= sum(m for x, m in truth.items() if abs(x) > Fraction(str(epsilon))) - 1e-40
        )
        for delta in ("1e-2", "1e-6", "1e-30"):
            assert loss.delta(loss.epsilon_at(delta)) <= float(delta)
            found = Fraction(loss.epsilon_at(delta))
            assert oracle.delta(truth, found) <= mpmath.mpf(delta)
            assert found == 0 or oracle.delta(truth, found * Fraction(1 - closeness)) > mpmath.mpf(delta)


@settings(max_examples=20, deadline=None)
@given(
    geometric_noises(2, simple_rates), geometric_noises(2, simple_rates), st.integers(1, 3), st.floats(0, 5)
)
def test_uses_with_a_common_unit_compose_exactly(one, two, uses, epsilon):
    check_composition(one, two, uses, epsilon, 1e-6)


@settings(max_examples=12, deadline=None)
@given(geometric_noises(2), geometric_noises(2), st.integers(1, 3), st.floats(0, 5))
def test_uses_on_a_grid_compose_from_above_and_closely(one, two, uses, epsilon):
    check_composition(one, two, uses, epsilon, 5e-4)


@given(geometric_noises(), st.integers(1, 5))
def test_the_masses_of_the_atoms_sum_to_one(noise, shift):
    values, masses = privacy_loss(noise, sensitivity=shift).atoms
    assert np.all(np.diff(values) > 0)
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    # what P gives with a loss L, Q gives with exp(-L): the atoms are those of two distributions
    assert np.sum(masses * np.exp(-values)) == pytest.approx(1, abs=1e-12)


def test_the_mixture_has_the_four_atoms_of_the_paper():
    values, masses = privacy_loss(GeometricMixture(inner=0.2, outer=1, break_point=5)).atoms
    assert values == pytest.approx([-1, -0.2, 0.2, 1])
    assert masses == pytest.approx([0.0299926, 0.3999631, 0.4885160, 0.0815283], abs=1e-7)


@given(geometric_noises(), st.integers(1, 6), st.floats(0, 3))
def test_the_largest_shift_is_the_worst_one(noise, shift, epsilon):
    small, large = privacy_loss(noise, sensitivity=shift), privacy_loss(noise, sensitivity=shift + 1)
    assert small.worst <= large.worst
    for figure in (lambda x: x.zeta, lambda x: x.delta(epsilon), lambda x: x.renyi(2), lambda x: x.mean):
        assert figure(small) <= figure(large) + 1e-12


@given(geometric_noises(), st.integers(2, 9))
def test_a_stretched_noise_at_a_stretched_shift_loses_no_more_in_the_worst_case(noise, factor):
    assert privacy_loss(noise.stretched(factor), sensitivity=factor).worst == privacy_loss(noise).worst


def test_a_row_replaced_is_two_cells_moved():
    noise = GeometricMixture(0.2, 1, 5)
    pair, twice = privacy_loss(noise, sensitivity=(1, -1)), privacy_loss(noise).compose(2)
    assert pair.epsilon == twice.epsilon == 2
    assert pair.zeta == twice.zeta
    assert pair.epsilon_at(1e-6) == twice.epsilon_at(1e-6)


def test_cells_may_move_by_different_amounts():
    noise = Geometric("0.3")
    together = privacy_loss(noise, sensitivity=(2, 1))
    assert together.worst == Fraction(9, 10)
    assert together.zeta == privacy_loss(noise, sensitivity=2).then(privacy_loss(noise)).zeta


@pytest.mark.parametrize("bad", [0, -1, nan, inf, 0.5, "x", True, None, (), (1, 0), (1, "y"), (0.5,)])
def test_an_impossible_sensitivity_is_a_clear_error(bad):
    with pytest.raises(InvalidParameter, match="sensitivity"):
        privacy_loss(Geometric(1), sensitivity=bad)


@pytest.mark.parametrize("shift", [701, 10**4, 10**6, 10**12])
def test_a_loss_past_700_does_not_overflow(shift):
    loss = privacy_loss(Geometric(1), sensitivity=shift)
    assert loss.worst == shift
    for figure in (loss.zeta, loss.mean, loss.renyi(2), loss.renyi(1000), loss.epsilon_at(1e-9)):
        assert isfinite(figure)
        assert shift * 0.99 < figure <= shift * (1 + 1e-11)
    assert loss.delta(shift // 2) == pytest.approx(1, abs=1e-6)
    assert isfinite(loss.compose(3).zeta)
    assert loss.compose(3).epsilon_at(1e-9) <= 3 * shift


@pytest.mark.parametrize(("rates", "breaks"), [(("1.8", 2), (9,)), (("2.4", "1.1", "2.5"), (8, 11))])
def test_a_delta_far_left_of_the_first_curve_is_found(rates, breaks):
    loss = privacy_loss(PiecewiseGeometric(rates, breaks)).compose(100)
    found = loss.epsilon_at("1e-40")
    assert loss.delta(found) <= 1e-40 < loss.delta(found * (1 - 1e-6))


def test_a_wide_noise_at_a_large_shift_is_bucketed_tightly():
    """At rate 1/d and shift d the geometric comes close to the Laplace, whose figures are closed."""
    d = 10**6
    loss = privacy_loss(Geometric(Fraction(1, d)), sensitivity=d)
    with mpmath.workdps(30):
        zeta = mpmath.log(mpmath.mpf(2) / 3 * mpmath.e + 1 - mpmath.mpf(2) / 3 * mpmath.exp(-0.5))
        assert loss.zeta == pytest.approx(float(zeta), rel=1e-6)
        delta = 1 - mpmath.exp((mpmath.mpf("0.5") - 1) / 2)
        assert loss.delta(0.5) == pytest.approx(float(delta), rel=1e-5)


def test_buckets_bound_the_listed_loss_from_above_and_closely():
    """The same loss with 5,000 values, listed by the oracle and bucketed by us."""
    d = 5000
    noise = PiecewiseGeometric((Fraction(1, 4000), Fraction(1, 1000)), (7000,))
    loss = privacy_loss(noise, sensitivity=d)
    k = np.arange(-60_000, 60_001)
    phi = np.where(np.abs(k) <= 7000, np.abs(k) / 4000, 7000 / 4000 + (np.abs(k) - 7000) / 1000)
    shifted = np.abs(k - d)
    psi = np.where(shifted <= 7000, shifted / 4000, 7000 / 4000 + (shifted - 7000) / 1000)
    mass = np.exp(-phi) / np.exp(-phi).sum()
    for epsilon in (0.0, 0.5, 1.5, 3.0):
        truth = float(np.sum(mass * np.maximum(-np.expm1(epsilon - (psi - phi)), 0)))
        assert truth * (1 - 1e-9) <= loss.delta(epsilon) <= truth * (1 + 1e-5) + 1e-15
    truth = log(float(np.sum(mass * np.exp(np.abs(psi - phi)))))
    assert truth * (1 - 1e-9) <= loss.zeta <= truth * (1 + 1e-6)


def test_a_loss_needs_a_noise_that_it_knows():
    with pytest.raises(InvalidParameter, match="from_pmfs"):
        privacy_loss(object())


def test_the_charge_holds_the_figures_rounded_up():
    loss = privacy_loss(GeometricMixture(0.2, 1, 5))
    charge = loss.charge()
    assert charge.epsilon_units == 10**9
    assert 0 <= charge.zeta_units - loss.zeta * 1e9 <= 1
    assert 0 <= charge.renyi_units[0] - loss.renyi(2) * 1e9 <= 1
    assert charge.delta_units == 0
    assert privacy_loss(Geometric("0.3")).charge().epsilon_units == 300_000_000


def test_a_plot_shows_the_atoms_and_the_curve():
    for loss in (
        privacy_loss(GeometricMixture(0.2, 1, 5)),
        privacy_loss(GeometricMixture(0.2, 1, 5)).compose(300),
        privacy_loss(TruncatedGeometric(1, 4)),
    ):
        left, right = loss.plot().axes
        assert f"worst case = {loss.epsilon:.3g}" in left.get_legend().get_texts()[1].get_text()
        assert right.get_lines()[0].get_ydata().min() > 0
        close("all")


def test_a_plot_leaves_an_infinite_loss_out_and_no_other():
    loss = privacy_loss(TruncatedGeometric(1, 4))
    with mock.patch("dovetail.plots.loss.loss") as drawn:
        loss.plot()
    values, masses = drawn.call_args.args[:2]
    assert values.tolist() == loss.atoms[0][:-1].tolist()
    assert masses.tolist() == loss.atoms[1][:-1].tolist()


@pytest.mark.parametrize(("call", "bad"), [
    ("renyi", 1), ("renyi", nan), ("delta", -1), ("delta", nan), ("epsilon_at", -1), ("epsilon_at", 2),
    ("compose", 0), ("compose", 1.5), ("tail", nan),
])  # fmt: skip
def test_arguments_outside_their_range_are_refused(call, bad):
    with pytest.raises(InvalidParameter):
        getattr(privacy_loss(Geometric(1)), call)(bad)


@pytest.mark.parametrize("noise", [Geometric(1), DiscreteGaussian(3)])
def test_figures_at_the_edge_of_what_floats_hold_are_bounds_and_no_errors(noise):
    loss = privacy_loss(noise)
    assert loss.delta("1e400") < 1e-40
    assert loss.delta("1e-400") == pytest.approx(loss.delta(0), rel=1e-12)
    # The least float above this order is used: below it would be the mean, or less than was asked for.
    assert loss.mean <= loss.renyi("1.0000000000000001") <= loss.renyi(2)
    for order in ("1.1", "2.3", "64.7"):
        assert loss.renyi(order) >= loss.renyi(np.nextafter(float(order), 1))


def test_more_uses_than_rounding_lets_through_are_refused():
    loss = privacy_loss(Geometric("1e-5")).compose(10**9)
    assert 0.3 < loss.epsilon_at("1e-6") < 1.6
    with pytest.raises(InvalidParameter, match="1000000000"):
        privacy_loss(Geometric(1)).compose(10**9 + 1)


def test_a_loss_is_drawn_into_given_axes() -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert privacy_loss(Geometric(1)).plot(ax=axes) is axes.figure
    assert axes.get_xlabel() == "privacy loss"


@pytest.mark.parametrize("uses", [3, 7, 1001])
def test_zeta_without_a_list_is_not_below_the_sum_of_its_uses(uses: int) -> None:
    """A sum in floats may fall short of the exact one."""
    for sigma in ("1.7", "3", "11"):
        one = privacy_loss(DiscreteGaussian(sigma))
        assert uses * Fraction(one.zeta) <= Fraction(one.compose(uses).zeta)


def test_a_chance_below_all_floats_is_not_nothing():
    """Of this noise, P(L > 1.5) is about exp(-1000)."""
    loss = privacy_loss(GeometricMixture(1, 2, 1000))
    assert 0 < loss.delta("1.5") <= 1e-300
    assert 0 < loss.above("1.5") <= 1e-300
    assert loss.above(2) == loss.delta(2) == 0


def test_the_worst_loss_is_not_rounded_down():
    """The float 0.3 lies below 3/10, and there delta is not 0 yet."""
    one = privacy_loss(Geometric("3/10")).forward
    assert one.deltas(np.array([0.3, 0.31])).tolist() == [one.delta(0.3), 0.0]
    assert one.delta(0.3) > 0
