"""The quick formulas of the search against the exact ones."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.designer.composition_floats import log_delta, zeta_of
from dovetail.designer.optimisation import Layout, delta_within, joint_zeta, smooth
from dovetail.designer.piecewise_floats import Profile, complex_steps, slopes
from dovetail.designer.shapes import SHAPES
from dovetail.noise import PiecewiseGeometric
from dovetail.privacy import privacy_loss

RATES, BREAKS = ("0.05", "0.11", "0.14"), (9, 22)
NOISE = PiecewiseGeometric(RATES, BREAKS)
PROFILE = Profile(np.array([float(rate) for rate in RATES]), np.array([0.0, *BREAKS]))
PUBLISHED = {1: 2.0, 2: 1.168, 3: 1.071, 4: 1.040, 5: 1.026, 6: 1.018, 7: 1.013, 8: 1.010}


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


def information(profile: Profile) -> np.ndarray:
    """Return the Fisher information in the limit of small rates: the mean of rate²."""
    masses = profile.masses()
    return np.asarray((masses * profile.rates**2).sum(axis=-1) / masses.sum(axis=-1))


@pytest.mark.parametrize("pieces", sorted(SHAPES))
def test_the_stored_shapes_have_the_published_information_and_are_local_minima(pieces: int) -> None:
    rates, breaks = SHAPES[pieces]
    small = 1e-4

    def product(rates: np.ndarray, starts: np.ndarray) -> np.ndarray:
        profile = Profile(rates, starts)
        return np.asarray(np.log(information(profile) * profile.moment(2)))

    base_rates, base_starts = np.array(rates) * small, np.array([0.0, *breaks]) / small
    assert np.exp(product(base_rates, base_starts)) == pytest.approx(PUBLISHED[pieces], abs=6e-4)
    logs = np.concatenate([np.log(base_rates), np.log(base_starts[1:])])
    varied = np.exp(complex_steps(logs))
    starts = np.concatenate([np.zeros((len(logs), 1)), varied[:, pieces:]], axis=1)
    assert np.abs(slopes(product(varied[:, :pieces], starts))).max() < 1e-3


@pytest.mark.slow
def test_the_stored_shapes_are_found_again() -> None:
    from scipy.optimize import minimize

    small = 1e-4
    for pieces, expected in PUBLISHED.items():
        layout = Layout(pieces)
        edges = np.linspace(0, 2.6, pieces + 1)
        rates = np.maximum((edges[:-1] + edges[1:]) / 2, 0.2) * small
        start = layout.point(rates, edges[1:-1] / small)

        def product(point: np.ndarray, layout: Layout = layout) -> tuple[float, np.ndarray]:
            profile = layout.profile(complex_steps(point))
            values = np.log(information(profile) * profile.moment(2))
            return float(values[0].real), slopes(values)

        found = minimize(product, start, jac=True, method="BFGS", options={"gtol": 1e-7})
        assert np.exp(found.fun) == pytest.approx(expected, abs=6e-4)
