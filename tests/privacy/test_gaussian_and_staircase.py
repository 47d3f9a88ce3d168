"""Losses of the comparators against plain enumeration and closed forms."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, inf, log

import mpmath
import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, Staircase, TruncatedGeometric, TruncatedLaplace
from dovetail.privacy import privacy_loss
from dovetail.privacy.gaussian_and_staircase import _MOST_BUCKETS, _log_masses, _mean_place
from dovetail.privacy.normal import normal_sigma


def enumerated(noise: DiscreteGaussian, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """P and L at every outcome that matters."""
    k = np.arange(-int(40 * noise.sigma) - 5, int(40 * noise.sigma) + 6)
    weights = np.exp(-(k**2) / (2 * float(noise.sigma) ** 2))
    loss = shift * (shift - 2 * k) / (2 * float(noise.sigma) ** 2)
    return weights / weights.sum(), loss


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("sigma", ["1.5", "3.3", "20"])
def test_the_gaussian_equals_plain_sums(sigma: str, shift: int) -> None:
    noise = DiscreteGaussian(sigma)
    p, values = enumerated(noise, shift)
    loss = privacy_loss(noise, sensitivity=shift)
    assert loss.epsilon == inf
    assert loss.zeta == pytest.approx(log((p * np.exp(np.abs(values))).sum()), rel=1e-12)
    assert loss.mean == pytest.approx((p * values).sum(), rel=1e-12)
    for order in (2, 5):
        exact = log((p * np.exp((order - 1) * values)).sum()) / (order - 1)
        assert exact * (1 - 1e-12) <= loss.renyi(order) <= exact * (1 + 1e-12)
    for epsilon in (0.0, 0.3, 2.0):
        delta = (p * np.maximum(-np.expm1(epsilon - values), 0)).sum()
        assert loss.delta(epsilon) == pytest.approx(delta, rel=1e-10)


def test_a_fractional_order_is_bounded_from_above() -> None:
    noise = DiscreteGaussian("0.5")
    p, values = enumerated(noise, 1)
    exact = log((p * np.exp(0.5 * values)).sum()) / 0.5
    assert exact < privacy_loss(noise).renyi("1.5") < exact * 1.05


def test_many_uses_of_a_gaussian_are_one_use_of_a_narrower_one() -> None:
    """Sums of Gaussian losses are Gaussian; for a wide sigma the integers hardly matter."""
    many = privacy_loss(DiscreteGaussian(100)).compose(25)
    one = privacy_loss(DiscreteGaussian(20))
    for epsilon in (0.05, 0.1, 0.2):
        assert many.delta(epsilon) == pytest.approx(one.delta(epsilon), rel=2e-3)
    assert many.zeta == pytest.approx(25 * privacy_loss(DiscreteGaussian(100)).zeta, rel=1e-12)
    assert many.renyi(8) == pytest.approx(8 * 25 / (2 * 100**2), rel=1e-12)


def test_the_buckets_of_a_wide_gaussian_dominate_it_closely() -> None:
    wide, narrow = DiscreteGaussian(10**6), DiscreteGaussian(10**4)
    for epsilon in (0.0, 0.5, 1.5):
        # The same shape, a hundred times finer.
        coarse = privacy_loss(narrow, sensitivity=10**4).delta(epsilon)
        fine = privacy_loss(wide, sensitivity=10**6).delta(epsilon)
        assert fine == pytest.approx(coarse, rel=3e-4)
    assert privacy_loss(wide, sensitivity=10**6).compose(3).epsilon_at("1e-6") == pytest.approx(
        privacy_loss(narrow, sensitivity=10**4).compose(3).epsilon_at("1e-6"), rel=1e-3
    )


@pytest.mark.parametrize("sigma", ["4681.14", "4682.1", "4682.2"])
def test_where_outcomes_begin_to_be_grouped_figures_hardly_change(sigma: str) -> None:
    """A last bucket of one outcome has no width; of those above 4681 the first has one."""
    grouped, listed = (privacy_loss(DiscreteGaussian(each), sensitivity=4681) for each in (sigma, "4681"))
    assert grouped.forward.parts[0][0].ranges is not None
    assert listed.forward.parts[0][0].ranges is None
    # No outcome up to the reach of 14 sigma is left out.
    steps, last = grouped.forward.parts[0][0].steps, ceil(14 * Fraction(sigma))
    assert steps is not None
    assert (steps[0], steps[-1]) == (4681 - 2 * last, 4681 + 2 * last)
    for epsilon in (0.0, 1.0, 3.0):
        assert grouped.delta(epsilon) == pytest.approx(listed.delta(epsilon), rel=5e-3)


@pytest.mark.parametrize("sigma", ["0.01", "3", "1e15"])
def test_a_shift_of_many_sigma_has_a_huge_loss_and_no_error(sigma: str) -> None:
    noise = DiscreteGaussian(sigma)
    shift = int(noise.sigma * 1000)
    loss, expected = privacy_loss(noise, sensitivity=shift), shift**2 / float(noise.sigma) ** 2
    assert loss.mean == pytest.approx(expected / 2, rel=1e-12)
    assert loss.zeta == pytest.approx(expected, rel=1e-9)
    assert loss.delta(1) == loss.compose(2).delta(1) == 1
    # At 4.75 sigma to the left, where 1e-6 of the noise lies.
    assert loss.epsilon_at("1e-6") == pytest.approx(expected / 2 + 4750, abs=100 + 5000 * (sigma == "0.01"))


def test_a_shift_beyond_all_sense_is_refused_with_a_way_out() -> None:
    with pytest.raises(InvalidParameter, match=r"at most 10000 times sigma, which is 3.*Stretch"):
        privacy_loss(DiscreteGaussian(3), sensitivity="1e9")


@pytest.mark.parametrize("d", [1, 3, 10])
def test_the_staircase_loses_exactly_epsilon_in_the_worst_case(d: int) -> None:
    noise = Staircase("0.7").stretched(d)
    k = np.arange(-80 * d, 80 * d)
    p, q = np.asarray(noise.pmf(k)), np.asarray(noise.pmf(k - d))
    loss = privacy_loss(noise, sensitivity=d)
    assert loss.worst == noise.epsilon
    assert loss.zeta == pytest.approx(log(np.maximum(p * p / q, q).sum()), rel=1e-9)
    for epsilon in (0.0, 0.2, 0.6):
        assert loss.delta(epsilon) == pytest.approx(np.maximum(p - exp(epsilon) * q, 0).sum(), rel=1e-9)


def test_the_staircase_at_other_shifts_equals_enumeration() -> None:
    noise = Staircase(1, "0.4").stretched(5)
    for shift in (1, 2, 4, 7, 13):
        k = np.arange(-400, 400)
        p, q = np.asarray(noise.pmf(k)), np.asarray(noise.pmf(k - shift))
        loss = privacy_loss(noise, sensitivity=shift)
        assert loss.delta("0.5") == pytest.approx(np.maximum(p - exp(0.5) * q, 0).sum(), rel=1e-9)
        assert loss.zeta == pytest.approx(log(np.maximum(p * p / q, q).sum()), rel=1e-9)


def test_for_counts_the_staircase_costs_what_the_geometric_costs() -> None:
    staircase, geometric = privacy_loss(Staircase(1)), privacy_loss(Geometric(1))
    assert staircase.epsilon == geometric.epsilon
    assert staircase.compose(10).epsilon_at("1e-6") == pytest.approx(geometric.compose(10).epsilon_at("1e-6"))


def test_truncated_noise_has_an_infinite_worst_case_and_a_finite_delta() -> None:
    loss = privacy_loss(TruncatedGeometric("0.3", 10))
    assert loss.epsilon == loss.zeta == loss.renyi(2) == inf
    assert loss.delta("0.3") == pytest.approx(0.0077, abs=5e-5)
    assert loss.delta("0.3") == pytest.approx(TruncatedGeometric("0.3", 10).pmf(10), rel=1e-9)
    real = privacy_loss(TruncatedLaplace(1, 3))
    assert real.epsilon == inf
    assert real.delta(1) == pytest.approx(TruncatedLaplace(1, 3).sf(2), rel=1e-6)


@pytest.mark.parametrize("sigma", ["6000", "20000.5", "2000000"])
def test_buckets_of_a_wide_gaussian_err_on_the_safe_side_and_hardly(sigma):
    """Masses never below the sums of their weights, mean places never above; both in 40 digits."""
    noise = DiscreteGaussian(sigma)
    size = int(float(sigma))
    width = -(-4 * 14 * size // _MOST_BUCKETS)
    first = np.array([-13 * size, -size, -(width // 2), 0, 5, size, 3 * size, 12 * size])
    end = first + width - 1
    found, places = _log_masses(noise, first, end), _mean_place(noise, first, end)
    with mpmath.workdps(40):
        scale = mpmath.mpf(sigma)
        for number, (low, high) in enumerate(zip(first.tolist(), end.tolist(), strict=True)):
            weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * scale**2)) for k in range(low, high + 1)]
            mass = mpmath.fsum(weights) / (scale * mpmath.sqrt(2 * mpmath.pi))
            mean = mpmath.fsum(j * w for j, w in enumerate(weights)) / mpmath.fsum(weights) / (width - 1)
            assert 0 <= mpmath.mpf(float(found[number])) - mpmath.log(mass) < 1e-10
            assert 0 <= mean - mpmath.mpf(float(places[number])) < 2e-8


def test_what_the_series_of_a_bucket_leaves_out_is_bounded_where_it_shows():
    """Buckets in use are so narrow that it drowns in rounding; these are wider. In 40 digits."""
    noise, width = DiscreteGaussian(2000), 41
    first = np.array([-24_000, -4_900, -2_000, -20, 0, 1_000, 2_000, 4_900, 10_000, 24_000])
    found, places = (way(noise, first, first + width - 1) for way in (_log_masses, _mean_place))
    with mpmath.workdps(40):
        for number, low in enumerate(first.tolist()):
            weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * 2000**2)) for k in range(low, low + width)]
            mass = mpmath.fsum(weights) / (2000 * mpmath.sqrt(2 * mpmath.pi))
            mean = mpmath.fsum(j * w for j, w in enumerate(weights)) / mpmath.fsum(weights) / (width - 1)
            assert 0 <= mpmath.mpf(float(found[number])) - mpmath.log(mass) < 1e-4
            assert 0 <= mean - mpmath.mpf(float(places[number])) < 1e-3


@pytest.mark.parametrize(("sigma", "uses"), [(6000, 10**4), (20_000, 10**6)])
def test_many_uses_of_a_wide_gaussian_cost_hardly_more_than_the_continuous_one(sigma, uses):
    epsilon = privacy_loss(DiscreteGaussian(sigma)).compose(uses).epsilon_at("1e-6")
    assert sigma * 0.999 < normal_sigma(epsilon, 1e-6, uses) <= sigma * (1 + 1e-9)


def test_a_staircase_steeper_than_floats_hold_has_finite_figures():
    loss = privacy_loss(Staircase("34.13"), sensitivity=1000).compose(2)
    assert loss.worst == 2000 * Fraction("34.13")
    assert 0 < loss.zeta <= loss.epsilon
    assert loss.charge().epsilon is not None
