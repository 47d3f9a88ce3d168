"""The continuous Gaussian's sigma against another library's normal distribution."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest
from scipy.special import log_ndtr, ndtr

from dovetail.privacy.normal import _log_normal, normal_sigma


@pytest.mark.parametrize("x", [-300.0, -31, -29, -5, -0.1, 0, 3])
def test_the_log_of_the_normal_distribution_is_scipys(x: float) -> None:
    assert _log_normal(x) == pytest.approx(float(log_ndtr(x)), rel=2e-6)


@pytest.mark.parametrize(("epsilon", "delta", "uses"), [(1, 1e-6, 1), (0.1, 1e-9, 1000), (3, 1e-3, 10)])
def test_the_sigma_just_keeps_the_budget(epsilon: float, delta: float, uses: int) -> None:
    mu = sqrt(uses) / normal_sigma(epsilon, delta, uses)
    found = ndtr(-epsilon / mu + mu / 2) - exp(epsilon) * ndtr(-epsilon / mu - mu / 2)
    assert log(found) == pytest.approx(log(delta), abs=1e-5)
