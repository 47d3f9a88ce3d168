"""The staircase against enumeration; for counts it is the geometric noise."""

from __future__ import annotations

import pickle
from math import exp

import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, Staircase, StaircaseNoise, from_dict

CASES = [
    Staircase(0.5).stretched(7),
    Staircase(2, 0.3).stretched(10),
    Staircase(1, 1).stretched(3),
    Staircase(3),
]


def enumerated(noise: StaircaseNoise) -> np.ndarray:
    """P(Y = k) for k = 0, 1, … from the definition alone."""
    sizes = np.arange(200 * noise.sensitivity)
    level = sizes // noise.sensitivity + (sizes % noise.sensitivity >= noise.first)
    weights = np.exp(-float(noise.epsilon) * level)
    return weights / (2 * weights.sum() - weights[0])


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_for_counts_it_equals_the_geometric_noise(epsilon: str) -> None:
    staircase, geometric = Staircase(epsilon, 0.4), Geometric(epsilon)
    k = np.arange(-30, 31)
    np.testing.assert_allclose(staircase.pmf(k), geometric.pmf(k), rtol=1e-13)
    np.testing.assert_allclose(staircase.sf(k), geometric.sf(k), rtol=1e-13)
    assert staircase.variance() == geometric.variance()
    assert staircase.mean_abs() == geometric.mean_abs()
    assert staircase.entropy() == pytest.approx(geometric.entropy(), rel=1e-15)
    assert staircase.runs == geometric.runs
    assert staircase.tail_ball(5, 100).overlaps(geometric.tail_ball(5, 100))


@pytest.mark.parametrize("noise", CASES, ids=repr)
def test_probabilities_moments_and_tails_equal_the_enumerated_ones(noise: StaircaseNoise) -> None:
    p = enumerated(noise)
    k = np.arange(len(p))
    near = k[: 10 * noise.sensitivity]
    np.testing.assert_allclose(noise.pmf(near), p[near], rtol=1e-12)
    tails = p[::-1].cumsum()[::-1]
    np.testing.assert_allclose(noise.sf(near), tails[near + 1], rtol=1e-12)
    assert float(noise.tail_ball(13, 60).mid()) == pytest.approx(tails[13], rel=1e-12)
    np.testing.assert_allclose(noise.within(near), 1 - 2 * tails[near + 1], rtol=1e-11)
    assert noise.mean_abs() == pytest.approx(2 * (k * p).sum(), rel=1e-12)
    assert noise.variance() == pytest.approx(2 * (k * k * p).sum(), rel=1e-12)
    both = np.concatenate([p, p[1:]])
    assert noise.entropy() == pytest.approx(-(both[both > 0] * np.log(both[both > 0])).sum(), rel=1e-11)
    probabilities = np.array([1e-9, 1e-3, 0.2, 0.5, 0.7, 0.999])
    points = np.asarray(noise.ppf(probabilities))
    assert np.all(np.asarray(noise.cdf(points)) >= probabilities)
    assert np.all(np.asarray(noise.cdf(points - 1)) < probabilities)


@pytest.mark.parametrize("noise", CASES, ids=repr)
def test_a_shift_within_the_sensitivity_never_costs_more_than_epsilon(noise: StaircaseNoise) -> None:
    k = np.arange(-20 * noise.sensitivity, 20 * noise.sensitivity)
    for shift in range(1, noise.sensitivity + 1):
        loss = np.abs(np.asarray(noise.log_pmf(k)) - np.asarray(noise.log_pmf(k - shift)))
        assert loss.max() <= float(noise.epsilon) + 1e-12


@pytest.mark.parametrize(("epsilon", "d"), [(0.5, 20), (2, 20), (5, 50)])
def test_the_step_left_open_is_the_best_for_the_mean_error(epsilon: float, d: int) -> None:
    chosen = Staircase(epsilon).stretched(d)
    others = [Staircase(epsilon, gamma=f"{first}/{d}").stretched(d) for first in range(1, d + 1)]
    assert chosen.mean_abs() == min(other.mean_abs() for other in others)
    assert chosen.mean_abs() < Geometric(epsilon).stretched(d).mean_abs()


def test_a_noise_survives_storage_and_pickling() -> None:
    for noise in CASES:
        assert from_dict(noise.to_dict()) == pickle.loads(pickle.dumps(noise)) == noise
    assert repr(CASES[1]) == "Staircase(epsilon=2, gamma='0.3').stretched(10)"


def test_a_share_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"gamma=1\.5"):
        Staircase(1, 1.5)


def test_rejection_turns_the_proposal_into_the_staircase() -> None:
    noise = Staircase(2, 0.3).stretched(10)
    k = np.arange(0, 60)
    assert all(noise.rejection_exponent(int(i)) >= 0 for i in k)
    kept = np.asarray(noise.proposal.log_pmf(k)) - np.array(
        [float(noise.rejection_exponent(int(i))) for i in k]
    )
    ratio = kept - np.asarray(noise.log_pmf(k))
    np.testing.assert_allclose(ratio, ratio[0], atol=1e-12)
    assert exp(ratio[0]) > exp(-2)
