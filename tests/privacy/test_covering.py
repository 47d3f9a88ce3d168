"""A covering noise costs no more at its shift than the noise it stands for at 1, by plain sums."""

from __future__ import annotations

from math import exp

import mpmath
import numpy as np
import pytest
from flint import arb

import loss_oracle as oracle
from dovetail.noise import (
    DiscreteGaussian,
    Geometric,
    GeometricMixture,
    IntegerNoise,
    PiecewiseGeometric,
    Staircase,
)
from dovetail.privacy import ORDERS, privacy_loss
from dovetail.privacy.covering import _from_below, covering_noise, covers


def hockey_stick(noise: IntegerNoise, shift: int, epsilon: float) -> float:
    """Add up max(0, P - exp(epsilon)·Q) over everything that counts."""
    k = np.arange(-6000, 6000)
    return float(np.maximum(noise.pmf(k) - exp(epsilon) * np.asarray(noise.pmf(k + shift)), 0).sum())


NOISES = [
    Geometric("0.5"),
    GeometricMixture("0.2", 1, 5),
    GeometricMixture("0.1", "0.3", 3),
    GeometricMixture(1, "0.2", 2),
    PiecewiseGeometric(("0.05", "0.2", "0.4"), (3, 9)),
    DiscreteGaussian(3),
    Staircase(1),
]


@pytest.mark.parametrize("shift", [1, 2, 7, 40])
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_covering_noise_never_costs_more_at_any_epsilon(noise: IntegerNoise, shift: int) -> None:
    wide = covering_noise(noise, shift)
    for epsilon in np.linspace(-1.2, 1.2, 61):
        assert hockey_stick(wide, shift, epsilon) <= hockey_stick(noise, 1, epsilon) + 1e-12
    assert wide.variance() <= noise.stretched(max(2 * shift, shift + 2)).variance()


@pytest.mark.parametrize("shift", [2, 7, 40])
def test_a_gaussian_grows_by_hardly_more_than_the_shift(shift: int) -> None:
    noise = DiscreteGaussian(20)
    assert not covers(noise, noise.stretched(shift), shift)
    wide = covering_noise(noise, shift)
    assert isinstance(wide, DiscreteGaussian)
    assert shift < wide.sigma / 20 < shift * 1.002


@pytest.mark.parametrize("first", [1, 2, 700, 3000, 6000])
def test_what_a_plan_has_paid_is_never_overstated(first: int) -> None:
    """Of tens of thousands of losses, what is allowed for rounding exceeds the margin of the comparison."""
    noise = DiscreteGaussian(1000)
    atoms = privacy_loss(noise).forward.single
    assert atoms is not None
    epsilon = (2 * first - 1) / (2 * 1000**2)  # the loss at first - 1; the outputs beyond it lose more
    told = float(_from_below(atoms).least_deltas(np.array([epsilon]))[0])
    beyond, moved = noise.tail_ball(first, 300), noise.tail_ball(first + 1, 300)
    exact = float((beyond - arb(epsilon).exp() * moved).mid())
    assert exact * (1 - 1e-7) < told < exact


@pytest.mark.parametrize("sigma", [3000, 20_000, 10**9])
def test_a_wide_gaussian_is_covered_from_buckets(sigma: int) -> None:
    """The continuous Gaussian's delta lies between: (x, 1) and (x·shift, shift) have the same one."""
    from scipy.special import ndtr

    wide = covering_noise(DiscreteGaussian(sigma), 5)
    loss = privacy_loss(wide, sensitivity=5)
    for share in (0.0, 1.0, 3.0):
        epsilon = share / sigma
        normal = ndtr(-share + 0.5 / sigma) - exp(epsilon) * ndtr(-share - 0.5 / sigma)
        assert loss.delta(epsilon) < normal < loss.delta(epsilon) * 1.02


@pytest.mark.parametrize("shift", [2, 3, 10])
def test_small_shifts_are_covered_by_hardly_more_width(shift: int) -> None:
    """The design for ten answers at (1, 1e-6): whole stretches alone would make it half as wide again."""
    noise = PiecewiseGeometric(("0.0507", "0.1028", "0.1431"), (9, 22))
    wide = covering_noise(noise, shift)
    assert noise.std() * shift < wide.std() < noise.std() * shift * 1.005


def test_stretching_to_the_sensitivity_alone_is_not_always_enough() -> None:
    noise = GeometricMixture("0.2", 1, 5)
    wide = noise.stretched(40)
    assert hockey_stick(wide, 40, 0.2) > hockey_stick(noise, 1, 0.2)
    assert not covers(noise, wide, 40)
    assert wide.variance() < covering_noise(noise, 40).variance() < noise.stretched(42).variance()
    assert covering_noise(Geometric("0.5"), 99_999) == Geometric("0.5").stretched(99_999)


@pytest.mark.parametrize(
    ("rates", "breaks", "shift"),
    [(("1.75", "2.6", 6), (22, 27), 5), (("1.55", "1.85", "4.5"), (23, 25), 8), ((2, "2.5", 8), (20, 39), 2)],
)
def test_a_cover_holds_at_losses_rarer_than_any_float_notices(
    rates: tuple[object, ...], breaks: tuple[int, ...], shift: int
) -> None:
    noise = PiecewiseGeometric(rates, breaks)
    with mpmath.workdps(oracle.DIGITS):
        base = oracle.loss_atoms(noise, 1)

        def dearer(wide: IntegerNoise) -> bool:
            listed = oracle.loss_atoms(wide, shift)
            return any(oracle.delta(listed, knot) > oracle.delta(base, knot) for knot in base if knot >= 0)

        assert dearer(noise.stretched(shift + 1))
        assert not dearer(covering_noise(noise, shift))


def test_a_gaussian_covers_wide_shifts_as_far_out_as_a_delta_is_counted() -> None:
    noise, shift = DiscreteGaussian(3), 20
    wide = privacy_loss(covering_noise(noise, shift), sensitivity=shift)
    paid = privacy_loss(noise)
    for epsilon in range(16):
        assert wide.delta(epsilon / 4) <= paid.delta(epsilon / 4)
    assert paid.delta(4) < 1e-23


@pytest.mark.parametrize("shift", [1, 2, 7, 50])
def test_a_stretched_gaussian_keeps_its_renyi_figures_at_whole_orders(shift: int) -> None:
    sigma = 3
    wide = privacy_loss(DiscreteGaussian(sigma).stretched(shift), sensitivity=shift)
    for order in ORDERS:
        assert wide.renyi(order) == pytest.approx(order / (2 * sigma**2), rel=1e-9)


@pytest.mark.parametrize(
    ("noise", "shift", "excess"),
    [
        (DiscreteGaussian(20), 2, 0.001),
        (DiscreteGaussian(1), 2, 0.10),
        (DiscreteGaussian("0.5"), 3, 0.57),
        (Geometric("0.3"), 100, 0.004),
        (Geometric(1), 100, 0.04),
        (Geometric(2), 100, 0.18),
        (GeometricMixture("0.2", 1, 5), 2, 0.08),
        (GeometricMixture("0.2", 1, 5), 5, 0.03),
        (GeometricMixture("0.1", 2, 3), 2, 0.13),
        (GeometricMixture("0.1", 2, 3), 5, 0.04),
    ],
)
def test_the_decision_on_stretching_states_what_it_costs(
    noise: IntegerNoise, shift: int, excess: float
) -> None:
    wide = covering_noise(noise, shift)
    found = (wide.variance() / noise.variance()) ** 0.5 / shift - 1
    # To the digits that are printed.
    assert found == pytest.approx(excess, rel=0.15)


@pytest.mark.parametrize("noise", [Geometric(1), DiscreteGaussian(3)])
def test_a_noise_covers_itself_and_nothing_narrower(noise: IntegerNoise) -> None:
    assert covers(noise, noise, 1)
    assert not covers(noise, noise, 2)
