"""Bound the chance that honest samples stray as far from the exact distribution as ours do.

These are inequalities, not approximations: an honest sampler gives a value under 1e-9 at most once in 10^9
comparisons, at every sample size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_chance(observed: float, strata: Sequence[tuple[Floats, Floats]], each: int) -> float:
    """Bound P(the sample mean strays from its expectation as far as `observed`), by Chernoff.

    A stratum is (values, probabilities); `each` independent draws are made from every one.

    >>> coin = (np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> mean_chance(0.5, [coin], 1000)
    1.0
    >>> mean_chance(0.6, [coin], 1000) < 1e-8
    True
    """
    means = np.array([values @ shares for values, shares in strata])
    spread = np.mean(
        [shares @ (values - mean) ** 2 for (values, shares), mean in zip(strata, means, strict=True)]
    )
    distance = observed - float(means.mean())
    if distance == 0.0 or spread == 0.0:
        return 1.0 if distance == 0.0 else 0.0
    # Any tilt gives a valid bound; this one is the best for nearly normal means.
    tilt = distance / spread
    exponent = len(strata) * tilt * observed - sum(_log_moment(tilt, *stratum) for stratum in strata)
    return min(1.0, 2 * exp(-max(0.0, each * exponent)))


def _log_moment(tilt: float, values: Floats, shares: Floats) -> float:
    present = shares > 0
    return float(np.logaddexp.reduce(np.log(shares[present]) + tilt * values[present]))


def share_chance(observed: float, shares: Sequence[float], each: int) -> float:
    """Bound the same for the frequency of an event that has these probabilities in the strata."""
    values = np.array([0.0, 1.0])
    return mean_chance(observed, [(values, np.array([1 - share, share])) for share in shares], each)


def cdf_chance(empirical: Floats, exact: Floats, draws: int) -> float:
    """Bound the same for the largest gap between two CDFs (Dvoretzky, Kiefer, Wolfowitz and Massart).

    >>> cdf_chance(np.array([0.5, 1.0]), np.array([0.5, 1.0]), 100)
    1.0
    """
    gap = float(np.abs(empirical - exact).max())
    return min(1.0, exp(log(2) - 2 * draws * gap**2))
