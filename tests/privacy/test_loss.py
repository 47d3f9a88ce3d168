"""The privacy loss against enumeration: never below the truth, hardly above it."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, log, nan

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
    Laplace,
    LaplaceMixture,
    PiecewiseGeometric,
    PiecewiseLaplace,
    TruncatedGeometric,
)
from dovetail.privacy import PrivacyLoss, privacy_loss
from dovetail.privacy.atoms import Atoms
from dovetail.privacy.composition import OneWay
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


def test_real_noise_takes_a_fractional_sensitivity():
    assert privacy_loss(Laplace(1), sensitivity="1/2").worst == Fraction(1, 2)


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


class TestContinuousLaplace:
    """Atoms and a continuous part: for study; a release never uses real-valued noise."""

    def test_zeta_is_below_epsilon_by_the_closed_form(self):
        for epsilon in (0.1, 0.328, 1.0, 3.0):
            with mpmath.workdps(30):
                e = mpmath.mpf(str(epsilon))
                truth = mpmath.log(2 * mpmath.exp(e) / 3 + 1 - 2 * mpmath.exp(-e / 2) / 3)
                assert never_below_and_close(privacy_loss(Laplace(epsilon)).zeta, truth, 1e-6)

    def test_delta_is_the_closed_form(self):
        loss = privacy_loss(Laplace(1))
        for epsilon in (0.0, 0.3, 0.9):
            truth = -mpmath.expm1((mpmath.mpf(str(epsilon)) - 1) / 2)
            assert never_below_and_close(loss.delta(epsilon), truth, 1e-5)

    def test_renyi_is_the_closed_form(self):
        loss = privacy_loss(Laplace(1))
        for a in (2, 5, 32):
            truth = mpmath.log(
                mpmath.mpf(a) / (2 * a - 1) * mpmath.exp(a - 1)
                + mpmath.mpf(a - 1) / (2 * a - 1) * mpmath.exp(-a)
            ) / (a - 1)
            assert never_below_and_close(loss.renyi(a), truth, 1e-5)

    def test_the_mixture_agrees_with_quadrature(self):
        noise = LaplaceMixture(inner=0.2, outer=1, break_point="4.5")
        loss = privacy_loss(noise)

        def phi(x):
            return min(abs(x), 4.5) * mpmath.mpf("0.2") + max(abs(x) - 4.5, 0)

        cuts = [-60, -4.5, -3.5, 0, 0.5, 1, 4.5, 5.5, 60]
        total = mpmath.quad(lambda x: mpmath.exp(-phi(x)), cuts)
        zeta = mpmath.log(mpmath.quad(lambda x: mpmath.exp(-phi(x) + abs(phi(x - 1) - phi(x))), cuts) / total)
        assert never_below_and_close(loss.zeta, zeta - 1e-10, 1e-6)


class TestRounded:
    def test_the_loss_is_that_of_the_cells(self):
        loss = privacy_loss(LaplaceMixture(inner=0.2, outer=1, break_point=5).rounded())
        k = np.arange(-400, 401)
        noise = LaplaceMixture(inner=0.2, outer=1, break_point=5).rounded()
        p, q = noise.pmf(k), noise.pmf(k - 1)
        assert loss.zeta == pytest.approx(log(np.sum(np.maximum(p * p / q, q))), abs=1e-12)
        assert loss.zeta == pytest.approx(0.3096, abs=5e-5)
        for epsilon in (0.0, 0.1, 0.5, 0.999):
            truth = np.sum(np.maximum(p - np.exp(epsilon) * q, 0))
            assert loss.delta(epsilon) == pytest.approx(truth, rel=1e-9)
        assert loss.worst == 1

    def test_zeta_is_exact_where_the_published_one_is_not(self):
        loss = privacy_loss(LaplaceMixture(inner=0.25, outer=2.5, break_point=4).rounded())
        assert loss.zeta == pytest.approx(0.5906, abs=5e-5)

    def test_its_uses_compose_without_a_common_unit(self):
        noise = LaplaceMixture(inner=0.2, outer=1, break_point=5).rounded()
        loss = privacy_loss(noise).compose(3)
        k = np.arange(-60, 61)
        p, q = noise.pmf(k), noise.pmf(k - 1)
        p3 = np.einsum("i,j,k->ijk", p, p, p).ravel()
        q3 = np.einsum("i,j,k->ijk", q, q, q).ravel()
        for epsilon in (0.0, 0.7, 1.5, 2.5):
            truth = float(np.sum(np.maximum(p3 - np.exp(epsilon) * q3, 0)))
            assert truth * (1 - 1e-9) <= loss.delta(epsilon) <= truth * 1.0001 + 1e-15
        assert loss.zeta == pytest.approx(log(np.sum(np.maximum(p3 * p3 / q3, q3))), abs=1e-7)

    @pytest.mark.parametrize("width", ["1e-16", "1e-15", "1e-14", "1e-9"])
    def test_a_steep_piece_within_one_cell_is_never_rounded_away(self, width):
        """The cell that holds a steep sliver loses a hair more than every other one."""
        edge = Fraction("5.2")
        loss = privacy_loss(PiecewiseLaplace((1, 5, 1), (edge, edge + Fraction(width))).rounded())
        with mpmath.workdps(oracle.DIGITS):
            before, sliver, whole = (oracle.number(x) for x in (Fraction("0.7"), Fraction(width), 1))
            # The cell [4.5, 5.5) in units of its density at 4.5; the next one has one rate again.
            inside = -mpmath.expm1(-before) - mpmath.exp(-before) * mpmath.expm1(-5 * sliver) / 5
            after = mpmath.exp(-before - 5 * sliver) * -mpmath.expm1(-(whole - before - sliver))
            following = mpmath.exp(-(whole + 4 * sliver)) * -mpmath.expm1(-whole)
            truth = mpmath.log((inside + after) / following)
            earlier = mpmath.log(-mpmath.expm1(-whole) * mpmath.exp(whole) / (inside + after))
            assert never_below_and_close(Fraction(loss.worst), max(truth, earlier), 1e-14)

    def test_the_worst_case_of_many_uses_is_an_exact_sum(self):
        """A float part and a rational one, neither of which is a multiple of the other's last digit."""
        rounded = PiecewiseLaplace((1, 5, 1), ("5.2", "5.2000000000000001")).rounded()
        one, two = privacy_loss(rounded), privacy_loss(Geometric("1/3"))
        both = one.compose(7).then(two.compose(11))
        assert both.worst == 7 * Fraction(one.worst) + 11 * Fraction(1, 3)
        assert Fraction(both.epsilon) >= both.worst


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


class TestFromPmfs:
    def test_both_directions_are_looked_at(self):
        p, q = [Fraction(1, 2), Fraction(1, 2), 0], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
        loss = PrivacyLoss.from_pmfs(p, q)
        assert loss.epsilon == inf  # the other direction sees an outcome that P never gives
        assert loss.zeta == inf
        assert loss.renyi(2) == inf
        assert loss.delta(5) == pytest.approx(0.5)
        assert loss.forward.worst() == pytest.approx(log(2))

    def test_infinite_loss_stays_with_compositions(self):
        loss = PrivacyLoss.from_pmfs([0.9, 0.1, 0], [0.9, 0, 0.1]).compose(2)
        assert loss.epsilon == inf
        assert loss.delta(10) == pytest.approx(0.19)
        assert loss.epsilon_at(0.18) == inf
        assert loss.epsilon_at(0.2) < 1e-12
        assert loss.charge().epsilon is None

    @pytest.mark.parametrize("uses", [1, 2, 7, 60])
    @pytest.mark.parametrize("share", [2.0**-2, 2.0**-20, 1 - 2.0**-10])
    def test_outcomes_of_one_side_only_are_counted_from_above(self, share, uses):
        atoms = Atoms(np.array([1.0]), np.log([1 - share]), inf, infinite=share, unmatched=share)
        exact = 1 - (1 - Fraction(share)) ** uses
        for found in (OneWay(((atoms, uses),)).infinite(), OneWay(((atoms, uses),)).unmatched()):
            assert exact <= Fraction(found) <= min(exact * (1 + Fraction(1, 10**12)), 1)

    def test_disjoint_outcomes_lose_everything(self):
        loss = PrivacyLoss.from_pmfs([1, 0], [0, 1])
        for uses in (1, 2):
            whole = loss.compose(uses)
            assert whole.delta(100) == whole.tail(5) == 1
            assert whole.epsilon == whole.zeta == whole.epsilon_at("0.5") == inf
            assert list(whole.atoms[0]) == [inf]

    def test_equal_distributions_lose_nothing(self):
        loss = PrivacyLoss.from_pmfs([0.5, 0.5], [0.5, 0.5])
        assert loss.epsilon < 1e-13
        assert loss.zeta < 1e-13
        assert loss.compose(10).epsilon < 1e-12

    @pytest.mark.parametrize("p", [[0.5, 0.4], [1.5, -0.5], [nan, 1], [], [1]])
    def test_what_is_no_distribution_is_refused(self, p):
        with pytest.raises(InvalidParameter):
            PrivacyLoss.from_pmfs(p, [0.5, 0.5])


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


def test_distributions_may_be_arrays_or_mappings() -> None:
    listed = PrivacyLoss.from_pmfs([0.5, 0.5, 0], [0.25, 0.25, 0.5])
    arrays = PrivacyLoss.from_pmfs(np.array([0.5, 0.5, 0]), np.array([0.25, 0.25, 0.5]))
    mapped = PrivacyLoss.from_pmfs({"a": 0.5, "b": 0.5}, {"b": 0.25, "a": 0.25, "c": 0.5})
    for other in (arrays, mapped):
        assert (other.zeta, other.delta(1), other.epsilon) == (listed.zeta, listed.delta(1), listed.epsilon)
    with pytest.raises(InvalidParameter, match="given like p"):
        PrivacyLoss.from_pmfs({"a": 1}, [1])
    with pytest.raises(InvalidParameter, match="one list"):
        PrivacyLoss.from_pmfs(np.eye(2), np.eye(2))


def test_a_loss_is_drawn_into_given_axes() -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert privacy_loss(Geometric(1)).plot(ax=axes) is axes.figure
    assert axes.get_xlabel() == "privacy loss"


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("epsilon", [0.3, 0.8, 1.2])
def test_both_directions_count_if_only_one_loss_is_symmetric(epsilon: float, swapped: bool) -> None:
    """Geometric noise and a mechanism that differs by direction, one after the other, against plain sums."""
    p, q = ([0.8, 0.2], [0.5, 0.5]) if swapped else ([0.5, 0.5], [0.8, 0.2])
    symmetric, other = privacy_loss(Geometric("0.5")), PrivacyLoss.from_pmfs(p, q)
    yes = 1 / (1 + np.exp(-0.5))
    deltas = []
    for one, two in ((p, q), (q, p)):
        pairs = [(a * yes, b * (1 - yes)) for a, b in zip(one, two, strict=True)]
        pairs += [(a * (1 - yes), b * yes) for a, b in zip(one, two, strict=True)]
        deltas.append(sum(max(a - np.exp(epsilon) * b, 0) for a, b in pairs))
    assert deltas[0] != pytest.approx(deltas[1], abs=1e-3)
    for joint in (symmetric.then(other), other.then(symmetric)):
        assert joint.delta(epsilon) == pytest.approx(max(deltas), abs=1e-8)


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
