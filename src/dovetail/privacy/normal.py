"""The continuous Gaussian, which many small losses tend to: where a search for a scale begins."""

from __future__ import annotations

from math import expm1, log, sqrt

from dovetail.exact.bisection import bracket


def normal_sigma(epsilon: float, delta: float, uses: int) -> float:
    """Return the sigma of the continuous Gaussian for a shift of 1, by its exact delta in floats."""
    from scipy.special import log_ndtr

    def excess(sigma: float) -> float:
        mu = sqrt(uses) / sigma
        low, high = log_ndtr(-epsilon / mu + mu / 2), epsilon + log_ndtr(-epsilon / mu - mu / 2)
        return float(low + log(max(-expm1(high - low), 1e-300))) - log(delta)

    root = sqrt(uses)
    return bracket(root * 1e-3, root * 1e9, lambda sigma: excess(sigma) <= 0, by_ratio=True)[1]
