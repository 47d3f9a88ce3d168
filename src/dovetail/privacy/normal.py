"""The continuous Gaussian, which many small losses tend to: where a search for a scale begins."""

from __future__ import annotations

from math import erfc, expm1, log, pi, sqrt

from dovetail.exact.bisection import bracket


def normal_sigma(epsilon: float, delta: float, uses: int) -> float:
    """Return the sigma of the continuous Gaussian for a shift of 1, by its exact delta in floats."""

    def enough(sigma: float) -> bool:
        mu = sqrt(uses) / sigma
        low, high = _log_normal(-epsilon / mu + mu / 2), epsilon + _log_normal(-epsilon / mu - mu / 2)
        # Rounding of large numbers must not put the smaller part above the larger one.
        return low + log(max(-expm1(min(high - low, 0.0)), 1e-300)) <= log(delta)

    root = sqrt(uses)
    return bracket(root * 1e-3, root * 1e9, enough, by_ratio=True)[1]


def _log_normal(x: float) -> float:
    """Return ln of the normal distribution function."""
    if x > -30:
        return log(erfc(-x / sqrt(2)) / 2)
    return -x * x / 2 - log(-x) - log(2 * pi) / 2 - 1 / x**2
