"""Expected costs, against sums in exact arithmetic and closed forms."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, IntegerNoise, Laplace, LaplaceMixture, PiecewiseLaplace
from oracles import mp, oracle, relative_error
from strategies import laplaces, narrow_integers, narrow_laplaces


@settings(max_examples=10, deadline=None)
@given(narrow_integers, st.integers(-20, 20), st.integers(0, 3))
def test_any_cost_is_summed_over_the_integers(noise: IntegerNoise, shift: int, power: int) -> None:
    truth = oracle(noise)
    masses = [truth.density(k) for k in range(500)]
    exact = mp.fsum(abs(k - shift) ** power * masses[abs(k)] for k in range(-499, 500))
    assert relative_error(noise.expect(lambda k: np.abs(k - shift) ** power), exact) < 1e-12


@settings(max_examples=20, deadline=None)
@given(laplaces())
def test_smooth_costs_agree_with_the_moments_at_any_scale(noise: PiecewiseLaplace) -> None:
    assert noise.expect(abs) == pytest.approx(noise.mean_abs(), rel=1e-11)
    assert noise.expect(np.square) == pytest.approx(noise.variance(), rel=1e-11)
    assert noise.expect(lambda x: 1) == pytest.approx(1, rel=1e-11)


@settings(max_examples=20, deadline=None)
@given(narrow_laplaces, st.floats(0.01, 20))
def test_the_expectation_of_a_jump_is_a_probability(noise: PiecewiseLaplace, t: float) -> None:
    assert noise.expect(lambda x: np.abs(x) > t) == pytest.approx(2 * noise.sf(t), abs=1e-12)


def test_many_jumps_are_all_seen() -> None:
    noise = LaplaceMixture("0.2", 1, 5)
    assert noise.expect(lambda x: np.abs(np.rint(x))) == pytest.approx(noise.rounded().mean_abs(), rel=1e-12)


def test_a_cost_far_below_the_scale_of_the_noise_is_seen() -> None:
    noise = Laplace("1e-9")
    assert noise.expect(lambda x: np.abs(x) <= 3) == pytest.approx(noise.within(3), rel=1e-6)


@pytest.mark.parametrize("rate", [0.2, 1, 3])
def test_an_exponential_cost_has_its_closed_form(rate: float) -> None:
    exact = rate**2 / (rate**2 - (rate / 4) ** 2)
    assert Laplace(rate).expect(lambda x: np.exp(rate / 4 * x)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("growth", [0.99, 1, 2, 800])
@pytest.mark.parametrize("noise", [Geometric(1), Laplace(1), Laplace(1).rounded(), LaplaceMixture(0.2, 1, 5)])
def test_a_cost_that_outgrows_the_tail_is_refused(noise, growth: float) -> None:
    with pytest.raises(InvalidParameter, match="grows clearly more slowly than the tail falls"):
        noise.expect(lambda x: np.exp(growth * np.abs(np.asarray(x, float))))


def test_a_cost_without_a_number_is_refused() -> None:
    for noise in (Geometric(1), Laplace(1)):
        with pytest.raises(InvalidParameter, match="gives a number for every noise"):
            noise.expect(lambda x: np.where(np.abs(x) > 5, np.nan, 0))


def test_what_would_take_too_long_is_refused_with_a_way_out() -> None:
    with pytest.raises(InvalidParameter, match=r"coarser lattice"):
        Geometric("1e-9").expect(abs)
    with pytest.raises(InvalidParameter, match="round it, or put it on a lattice"):
        Laplace("1e-9").expect(np.cos)


def test_the_cost_of_truncation_at_zero_is_half_the_noise() -> None:
    noise = Geometric(1)
    assert noise.expect(lambda k: np.maximum(k, 0)) == pytest.approx(noise.mean_abs() / 2, rel=1e-14)
    assert sqrt(noise.expect(np.square)) == pytest.approx(noise.std(), rel=1e-14)
