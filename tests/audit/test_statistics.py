"""Ten million draws pass at a false-alarm rate of 1e-9, and slightly wrong ones do not."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.audit import goodness_of_fit, least_epsilon
from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, GeometricMixture, Laplace, LaplaceMixture, PiecewiseGeometric

MANY = 10_000_000
FALSE_ALARM = 1e-9
NOISES = [
    Geometric("1/3"),
    GeometricMixture("0.2", 1, 5),
    LaplaceMixture("0.2", 1, "4.3").rounded(),
    Geometric("0.001"),
    GeometricMixture("1e-5", "5e-5", 100_003),
    Laplace("1e-4").rounded(),
    PiecewiseGeometric(("0.001", "0.002", "0.003", "0.004"), (100, 333, 1001)),
    Geometric("1e-15"),
]
PAPER = GeometricMixture("0.2", 1, 5)


@pytest.fixture(scope="module")
def draws():
    return PAPER.sample(MANY)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_ten_million_draws_follow_the_law(noise):
    assert goodness_of_fit(noise, noise.sample(MANY)) > FALSE_ALARM


@pytest.mark.parametrize("noise", [Geometric("1e-6"), GeometricMixture("1e-5", "5e-5", 100_003)], ids=repr)
def test_the_low_digits_of_wide_draws_follow_the_law(noise):
    """Blocks alone would pass a test of coarse cells: modulo 256 the law is all but uniform."""
    counts = np.bincount(np.abs(noise.sample(MANY)) % 256, minlength=256)
    expected = MANY / 256
    assert ((counts - expected) ** 2 / expected).sum() < 255 + 8 * np.sqrt(2 * 255)


@pytest.mark.parametrize("change", ["rate", "cell", "sign", "shift"])
def test_the_same_test_rejects_slightly_wrong_draws(draws, change):
    rng = np.random.default_rng(7)
    if change == "rate":
        wrong = GeometricMixture("0.21", "1.05", 5).sample(MANY)
    elif change == "cell":
        # The value 3 comes 5 % less often than it should.
        wrong = np.where((draws == 3) & (rng.random(MANY) < 0.05), 2, draws)
    elif change == "sign":
        wrong = np.where((draws < 0) & (rng.random(MANY) < 0.01), -draws, draws)
    else:
        wrong = draws + (rng.random(MANY) < 0.01)
    assert goodness_of_fit(PAPER, wrong.astype(np.int64)) < FALSE_ALARM


def test_the_loss_that_draws_prove_is_near_the_charged_one_and_not_above(draws):
    proved = least_epsilon(PAPER, draws).epsilon
    assert 0.9 < proved <= 1


def test_draws_of_a_smaller_noise_prove_that_the_charge_is_too_low(draws):
    """Charged as epsilon 1, drawn at 1.1: the bound must notice."""
    wrong = GeometricMixture("0.22", "1.1", 5).sample(MANY)
    assert least_epsilon(PAPER, wrong).epsilon > 1


def test_draws_of_finite_support_prove_a_loss_above_the_charge(draws):
    wrong = draws[np.abs(draws) <= 8]
    assert least_epsilon(PAPER, wrong).epsilon > 1


def test_a_small_sample_follows_the_law_too():
    assert goodness_of_fit(PAPER, PAPER.sample(50_000)) > FALSE_ALARM
    assert goodness_of_fit(PAPER, Geometric("0.3").sample(50_000)) < FALSE_ALARM


def test_too_few_or_unsuitable_draws_are_refused():
    with pytest.raises(InvalidParameter, match="more draws"):
        goodness_of_fit(PAPER, PAPER.sample(10))
    with pytest.raises(InvalidParameter, match="int64"):
        goodness_of_fit(PAPER, np.zeros(5000))
