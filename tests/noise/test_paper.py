"""What the paper states about its noise and holds as printed: closed forms, limits, Remark 2."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dovetail.exact import ball, precision
from dovetail.noise import (
    Geometric,
    GeometricMixture,
    Laplace,
    LaplaceMixture,
    PiecewiseGeometric,
    TruncatedGeometric,
)
from oracles import mp, number, relative_error
from paper_forms import GeometricForms, LaplaceForms
from strategies import magnitudes

rates = magnitudes(0.01, 5)
CLOSE = 1e-12


@settings(max_examples=50, deadline=None)
@given(rates, rates, magnitudes(0.1, 30), st.floats(-60, 60))
def test_the_laplace_mixture_has_the_papers_closed_forms(
    e: Fraction, s: Fraction, c: Fraction, x: float
) -> None:
    noise, forms = LaplaceMixture(e, s, c), LaplaceForms(e, s, c)
    assert relative_error(noise.pdf(x), forms.pdf(x)) < CLOSE
    assert relative_error(noise.cdf(x), forms.cdf(x)) < CLOSE
    assert relative_error(noise.mean_abs(), forms.mean_abs()) < CLOSE
    assert relative_error(noise.variance(), forms.variance()) < CLOSE
    assert relative_error(noise.entropy(), forms.entropy()) < CLOSE


@settings(max_examples=50, deadline=None)
@given(rates, rates, st.integers(1, 30), st.integers(-60, 60))
def test_the_geometric_mixture_has_the_papers_probabilities(e: Fraction, s: Fraction, c: int, k: int) -> None:
    noise, forms = GeometricMixture(e, s, c), GeometricForms(e, s, c)
    assert relative_error(noise.pmf(k), forms.pmf(k)) < CLOSE
    # The two pieces agree at the break-point, and k_C has a second form for that reason.
    at_c = forms.a1 * (forms.A - 1) / (forms.A + 1) * forms.A**-c
    assert abs(forms.pmf(c) / at_c - 1) < mp.mpf(10) ** -100
    second = forms.a1 * forms.A**-c / (1 + 1 / forms.A) - forms.a2 * forms.B**-c / (1 + 1 / forms.B)
    assert abs(forms.k - second) < mp.mpf(10) ** -100


@settings(max_examples=100, deadline=None)
@given(rates, rates, st.integers(1, 15), st.floats(1e-6, 1 - 1e-6))
def test_ppf_is_algorithm_2(e: Fraction, s: Fraction, c: int, u: float) -> None:
    noise, forms = GeometricMixture(e, s, c), GeometricForms(e, s, c)
    k = forms.algorithm_2(u)
    # At a step of the cdf, rounding decides; elsewhere both give the same integer.
    assume(min(abs(forms.cdf(k) - u), abs(forms.cdf(k - 1) - u)) > 1e-14)
    assert noise.ppf(u) == k


@settings(max_examples=100, deadline=None)
@given(rates, rates, magnitudes(0.1, 30), st.floats(1e-6, 1 - 1e-6))
def test_ppf_is_algorithm_1_corrected(e: Fraction, s: Fraction, c: Fraction, u: float) -> None:
    truth = LaplaceForms(e, s, c).algorithm_1(u, printed=False)
    # u near 1/2 is a difference from it, so that x is as exact as u is.
    slack = 1e-12 * float(abs(truth)) + 1e-14 / float(min(e, s)) * (1 + float(max(e, s) / min(e, s)))
    assert abs(LaplaceMixture(e, s, c).ppf(u) - truth) <= slack


@given(rates, st.integers(1, 30))
def test_with_r_1_a_mixture_is_the_standard_noise(e: Fraction, c: int) -> None:
    assert GeometricMixture(e, e, c) == Geometric(e)
    assert LaplaceMixture(e, e, c) == Laplace(e)


@pytest.mark.parametrize("s", ["0.01", 1, 40])
def test_with_c_to_infinity_a_mixture_tends_to_the_standard_noise(s: object) -> None:
    x = np.arange(-40, 41)
    gaps = []
    for c in (10, 100, 1000):
        gaps.append(np.max(np.abs(GeometricMixture("0.3", s, c).cdf(x) / Geometric("0.3").cdf(x) - 1)))
        assert (
            np.max(np.abs(LaplaceMixture("0.3", s, c).cdf(x) / Laplace("0.3").cdf(x) - 1))
            < 2 * gaps[-1] + 1e-13
        )
    assert gaps[0] > 1000 * gaps[1]
    assert gaps[2] < 1e-13


def test_with_r_to_infinity_a_mixture_tends_to_the_truncated_noise() -> None:
    k = np.arange(-5, 6)
    truncated = TruncatedGeometric("0.3", 5)
    for s in (1, 10, 30):
        mixture = GeometricMixture("0.3", s, 5)
        outside = 1 - mixture.within(5)
        assert outside < 2 * np.exp(-s)
        np.testing.assert_allclose(mixture.pmf(k), truncated.pmf(k) * (1 - outside), rtol=1e-13)
    assert LaplaceMixture("0.3", 10**6, 5).within(5) == pytest.approx(1, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(magnitudes(0.05, 5), st.integers(0, 30))
def test_floors_of_two_exponentials_differ_by_the_geometric_exactly(epsilon: Fraction, k: int) -> None:
    # P(floor(E) = j) = (1 - q)·q^j, so the difference is k with the sum of (1 - q)²·q^(2j + k) over j.
    q = mp.exp(-number(epsilon))
    last = int(300 / epsilon)
    difference = mp.fsum((1 - q) ** 2 * q ** (2 * j + k) for j in range(min(last, 4000)))
    exact = Geometric(epsilon).tail_ball(k + 1, 200)
    with precision(250):
        sum_of_tails = ball(0) + exact
        closed = (-ball(epsilon) * (k + 1)).exp() / (1 + (-ball(epsilon)).exp())
        assert sum_of_tails.overlaps(closed)
    assert relative_error(Geometric(epsilon).pmf(k), difference) < 1e-12


@given(magnitudes(0.01, 5))
def test_the_rounded_laplace_is_not_the_geometric(epsilon: Fraction) -> None:
    # Both exactly: 1 - exp(-epsilon/2) against (1 - q)/(1 + q) at 0, never equal for epsilon > 0.
    rounded, geometric = Laplace(epsilon).rounded(), Geometric(epsilon)
    apart = rounded.tail_ball(1, 200) - geometric.tail_ball(1, 200)
    assert not apart.contains(0)
    assert relative_error(rounded.pmf(0), 1 - mp.exp(-number(epsilon) / 2)) < 1e-12


@pytest.mark.parametrize(
    ("mixture", "relaxed", "equal", "within", "within_equal", "bounds"),
    [
        (GeometricMixture("0.2", 1, 5), "0.5", "0.328", 0.940, 0.838, [8, 11, 16]),
        (GeometricMixture("0.1", 1, 6), "0.45", "0.257", 0.937, 0.813, [9, 12, 21]),
    ],
)
def test_what_the_paper_simulates_is_known_exactly(
    mixture: PiecewiseGeometric,
    relaxed: str,
    equal: str,
    within: float,
    within_equal: float,
    bounds: list[int],
) -> None:
    # The paper reads 92 to 95 % against 84 to 85 %, and bounds of 8, 12, 16 and 10, 11, 21 off its figures.
    (point,) = mixture.breaks
    assert mixture.within(point) == pytest.approx(within, abs=5e-4)
    assert Geometric(equal).within(point) == pytest.approx(within_equal, abs=5e-4)
    found = [noise.quantile_abs("0.995") for noise in (mixture, Geometric(relaxed), Geometric(equal))]
    assert found == bounds
