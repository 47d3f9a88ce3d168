"""What zeta is, what it promises, and where the paper's statements about it hold."""

from __future__ import annotations

from fractions import Fraction
from math import cosh, exp, inf, log, nan, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dovetail.errors import InvalidParameter
from dovetail.noise import (
    Geometric,
    GeometricMixture,
    Laplace,
    LaplaceMixture,
    PiecewiseGeometric,
    TruncatedGeometric,
)
from dovetail.privacy import (
    PrivacyLoss,
    clamped_loss,
    delta_from_zeta,
    equivalent_epsilon,
    privacy_loss,
    published_zeta,
)
from loss_oracle import geometric_noises, rates


@st.composite
def pairs(draw, size=None):
    n = size or draw(st.integers(2, 6))
    two = [np.array(draw(st.lists(st.integers(1, 50), min_size=n, max_size=n)), float) for _ in range(2)]
    return two[0] / two[0].sum(), two[1] / two[1].sum()


def exp_zeta(p, q):
    """The definition, as an f-divergence with f(t) = max(t², 1)."""
    return float(np.sum(q * np.maximum((p / q) ** 2, 1)))


def loss_of(p, q):
    return PrivacyLoss.from_pmfs(list(p), list(q))


@given(pairs())
def test_zeta_is_the_larger_f_divergence_of_both_directions(pair):
    p, q = pair
    assert loss_of(p, q).zeta == pytest.approx(log(max(exp_zeta(p, q), exp_zeta(q, p))), abs=1e-12)


@given(pairs(), st.data())
def test_zeta_never_grows_under_post_processing(pair, data):
    p, q = pair
    rows = [data.draw(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)) for _ in p]
    kernel = np.array(rows, float)
    kernel /= kernel.sum(axis=1, keepdims=True)
    reached = (p @ kernel) > 0
    seen = loss_of((p @ kernel)[reached], (q @ kernel)[reached])
    assert seen.zeta <= loss_of(p, q).zeta + 1e-9


@given(pairs(3), st.lists(pairs(3), min_size=3, max_size=3))
def test_zeta_of_an_adaptive_composition_is_at_most_the_sum(first, seconds):
    """The second mechanism is chosen by the first answer; the largest of its zetas is what was reserved."""
    p = np.concatenate([first[0][i] * seconds[i][0] for i in range(3)])
    q = np.concatenate([first[1][i] * seconds[i][1] for i in range(3)])
    bound = loss_of(*first).zeta + max(loss_of(*second).zeta for second in seconds)
    assert loss_of(p, q).zeta <= bound + 1e-9


@given(pairs())
def test_order_two_renyi_is_at_most_zeta_is_at_most_epsilon(pair):
    loss = loss_of(*pair)
    assert loss.renyi(2) <= loss.zeta + 1e-12
    assert loss.zeta <= loss.epsilon + 1e-12


@given(pairs(), st.floats(0, 4))
def test_zeta_bounds_delta(pair, epsilon):
    loss = loss_of(*pair)
    assert loss.delta(epsilon) <= delta_from_zeta(loss.zeta, epsilon) + 1e-12


def largest_delta(zeta, epsilon):
    """Maximise delta over all pairs by a linear programme in the masses of Q at each ratio t = P/Q."""
    special = [exp(epsilon), exp(zeta), exp(-zeta), 1.0, exp(epsilon) + sqrt(exp(2 * epsilon) - 1)]
    t = np.unique(np.concatenate([np.exp(np.linspace(-12, 12, 2001)), special]))
    one, other = np.maximum(t * t, 1), np.maximum(t, 1 / t)
    unit = 1 / np.maximum(one, other)
    solved = linprog(
        -np.maximum(t - exp(epsilon), 0) * unit,
        A_ub=np.array([one * unit, other * unit]),
        b_ub=[exp(zeta)] * 2,
        A_eq=np.array([unit, t * unit]),
        b_eq=[1, 1],
    )
    return -solved.fun


@pytest.mark.parametrize("zeta", [0.05, 0.328, 1, 2.5])
@pytest.mark.parametrize("epsilon", [0, 0.01, 0.1, 0.5, 1, 3])
def test_the_bound_on_delta_is_the_largest_of_all_pairs(zeta, epsilon):
    assert delta_from_zeta(zeta, epsilon) == pytest.approx(largest_delta(zeta, epsilon), rel=2e-6)


@given(st.floats(0.01, 3), st.floats(0, 3))
def test_randomised_response_attains_the_bound_near_0(zeta, epsilon):
    if exp(epsilon) > cosh(zeta):
        return
    truth = exp(zeta) / (1 + exp(zeta))
    loss = loss_of(np.array([truth, 1 - truth]), np.array([1 - truth, truth]))
    assert loss.zeta == pytest.approx(zeta, rel=1e-9)
    assert loss.delta(epsilon) == pytest.approx(delta_from_zeta(zeta, epsilon), rel=1e-6, abs=1e-12)


@settings(max_examples=25)
@given(geometric_noises(), st.integers(2, 4))
def test_zeta_of_a_composition_is_at_most_the_sum_and_at_least_one_use(noise, uses):
    loss = privacy_loss(noise)
    assert loss.zeta - 1e-9 <= loss.compose(uses).zeta <= uses * loss.zeta + 1e-9


class TestPaperStatements:
    """True and false ones alike."""

    @given(rates, rates, st.integers(1, 8))
    def test_zeta_of_the_geometric_mixture_is_the_printed_formula(self, inner, outer, break_point):
        with mpmath.workdps(40):
            e, s = (mpmath.mpf(r.numerator) / r.denominator for r in (inner, outer))
            a, b, c = mpmath.exp(s), mpmath.exp(e), break_point
            # a1 from continuity at c and total mass one
            head = (b - 1) / (b + 1) * b**-c
            tail = (a - 1) / (a + 1) * a**-c
            inside = mpmath.fsum((b - 1) / (b + 1) * b ** -abs(k) for k in range(-c, c + 1))
            outside = 2 * (a - 1) / (a + 1) * a ** -(c + 1) / (1 - 1 / a)
            a1 = 1 / (outside + inside * tail / head)
            zeta = mpmath.log(b * (1 - a1 * a**-c) + a * a1 * a**-c)
            found = privacy_loss(GeometricMixture(inner, outer, break_point)).zeta
            assert abs(found - zeta) < 1e-10

    @given(rates, rates, st.integers(1, 8))
    def test_zeta_lies_between_inner_and_outer_for_the_geometric_mixture(self, inner, outer, break_point):
        zeta = privacy_loss(GeometricMixture(inner, outer, break_point)).zeta
        assert min(inner, outer) - 1e-12 <= zeta <= max(inner, outer) + 1e-12

    def test_but_not_for_the_rounded_laplace_mixture(self):
        noise = LaplaceMixture(inner=0.5, outer=1, break_point=4).rounded()
        assert privacy_loss(noise).zeta < 0.5
        assert round(published_zeta(noise), 3) == 0.497

    @given(rates)
    def test_zeta_is_epsilon_for_the_geometric_at_sensitivity_one(self, epsilon):
        loss = privacy_loss(Geometric(epsilon))
        assert loss.zeta == pytest.approx(float(epsilon), rel=1e-12)
        assert privacy_loss(Geometric(epsilon), sensitivity=2).zeta < 2 * epsilon - 1e-6

    def test_but_not_for_the_continuous_laplace(self):
        assert privacy_loss(Laplace("0.328")).zeta == pytest.approx(0.307, abs=5e-4)

    def test_steep_outer_rates_do_not_keep_zeta_near_the_inner_one(self):
        assert privacy_loss(GeometricMixture(inner=0.2, outer=10, break_point=5)).zeta == pytest.approx(
            7.10, abs=0.005
        )
        assert privacy_loss(GeometricMixture(inner=1, outer=0.1, break_point=1)).zeta == pytest.approx(
            0.306, abs=5e-4
        )

    def test_composition_is_a_bound_not_an_equality(self):
        loss = privacy_loss(GeometricMixture(0.2, 1, 5))
        assert loss.compose(2).zeta < 2 * loss.zeta - 0.1

    def test_truncated_noise_has_infinite_loss_but_a_finite_delta(self):
        noise = TruncatedGeometric(0.3, 10)
        loss = privacy_loss(noise)
        assert (loss.epsilon, loss.zeta, loss.renyi(2)) == (inf, inf, inf)
        assert loss.delta(1) == pytest.approx(0.0077, abs=5e-5)
        assert loss.delta(1) == pytest.approx(float(noise.pmf(10)), rel=1e-9)

    def test_the_mixture_is_more_useful_by_the_corrected_factor(self):
        """r/(1 + ln a1/ln(k/delta)) = 2.61 at 5, 0.2, 1 and 0.05, not r/ln a1 = 1.83."""
        a1 = float(LaplaceMixture(0.2, 1, 5).sf(5)) * 2 * exp(5)
        assert 5 / (1 + log(a1) / log(1 / 0.05)) == pytest.approx(2.61, abs=0.005)
        bound = LaplaceMixture(0.2, 1, 5).error_bound(0.05)
        assert bound >= 5
        assert Laplace(0.2).error_bound(0.05) / bound == pytest.approx(2.61, abs=0.005)


class TestClamped:
    noise = GeometricMixture(0.2, 1, 5)

    @pytest.mark.parametrize("count", [0, 1, 3, 7])
    def test_both_directions_are_those_of_the_listed_outcomes(self, count):
        k = np.arange(-80, 81)

        def shown(true):
            pmf = np.zeros(120)
            np.add.at(pmf, np.maximum(k + true, 0), self.noise.pmf(k))
            return pmf / pmf.sum()

        p, q = shown(count), shown(count + 1)
        kept = (p > 0) & (q > 0)
        loss = clamped_loss(self.noise, count)
        assert loss.forward.zeta() == pytest.approx(log(exp_zeta(p[kept], q[kept])), abs=1e-9)
        assert loss.backward.zeta() == pytest.approx(log(exp_zeta(q[kept], p[kept])), abs=1e-9)

    def test_near_zero_the_directions_differ(self):
        loss = clamped_loss(self.noise, 0)
        assert loss.forward.zeta() == pytest.approx(0.282, abs=5e-4)
        assert loss.backward.zeta() == pytest.approx(0.328, abs=5e-4)

    @given(geometric_noises(2), st.integers(0, 12), st.integers(1, 3), st.floats(0, 3))
    def test_clamping_never_adds_loss(self, noise, count, sensitivity, epsilon):
        plain = privacy_loss(noise, sensitivity=sensitivity)
        shown = clamped_loss(noise, count, sensitivity=sensitivity)
        assert shown.forward.worst() > 0
        assert shown.epsilon <= plain.epsilon + 1e-12
        assert shown.zeta <= plain.zeta + 1e-12
        assert shown.delta(epsilon) <= plain.delta(epsilon) + 1e-12

    def test_far_from_zero_nothing_changes(self):
        assert clamped_loss(self.noise, 500).zeta == pytest.approx(privacy_loss(self.noise).zeta, abs=1e-12)


class TestEquivalentEpsilon:
    @settings(max_examples=30)
    @given(st.floats(1e-9, 20))
    def test_it_inverts_the_zeta_of_the_family(self, zeta):
        epsilon = equivalent_epsilon("rounded_laplace", zeta)
        assert privacy_loss(Laplace(epsilon).rounded()).zeta == pytest.approx(zeta, rel=1e-9)
        same = Geometric(equivalent_epsilon("geometric", zeta))
        assert privacy_loss(same).zeta == pytest.approx(zeta, rel=1e-9)

    @pytest.mark.parametrize("bad", [0, -1, nan, inf, 1000, "x"])
    def test_impossible_zeta_is_refused(self, bad):
        with pytest.raises(InvalidParameter):
            equivalent_epsilon("rounded_laplace", bad)
        with pytest.raises(InvalidParameter):
            equivalent_epsilon("gaussian", 1)


def test_published_zeta_errs_on_either_side():
    small, steep = LaplaceMixture(0.2, 1, 5).rounded(), LaplaceMixture(0.25, 2.5, 4).rounded()
    assert published_zeta(small) == pytest.approx(0.3091, abs=5e-5)
    assert published_zeta(small) < privacy_loss(small).zeta
    assert published_zeta(steep) == pytest.approx(0.6193, abs=5e-5)
    assert published_zeta(steep) > privacy_loss(steep).zeta


def test_published_zeta_is_exact_for_standard_noise():
    noise = Laplace("0.7").rounded()
    assert published_zeta(noise) == pytest.approx(privacy_loss(noise).zeta, abs=1e-12)


@pytest.mark.parametrize(
    "noise",
    [PiecewiseGeometric((1, 2, 3), (1, 2)), Laplace(1), LaplaceMixture(1, 2, 1).rounded()],
)
def test_published_zeta_is_refused_where_the_paper_has_none(noise):
    with pytest.raises(InvalidParameter):
        published_zeta(noise)


magnitudes = st.tuples(st.integers(1, 999), st.integers(-18, 2)).map(
    lambda pair: Fraction(pair[0]) * Fraction(10) ** pair[1] / 1000
)


@given(magnitudes, magnitudes)
def test_the_bound_on_delta_is_rounded_up_from_the_least_to_the_largest(
    zeta: Fraction, epsilon: Fraction
) -> None:
    with mpmath.workdps(60):
        z, e = (mpmath.mpf(each.numerator) / each.denominator for each in (zeta, epsilon))
        ratio = mpmath.exp(e)
        if ratio <= mpmath.cosh(z):
            exact = ratio * mpmath.expm1(z - e) / (mpmath.exp(z) + 1)
        else:
            exact = mpmath.expm1(z) / (2 * (ratio + mpmath.sqrt(ratio**2 - 1)))
        assert exact <= delta_from_zeta(zeta, epsilon) <= exact * (1 + mpmath.mpf("1e-12"))
