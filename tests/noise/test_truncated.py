"""Truncated noise: correct as a distribution, and never releasable."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.noise import (
    Geometric,
    Laplace,
    PiecewiseLaplace,
    TruncatedGeometric,
    TruncatedLaplace,
    from_dict,
)


@pytest.mark.parametrize(("epsilon", "bound"), [(0.3, 10), (2, 1), (0.01, 500)])
def test_the_geometric_is_the_whole_one_given_its_bound(epsilon: float, bound: int) -> None:
    noise, whole = TruncatedGeometric(epsilon, bound), Geometric(epsilon)
    k = np.arange(-bound - 3, bound + 4)
    expected = np.where(np.abs(k) <= bound, whole.pmf(k), 0) / whole.within(bound)
    np.testing.assert_allclose(noise.pmf(k), expected, rtol=1e-12)
    np.testing.assert_allclose(noise.cdf(k), expected.cumsum(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(noise.sf(k), 1 - expected.cumsum(), rtol=1e-9, atol=1e-13)
    assert noise.within(bound) == 1.0
    assert noise.sf(bound) == 0.0
    assert noise.log_sf(bound) == -np.inf
    assert noise.tail_ball(bound + 1, 60) == 0
    assert noise.variance() == pytest.approx((k * k * expected).sum(), rel=1e-12)
    assert noise.mean_abs() == pytest.approx((np.abs(k) * expected).sum(), rel=1e-12)
    assert noise.quantile_abs(0.999999999999) <= bound


def test_draws_stay_inside_the_bound_and_reach_it() -> None:
    drawn = TruncatedGeometric(0.3, 4).sample(20000)
    assert sorted(set(drawn.tolist())) == list(range(-4, 5))
    wide = TruncatedLaplace(1, "2.5").sample(2000)
    assert np.abs(wide).max() <= 2.5


def test_the_laplace_is_the_whole_one_given_its_bound() -> None:
    noise, whole = TruncatedLaplace(0.7, 3), Laplace(0.7)
    x = np.array([-4, -3, -1.3, 0, 0.2, 2.9, 3, 8])
    share = whole.within(3)
    np.testing.assert_allclose(noise.pdf(x[2:-2]), np.asarray(whole.pdf(x[2:-2])) / share, rtol=1e-12)
    expected = np.clip((np.asarray(whole.cdf(x)) - whole.cdf(-3)) / share, 0, 1)
    np.testing.assert_allclose(noise.cdf(x), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(noise.sf(x), 1 - expected, rtol=1e-12, atol=1e-15)
    assert noise.pdf(4.0) == 0.0
    square = mpmath.quad(lambda t: t * t * mpmath.exp(-0.7 * t), [0, 3])
    square /= mpmath.quad(lambda t: mpmath.exp(-0.7 * t), [0, 3])
    assert noise.variance() == pytest.approx(float(square), rel=1e-12)
    assert noise.expect(lambda t: t * t) == pytest.approx(float(square), rel=1e-12)
    assert noise.quantile_abs(0.5) == pytest.approx(float(noise.ppf(0.75)), rel=1e-12)


@pytest.mark.parametrize("noise", [TruncatedGeometric(0.3, 10), TruncatedLaplace(0.7, "2.5")], ids=repr)
def test_ppf_ends_at_the_bound(noise: TruncatedGeometric | TruncatedLaplace) -> None:
    bound = float(noise.bound)
    assert noise.ppf([0, 5e-324, 0.5, 1]).tolist() == [-bound, -bound, 0, bound]
    assert np.isnan(noise.ppf([-0.1, 1.1])).all()


def test_no_release_may_use_them() -> None:
    assert not TruncatedGeometric(1, 5).releasable
    assert not TruncatedLaplace(1, 5).releasable
    assert Geometric(1).releasable


def test_they_survive_storage_and_pickling() -> None:
    for noise in (TruncatedGeometric(0.3, 10), TruncatedLaplace(0.3, "2.5")):
        assert from_dict(noise.to_dict()) == pickle.loads(pickle.dumps(noise)) == noise
        assert noise.stretched(2).within(2 * noise.bound) == 1.0


@pytest.mark.parametrize("bound", [0, -1, 2.5, float("nan"), True])
def test_the_bound_of_a_geometric_is_a_whole_number(bound: object) -> None:
    with pytest.raises(InvalidParameter, match="bound="):
        TruncatedGeometric(1, bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [TruncatedLaplace(1, 10), Laplace(1)])
def test_every_place_of_an_array_gets_a_draw_of_its_own(noise: TruncatedLaplace | PiecewiseLaplace) -> None:
    out = np.zeros((20, 5))
    assert noise.sample(out=out) is out
    assert len(np.unique(out)) > 90
    assert isinstance(noise.sample(), float)
