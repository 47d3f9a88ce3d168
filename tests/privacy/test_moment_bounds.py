"""From Rényi divergences to delta and back, against Gaussians whose figures are known."""

from __future__ import annotations

from math import erfc, exp, log, sqrt

import pytest

from dovetail.privacy.moment_bounds import MomentBounds


def gaussian_delta(sigma: float, epsilon: float) -> float:
    def upper(x: float) -> float:
        return erfc(x / sqrt(2)) / 2

    return upper(epsilon * sigma - 1 / (2 * sigma)) - exp(epsilon) * upper(epsilon * sigma + 1 / (2 * sigma))


@pytest.mark.parametrize("sigma", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_bounds_hold_and_are_not_far(sigma: float, delta: float) -> None:
    bounds = MomentBounds.of(lambda order: order / (2 * sigma**2))
    epsilon = bounds.epsilon(delta)
    assert bounds.delta(epsilon) <= delta
    exact = gaussian_delta(sigma, epsilon)
    assert delta / 60 < exact <= delta


def test_an_order_between_two_that_are_looked_at_gains_next_to_nothing() -> None:
    bounds = MomentBounds.of(lambda order: order / 50)
    fine = min(
        a / 50 + ((a - 1) * log(1 - 1 / a) - log(a) - log(1e-6)) / (a - 1)
        for a in (2 + k / 100 for k in range(10000))
    )
    assert fine <= bounds.epsilon(1e-6) <= fine * 1.001


def test_infinite_orders_are_passed_over() -> None:
    bounds = MomentBounds.of(lambda order: 0.1 if order < 3 else float("inf"))
    assert 0 < bounds.delta(1.0) < 1
