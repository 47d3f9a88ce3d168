"""Errors of counts whose negative answers are set to zero."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dv
from dovetail.paper.clamped import REACH, clamped, noise_shares, pooled, smallest_bound


@pytest.mark.parametrize("count", [1, 3, 10])
def test_the_law_of_the_error_is_the_enumerated_one(count: int) -> None:
    noise = dv.GeometricMixture("1/5", 1, 5)
    shares = np.zeros(REACH + 1)
    for y in range(-REACH, REACH + 1):
        answer = max(count + y, 0)
        shares[abs(answer - count)] += noise.pmf(y)
    law = clamped(noise_shares(noise), count)
    np.testing.assert_allclose(law.shares, shares, rtol=1e-12, atol=0)
    assert law.beyond(5) == pytest.approx(sum(e * p for e, p in enumerate(shares) if e > 5) / count)


def test_a_large_count_has_the_error_of_the_noise_itself() -> None:
    noise = dv.LaplaceMixture("1/5", 1, 5).rounded()
    law = clamped(noise_shares(noise), 1000)
    np.testing.assert_allclose(law.cdf()[:50], noise.within(np.arange(50)), rtol=1e-12)


def test_clamping_only_ever_helps() -> None:
    noise = noise_shares(dv.Geometric("0.328"))
    shares = [clamped(noise, count).within(5) for count in (1, 3, 10, 50)]
    assert shares == sorted(shares, reverse=True)


def test_the_smallest_bound_is_the_quantile_of_the_error() -> None:
    noise = dv.Geometric("0.328")
    assert smallest_bound(pooled([clamped(noise_shares(noise), 1000)]), 0.995) == noise.quantile_abs("0.995")
