"""Quantiles and error bounds, against enumeration in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import (
    DiscreteGaussian,
    Geometric,
    GeometricMixture,
    IntegerNoise,
    Laplace,
    Noise,
    PiecewiseLaplace,
    Staircase,
)
from oracles import mp, number, oracle, relative_error
from strategies import integer_noises, laplaces, narrow_integers, narrow_laplaces, noises

chances = st.floats(1e-12, 0.999) | st.sampled_from([0.05, 0.01, 1e-6])


def misses(noise: IntegerNoise, t: int) -> object:
    """Return P(|Y| > t) in 200 digits."""
    return 2 * oracle(noise).tail(t + 1)


@settings(max_examples=50, deadline=None)
@given(narrow_integers, st.floats(1e-300, 1, exclude_max=True))
def test_ppf_is_the_least_integer_that_reaches_p(noise: IntegerNoise, p: float) -> None:
    truth = oracle(noise)
    k = int(noise.ppf(p))
    slack = mp.mpf(1e-12) * min(p, 1 - p) + (mp.mpf(2) ** -53 if p > 0.5 else 0)
    assert truth.cdf(k) >= p - slack
    assert truth.cdf(k - 1) < p + slack


@settings(max_examples=50, deadline=None)
@given(narrow_integers, st.integers(-40, 40))
def test_ppf_returns_from_the_cdf_of_an_integer_to_it(noise: IntegerNoise, k: int) -> None:
    p = noise.cdf(k)
    assume(noise.cdf(k - 1) < p < 1)
    assert noise.ppf(p) == k


@settings(max_examples=50, deadline=None)
@given(noises, st.floats(0.001, 0.499))
def test_ppf_is_odd(noise: Noise, p: float) -> None:
    # 1 - p is not exact in floats, so the mirror image is taken of a p that both sides can hold.
    p = 1 - (1 - p)
    low, high = noise.ppf(p), noise.ppf(1 - p)
    assert low == pytest.approx(-high, rel=1e-9, abs=1)
    assert low <= 0 <= high


@pytest.mark.parametrize(
    "noise",
    [
        Geometric(1),
        Laplace(1),
        Laplace(1).rounded(),
        GeometricMixture("0.2", 1, 5),
        PiecewiseLaplace((1, "0.2", 3), (1, 7)),
        DiscreteGaussian(3),
        DiscreteGaussian(1000),
        Staircase(1),
    ],
    ids=repr,
)
def test_ppf_reaches_the_ends_of_the_line_and_is_nan_outside(noise: Noise) -> None:
    assert noise.ppf([0, 0.5, 1]).tolist() == [-np.inf, 0, np.inf]
    assert np.isnan(noise.ppf([-0.1, 1.1, np.nan])).all()
    assert noise.ppf(5e-324) <= noise.ppf(1e-300) < noise.ppf(1e-9) < 0


def test_ppf_goes_far_down() -> None:
    for noise in (Geometric(1), Laplace(1), Laplace(1).rounded()):
        assert noise.ppf(5e-324) < -700


@settings(max_examples=60, deadline=None)
@given(narrow_integers, chances)
def test_quantile_abs_is_the_least_width_on_the_integers(noise: IntegerNoise, chance: float) -> None:
    level = 1 - Fraction(repr(chance))
    t = noise.quantile_abs(level)
    assert isinstance(t, int)
    assert misses(noise, t) <= number(1 - level)
    assert t == 0 or misses(noise, t - 1) > number(1 - level)


@settings(max_examples=60, deadline=None)
@given(narrow_integers, chances, st.integers(1, 10**6))
def test_error_bound_is_the_least_that_holds_for_all_k(noise: IntegerNoise, beta: float, k: int) -> None:
    exact_beta = number(Fraction(repr(beta)))
    within_all = next(t for t in count() if 1 - (1 - misses(noise, t)) ** k <= exact_beta)
    union = next(t for t in count(within_all) if k * misses(noise, t) <= exact_beta)
    assert noise.error_bound(beta, k) == within_all
    assert noise.union_bound(beta, k) == union >= within_all


@settings(max_examples=40, deadline=None)
@given(narrow_integers, st.integers(0, 20))
def test_a_chance_next_to_a_tail_falls_on_its_own_side(noise: IntegerNoise, t: int) -> None:
    tail = misses(noise, t)
    # 60 digits: no float could tell the two sides apart.
    below, above = (Fraction(int(tail * 10**60) + step, 10**60) for step in (0, 1))
    assume(below > 0)
    assert noise.error_bound(above) == t
    assert noise.error_bound(below) == t + 1
    assert noise.quantile_abs(1 - above) == t
    assert above * 7 >= 1 or noise.union_bound(above * 7, 7) == t


@settings(max_examples=40, deadline=None)
@given(laplaces(), chances, st.integers(1, 1000))
def test_bounds_on_the_reals_are_the_least_float(noise: PiecewiseLaplace, beta: float, k: int) -> None:
    truth = oracle(noise)
    exact_beta = number(Fraction(repr(beta)))
    for t, chance in (
        (noise.error_bound(beta, k), lambda t: 1 - (1 - 2 * truth.tail(t)) ** k),
        (noise.union_bound(beta, k), lambda t: 2 * k * truth.tail(t)),
    ):
        assert chance(t) <= exact_beta
        assert chance(np.nextafter(t, 0)) > exact_beta


@settings(max_examples=30, deadline=None)
@given(laplaces(), st.integers(-300, -1))
def test_tiny_levels_are_as_exact_as_others(noise: PiecewiseLaplace, decade: int) -> None:
    t = noise.quantile_abs(f"1e{decade}")
    # So near 0 the density is flat over t, or t is far inside the first piece.
    expected = mp.mpf(10) ** decade / (2 * oracle(noise).density(0))
    assert relative_error(t, expected) < 1e-15 + 2 * t * float(max(noise.rates))


@pytest.mark.parametrize("scale", [10**9, 10**15, 10**30])
@pytest.mark.parametrize("make", [Geometric, lambda rate: Laplace(rate).rounded()])
def test_wide_noise_is_searched_in_few_steps(make, scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = make(Fraction(1, scale))
    steps = []
    certain = Noise._misses_at_most
    monkeypatch.setattr(
        Noise, "_misses_at_most", lambda self, t, chance: steps.append(t) or certain(self, t, chance)
    )
    t = noise.quantile_abs("0.95")
    assert len(steps) < 150
    assert misses(noise, t) <= mp.mpf(1) / 20 < misses(noise, t - 1)


def test_a_bound_exists_for_any_chance_and_any_number_of_answers() -> None:
    for noise in (Geometric(1), GeometricMixture(1, "1e-9", 5), Laplace(1), Laplace(1).rounded()):
        t = noise.error_bound("1e-399", 10**300)
        assert relative_error(noise.log_sf(t), mp.log(mp.mpf(10) ** -699 / 2)) < 0.01
        assert noise.union_bound("1e-399", 10**300) >= t


@settings(max_examples=50, deadline=None)
@given(noises, st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=8))
def test_cdf_and_sf_are_mirror_images_and_monotone(noise: Noise, x: list[float]) -> None:
    at = np.sort(np.array(x))
    cdf, sf = noise.cdf(at), noise.sf(at)
    assert (np.diff(cdf) >= -1e-13).all()
    assert (np.diff(sf) <= 1e-13).all()
    mirrored = -at if noise.kind == "piecewise-laplace" else -np.floor(at) - 1
    np.testing.assert_allclose(noise.cdf(mirrored), sf, rtol=1e-12)
    np.testing.assert_allclose(cdf + sf, 1, rtol=1e-15)


@settings(max_examples=50, deadline=None)
@given(integer_noises, st.integers(0, 10**6))
def test_balls_hold_the_cdf_at_any_precision(noise: IntegerNoise, k: int) -> None:
    truth = oracle(noise)
    for bits in (20, 64, 300):
        for at in (k, -k - 1):
            value, radius = truth.cdf(at), noise.cdf_ball(at, bits)
            middle = mp.mpf(radius.mid().str(120, radius=False))
            reach = mp.mpf(radius.rad().str(30, radius=False)) * mp.mpf("1.0001")
            assert abs(middle - value) <= reach + abs(value) * mp.mpf(10) ** -115
            assert radius.rel_accuracy_bits() >= bits - 8 or value < mp.mpf(10) ** -1000


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.1, float("nan"), "x", True, None])
def test_a_level_outside_0_to_1_is_refused(p: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^p=.* must be"):
        Geometric(1).quantile_abs(p)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"^beta=.* must be"):
        Laplace(1).error_bound(p)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0, -1, 1.5, True, float("inf")])
def test_a_number_of_answers_that_is_none_is_refused(k: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^k=.* must be"):
        Geometric(1).error_bound(0.05, k)  # type: ignore[arg-type]


@settings(max_examples=20, deadline=None)
@given(narrow_laplaces)
def test_std_is_the_root_of_the_variance(noise: PiecewiseLaplace) -> None:
    assert noise.std() ** 2 == pytest.approx(noise.variance(), rel=1e-15)
