"""The discrete Gaussian against plain sums in mpmath."""

from __future__ import annotations

import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.exact import precision
from dovetail.exact.gaussian_sums import GaussianSums
from dovetail.noise import DiscreteGaussian, from_dict

SCALES = [
    Fraction(1, 5),
    Fraction(1),
    Fraction("3.7"),
    Fraction(16),
    Fraction(63),
    Fraction(65),
    Fraction(400),
]


class Oracle:
    """Sums over all integers that matter, with 40 digits."""

    def __init__(self, sigma: Fraction) -> None:
        with mpmath.workdps(40):
            square = 2 * (mpmath.mpf(sigma.numerator) / sigma.denominator) ** 2
            last = int(45 * sigma) + 10
            self.weights = [mpmath.exp(-mpmath.mpf(k * k) / square) for k in range(last)]
            self.total = 2 * mpmath.fsum(self.weights) - 1
            self.tails = [mpmath.mpf(0)] * (last + 1)
            for k in range(last - 1, -1, -1):
                self.tails[k] = self.tails[k + 1] + self.weights[k]


@pytest.fixture(scope="module", params=SCALES, ids=str)
def case(request: pytest.FixtureRequest) -> tuple[DiscreteGaussian, Oracle]:
    return DiscreteGaussian(request.param), Oracle(request.param)


def test_probabilities_and_tails_equal_plain_sums(case: tuple[DiscreteGaussian, Oracle]) -> None:
    noise, oracle = case
    points = np.unique((np.array([0, 0.5, 1, 2, 5, 10, 30]) * float(noise.sigma)).astype(int))
    for k in points.tolist():
        mass, tail = oracle.weights[k] / oracle.total, oracle.tails[k + 1] / oracle.total
        assert noise.pmf(k) == pytest.approx(float(mass), rel=2e-13)
        assert noise.sf(k) == pytest.approx(float(tail), rel=2e-13)
        assert noise.cdf(-k - 1) == pytest.approx(float(tail), rel=2e-13)
        assert noise.log_sf(k) == pytest.approx(float(mpmath.log(tail)), rel=1e-13)
        assert noise.within(k) == pytest.approx(float(1 - 2 * tail), rel=2e-13)


def test_balls_hold_the_plain_sums(case: tuple[DiscreteGaussian, Oracle]) -> None:
    noise, oracle = case
    for k in (1, int(noise.sigma) + 1, int(9 * noise.sigma) + 1):
        ball = noise.tail_ball(k, 64)
        assert ball.rel_accuracy_bits() >= 60
        with precision(200):
            distance = abs(ball.mid() * 10**30 / (oracle_ball(oracle.tails[k] / oracle.total)) - 10**30)
            assert distance < 1e15


def oracle_ball(value: mpmath.mpf) -> object:
    from flint import arb

    return arb(mpmath.nstr(value, 38))


def test_moments_and_entropy_equal_plain_sums(case: tuple[DiscreteGaussian, Oracle]) -> None:
    noise, oracle = case
    with mpmath.workdps(40):
        p = [weight / oracle.total for weight in oracle.weights]
        first = 2 * mpmath.fsum(k * mass for k, mass in enumerate(p))
        second = 2 * mpmath.fsum(k * k * mass for k, mass in enumerate(p))
        entropy = p[0] * mpmath.log(p[0]) - 2 * mpmath.fsum(mass * mpmath.log(mass) for mass in p)
    assert noise.mean_abs() == pytest.approx(float(first), rel=1e-15)
    assert noise.variance() == pytest.approx(float(second), rel=1e-15)
    assert noise.entropy() == pytest.approx(float(entropy), rel=1e-13)


def test_the_inverse_is_the_least_point_with_enough_below(case: tuple[DiscreteGaussian, Oracle]) -> None:
    noise, _ = case
    p = np.concatenate([10.0 ** -np.arange(1, 12), 1 - 10.0 ** -np.arange(1, 12), [0.4, 0.5, 0.6]])
    k = np.asarray(noise.ppf(p))
    assert np.all(np.asarray(noise.cdf(k)) >= p)
    assert np.all(np.asarray(noise.cdf(k - 1)) < p)


@pytest.mark.parametrize("sigma", [Fraction(16), Fraction(333, 10), Fraction(1000)], ids=str)
def test_a_tail_by_its_formula_is_the_sum_of_its_terms(sigma: Fraction) -> None:
    gaussian = GaussianSums(sigma)
    with precision(160):
        points = [1, 7, int(4 * sigma), int(12 * sigma), int(39 * sigma), int(41 * sigma)]
        for k, summed in zip(points, gaussian.tails(points), strict=True):
            for found in (gaussian.tail(k), gaussian._by_derivatives(k)):
                assert found is not None
                assert found.overlaps(summed)
                assert found.rel_accuracy_bits() > 120


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction("1.3"), Fraction(20), Fraction(300)], ids=str)
def test_sums_over_all_integers_by_poisson_are_the_sums_of_their_terms(sigma: Fraction) -> None:
    gaussian = GaussianSums(sigma)
    with precision(400):
        summed = [1 + 2 * gaussian._directly(1), *(2 * gaussian._moment_directly(order) for order in (1, 2))]
        for found, terms in zip(
            (gaussian.total(), gaussian.moment(1), gaussian.moment(2)), summed, strict=True
        ):
            assert found.overlaps(terms)
            assert found.rel_accuracy_bits() > 380


def test_only_many_tails_make_a_table() -> None:
    noise = DiscreteGaussian(900)
    assert noise.variance() > 0
    assert noise.quantile_abs(0.95) > 0
    assert not noise._exact._tables
    noise.tail_balls([1, 2, 3], 64)
    assert len(noise._exact._tables) == 1


def test_a_very_wide_noise_is_as_precise_as_a_narrow_one() -> None:
    noise = DiscreteGaussian(10**9)
    assert noise.variance() == 1e18
    assert noise.mean_abs() == pytest.approx(np.sqrt(2 / np.pi) * 1e9, rel=1e-14)
    assert noise.quantile_abs(0.95) == pytest.approx(1.959963984540054e9, abs=2)


def test_far_beyond_all_floats_the_log_tail_goes_on() -> None:
    assert DiscreteGaussian(2).log_sf(1000) == pytest.approx(-(1001**2) / 8 - np.log(2 * np.sqrt(2 * np.pi)))
    assert DiscreteGaussian(100).log_sf(10**5) == pytest.approx(-(100001**2) / 2e4, rel=1e-4)


@pytest.mark.parametrize("sigma", [0, -1, float("nan"), float("inf"), "1e-4", 10**16, True, None])
def test_only_a_usable_scale_is_accepted(sigma: object) -> None:
    with pytest.raises(InvalidParameter, match="sigma="):
        DiscreteGaussian(sigma)  # type: ignore[arg-type]


def test_a_noise_survives_storage_and_pickling() -> None:
    noise = DiscreteGaussian("2.5")
    assert from_dict(noise.to_dict()) == pickle.loads(pickle.dumps(noise)) == noise
    assert repr(noise) == "DiscreteGaussian(sigma='2.5')"
    assert noise.stretched(4) == DiscreteGaussian(10)
    assert noise.releasable
