"""Every figure of a noise against 50 digits, over the whole range of rates and breaks that is promised."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dovetail.noise import (
    Geometric,
    GeometricMixture,
    Laplace,
    LaplaceMixture,
    Noise,
    PiecewiseGeometric,
    PiecewiseLaplace,
)
from oracles import PieceOracle, RoundedOracle, mp, number, oracle, relative_error
from strategies import geometrics, laplaces, narrow_geometrics, narrow_laplaces, narrow_roundeds, roundeds

CLOSE = 1e-12
HUGE = Fraction(10**9)
THIRD = Fraction(1, 3)
_POINTS = st.floats(-1e10, 1e10).filter(lambda x: x == 0 or abs(x) > 1e-100)

NASTY = [
    Geometric("1e-9"),
    Geometric(50),
    Laplace("1e-9"),
    Laplace(50),
    GeometricMixture("1e-9", 50, 10**9),
    GeometricMixture(50, "1e-9", 10**9),
    GeometricMixture("1e-9", 50, 1),
    GeometricMixture(50, "1e-9", 1),
    GeometricMixture(50, "1e-9", 14),  # the heavy tail starts where the probabilities underflow
    LaplaceMixture("1e-9", 50, HUGE + THIRD),
    LaplaceMixture(50, "1e-9", HUGE + THIRD),
    LaplaceMixture(50, "1e-9", THIRD),
    LaplaceMixture("1e-9", 50, THIRD),
    LaplaceMixture("0.7", 175, 286),
    LaplaceMixture(50, "1e-9", "14.1"),
    PiecewiseLaplace((1, "1e-9", 50, "1e-9", 3), (THIRD, 1, HUGE - THIRD, HUGE + THIRD)),
    PiecewiseGeometric((1, "1e-9", 50, "1e-9", 3), (1, 2, 10**9 - 1, 10**9)),
    PiecewiseGeometric([Fraction(i, 10) for i in range(1, 9)], range(2, 16, 2)),
    PiecewiseGeometric([Fraction(i, 10) for i in range(8, 0, -1)], range(2, 16, 2)),
    Laplace("1e-9").rounded(),
    Laplace(50).rounded(),
    LaplaceMixture(50, "1e-9", HUGE + THIRD).rounded(),
    LaplaceMixture("1e-9", 50, "4.5").rounded(),
    LaplaceMixture("1e-9", 50, "0.2").rounded(),
    PiecewiseLaplace((1, "1e-9", 50, 3), ("0.1", "0.2", "0.7")).rounded(),
]
named = pytest.mark.parametrize("noise", NASTY, ids=repr)


def points(noise: Noise) -> list[float]:
    """Points on both sides of 0: near 0, around each break, and far out on every scale of the noise."""
    found = {0.0, 1.0, 2.0}
    for point in noise.breaks:
        nearest = float(point)
        found |= {nearest, np.nextafter(nearest, 0), np.nextafter(nearest, np.inf)}
        found |= {max(0.0, float(floor(point) + step)) for step in (-1, 0, 1, 2)}
    for rate in noise.rates:
        found |= {float(share / rate) for share in (Fraction(1, 100), 1, 30, 600)}
    if noise.kind != "piecewise-laplace":
        found = {float(floor(x)) for x in found}
    else:
        found |= {1e-9, THIRD / 7}
    return sorted({sign * float(x) for x in found for sign in (1, -1)})


def assert_accurate(noise: Noise, at: list[float]) -> None:
    truth = oracle(noise)
    density = noise.pdf if noise.kind == "piecewise-laplace" else noise.pmf
    for name, found, exact in (
        ("density", density(at), truth.density),
        ("cdf", noise.cdf(at), truth.cdf),
        ("sf", noise.sf(at), truth.sf),
    ):
        errors = [relative_error(value, exact(x)) for value, x in zip(found, at, strict=True)]
        assert max(errors) <= CLOSE, (name, at[int(np.argmax(errors))])
    distances = [abs(x) for x in at]
    errors = [
        relative_error(v, truth.within(t)) for v, t in zip(noise.within(distances), distances, strict=True)
    ]
    assert max(errors) <= CLOSE, ("within", distances[int(np.argmax(errors))])


def assert_moments(noise: Noise) -> None:
    truth = oracle(noise)
    assert relative_error(noise.mean_abs(), truth.mean_abs()) <= CLOSE
    assert relative_error(noise.variance(), truth.variance()) <= CLOSE
    assert relative_error(noise.entropy(), truth.entropy()) <= CLOSE


@named
def test_density_cdf_and_sf_agree_with_50_digits_in_nasty_cases(noise: Noise) -> None:
    assert_accurate(noise, points(noise))


@settings(max_examples=60, deadline=None)
@given(geometrics() | laplaces() | roundeds(), st.lists(_POINTS, max_size=4))
def test_density_cdf_and_sf_agree_with_50_digits(noise: Noise, more: list[float]) -> None:
    if noise.kind != "piecewise-laplace":
        more = [float(floor(x)) for x in more]
    assert_accurate(noise, points(noise) + more)


@pytest.mark.parametrize("noise", [n for n in NASTY if n.kind != "rounded-laplace"], ids=repr)
def test_moments_and_entropy_agree_with_50_digits_in_nasty_cases(noise: Noise) -> None:
    assert_moments(noise)


@settings(max_examples=100, deadline=None)
@given(geometrics() | laplaces())
def test_moments_and_entropy_agree_with_50_digits(noise: Noise) -> None:
    assert_moments(noise)


@settings(max_examples=15, deadline=None)
@given(narrow_roundeds)
def test_moments_and_entropy_of_rounded_noise_agree_with_summation(noise: Noise) -> None:
    truth = RoundedOracle(noise.rates, noise.breaks)
    last = int(80 / min(noise.rates)) + 31
    tails = [truth.tail(k) for k in range(1, last + 1)]
    mean_abs = 2 * mp.fsum(tails)
    variance = 2 * mp.fsum((2 * k - 1) * tail for k, tail in enumerate(tails, start=1))
    masses = [a - b for a, b in itertools.pairwise(tails)]
    zero = 1 - 2 * tails[0]
    entropy = -zero * mp.log(zero) - 2 * mp.fsum(mass * mp.log(mass) for mass in masses)
    assert relative_error(noise.mean_abs(), mean_abs) <= CLOSE
    assert relative_error(noise.variance(), variance) <= CLOSE
    assert relative_error(noise.entropy(), entropy) <= CLOSE


@named
def test_log_sf_holds_to_a_million_scales(noise: Noise) -> None:
    truth = oracle(noise)
    for rate in noise.rates:
        for scales in (1, 1000, 10**6):
            x = float(floor(scales / rate)) if noise.kind != "piecewise-laplace" else float(scales / rate)
            exact = mp.log(truth.sf(x))
            assert relative_error(noise.log_sf(x), exact) <= 1e-10
            assert np.isfinite(noise.log_sf(x))


@settings(max_examples=40, deadline=None)
@given(geometrics() | laplaces(), st.sampled_from([1, 10, 1000, 10**6]))
def test_log_densities_are_minus_phi(noise: Noise, scales: int) -> None:
    truth = oracle(noise)
    x = float(floor(scales / min(noise.rates)))
    log_density = noise.log_pdf if noise.kind == "piecewise-laplace" else noise.log_pmf
    assert relative_error(log_density(-x), -truth.phi(number(x)) - mp.log(truth.total)) <= 1e-10


@settings(max_examples=40, deadline=None)
@given(laplaces(), st.floats(1e-300, 1, exclude_max=True) | st.floats(0.4, 0.6))
@example(PiecewiseLaplace((1, "1e-9", 1), (1, "3000000001/3")), 1.5412079390069445e-09)
def test_ppf_inverts_the_cdf_on_the_reals(noise: PiecewiseLaplace, p: float) -> None:
    x = noise.ppf(p)
    truth = oracle(noise)
    # Next to a float x lie others, and x is found to 16 of them: p is reached up to the cdf's steps there.
    step = truth.density(x) * mp.mpf(float(np.spacing(abs(x))))
    assert abs(truth.cdf(x) - p) <= mp.mpf("1e-12") * min(p, 1 - p) + 16 * step


@settings(max_examples=10, deadline=None)
@given(narrow_geometrics)
def test_the_oracle_of_integers_agrees_with_plain_summation(noise: PiecewiseGeometric) -> None:
    truth = PieceOracle(noise.rates, noise.breaks, whole=True)
    levels = [number(noise.potential(k)) for k in range(1400)]
    weights = [mp.exp(-level) for level in levels]
    total = 2 * mp.fsum(weights) - 1
    moments = [2 * mp.fsum(k**power * w for k, w in enumerate(weights)) / total for power in (1, 2)]
    entropy = mp.log(total) + 2 * mp.fsum(w * level for w, level in zip(weights, levels, strict=True)) / total
    # 1400 terms reach 50 digits where rates are at least 0.1.
    close = mp.mpf("1e-50")
    assert abs(truth.tail(3) - mp.fsum(weights[3:]) / total) < close
    assert abs(truth.mean_abs() - moments[0]) < close * 1000
    assert abs(truth.variance() - moments[1]) < close * 10**6
    assert abs(truth.entropy() - entropy) < close * 1000


@settings(max_examples=5, deadline=None)
@given(narrow_laplaces)
def test_the_oracle_of_reals_agrees_with_quadrature(noise: PiecewiseLaplace) -> None:
    truth = PieceOracle(noise.rates, noise.breaks, whole=False)
    with mp.workdps(30):
        edges = [0, *(number(point) for point in noise.breaks)]
        edges += [edges[-1] + step / number(noise.rates[-1]) for step in (5, 20, 80)]
        weight = lambda x: mp.exp(-truth.phi(x))  # noqa: E731
        total = 2 * mp.quad(weight, edges)
        variance = 2 * mp.quad(lambda x: x * x * weight(x), edges) / total
        entropy = mp.log(total) + 2 * mp.quad(lambda x: truth.phi(x) * weight(x), edges) / total
        assert abs(truth.variance() / variance - 1) < 1e-20
        assert abs(truth.entropy() - entropy) < 1e-20
