"""The quick formulas of the search against the exact ones."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.designer.composition_floats import log_delta, zeta_of
from dovetail.designer.optimisation import Layout, delta_within, joint_zeta, smooth
from dovetail.designer.piecewise_floats import Profile
from dovetail.noise import PiecewiseGeometric
from dovetail.privacy import privacy_loss

RATES, BREAKS = ("0.05", "0.11", "0.14"), (9, 22)
NOISE = PiecewiseGeometric(RATES, BREAKS)
PROFILE = Profile(np.array([float(rate) for rate in RATES]), np.array([0.0, *BREAKS]))


def atoms(profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    masses = profile.masses()
    values = np.concatenate([profile.rates, -profile.rates])
    return values, np.concatenate([masses, masses * np.exp(-profile.rates)])


def test_the_profile_agrees_with_the_exact_noise() -> None:
    assert float(PROFILE.moment(2)) == pytest.approx(NOISE.variance(), rel=1e-12)
    assert float(PROFILE.moment(1)) == pytest.approx(NOISE.mean_abs(), rel=1e-12)
    for t in (0, 5, 8, 9, 30):
        assert float(PROFILE.outside(t)) == pytest.approx(2 * float(NOISE.sf(t)), rel=1e-12)
    assert float(PROFILE.zeta()) == pytest.approx(privacy_loss(NOISE).zeta, rel=1e-12)


@pytest.mark.parametrize(("uses", "epsilon"), [(2, 0.2), (10, 0.5), (10, 1.2), (300, 5.0)])
def test_the_quick_delta_agrees_with_the_exact_one(uses: int, epsilon: float) -> None:
    quick = log_delta(*atoms(PROFILE), uses, epsilon, 0.01)
    assert np.exp(quick.log) == pytest.approx(privacy_loss(NOISE).compose(uses).delta(str(epsilon)), rel=1e-7)


def test_the_quick_delta_of_one_use_agrees_with_the_exact_one() -> None:
    quick = log_delta(*atoms(PROFILE), 1, 0.12, 0.01)
    assert np.exp(quick.log) == pytest.approx(privacy_loss(NOISE).delta("0.12"), rel=1e-12)


@pytest.mark.parametrize("uses", [2, 10, 300])
def test_the_quick_zeta_agrees_with_the_exact_one(uses: int) -> None:
    quick = zeta_of(*atoms(PROFILE), uses, 0.01)
    assert np.exp(quick.log) == pytest.approx(privacy_loss(NOISE).compose(uses).zeta, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.8, None])
def test_the_gradients_are_those_of_differences(epsilon: float | None) -> None:
    layout = Layout(3, with_epsilon=epsilon is None, grid=0.14 / 50.3)
    point = layout.point(PROFILE.rates, PROFILE.starts[1:], 0.8)
    accuracy = smooth(lambda profile: profile.outside(12.0), 0.1)
    for term in (delta_within(1e-6, 10, epsilon), joint_zeta(1), joint_zeta(10, 0.5), accuracy):
        gradient = term(layout, point)[1]
        for axis in range(len(point)):
            step = np.eye(len(point))[axis] * 1e-6
            slope = (term(layout, point + step)[0] - term(layout, point - step)[0]) / 2e-6
            assert gradient[axis] == pytest.approx(slope, rel=1e-4, abs=1e-6)
