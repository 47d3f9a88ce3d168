"""Statistics for samples: do they follow the noise, and how much privacy do they prove to be lost?"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from dovetail.check import probability
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise

# Cells that expect fewer draws than this are pooled, so that the chi-square law is close.
_LEAST_EXPECTED = 25.0
_MOST_CELLS = 1000


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound of epsilon, and the event that proves it: the noise is at least (or most) `threshold`."""

    epsilon: float
    threshold: int


def goodness_of_fit(noise: IntegerNoise, draws: NDArray[np.int64]) -> float:
    """Return the p-value of a chi-square test of draws against the probabilities of the noise.

    >>> from dovetail.noise import Geometric
    >>> goodness_of_fit(Geometric(1), Geometric(1).sample(10_000)) > 1e-9
    True
    """
    from scipy.stats import chi2

    values = _checked(draws)
    edges = _edges(noise, values.size)
    # Cells: up to edges[0], then up to each next edge, then what lies beyond the last.
    left = np.array([float(noise.cdf(int(edge))) for edge in edges])
    right = np.array([float(noise.sf(int(edge))) for edge in edges])
    shares = np.concatenate(([left[0]], _between(left, right), [right[-1]]))
    counts = np.bincount(np.searchsorted(edges, values, side="left"), minlength=edges.size + 1)
    expected = shares * values.size
    statistic = float((((counts - expected) ** 2) / expected).sum())
    return float(chi2.sf(statistic, df=edges.size))


def _between(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(edge < Y <= next edge) from whichever tail loses less to cancellation."""
    return np.where(left[1:] < 0.5, np.diff(left), -np.diff(right))


def _edges(noise: IntegerNoise, count: int) -> NDArray[np.int64]:
    """Return upper ends of cells of about equal probability, each with enough draws."""
    cells = int(min(_MOST_CELLS, count / _LEAST_EXPECTED))
    if cells < 3:
        raise InvalidParameter("draws", f"{count} draws", "more draws", "Draw at least a thousand.")
    inner = noise.ppf(np.arange(1, cells) / cells)
    # Single values far out tell a wrong tail; they get cells of their own as long as they are expected.
    outer = noise.ppf(np.geomspace(_LEAST_EXPECTED / count, 1 / cells, 30))
    both = np.concatenate((inner, outer, -np.asarray(outer) - 1))
    return np.unique(both.astype(np.int64))


def least_epsilon(noise: IntegerNoise, draws: NDArray[np.int64], *, false_alarm: float = 1e-9) -> Bound:
    """Return an epsilon that draws of the noise prove to be lost between neighbouring counts.

    It compares P(Y >= t) with P(Y >= t + 1), and the mirror image, at several t by exact binomial
    (Clopper-Pearson) bounds. With probability 1 - `false_alarm` it is not above the true loss.

    >>> from dovetail.noise import Geometric
    >>> least_epsilon(Geometric(1), Geometric(1).sample(10_000)).epsilon < 1
    True
    """
    from scipy.stats import beta

    values = np.sort(_checked(draws))
    level = float(probability("false_alarm", false_alarm))
    points = np.unique(np.abs(noise.ppf(np.geomspace(2e-6, 0.5, 40)))).astype(np.int64)
    thresholds = np.concatenate((points, -points))
    alpha = level / (4 * thresholds.size)
    size = values.size
    best = Bound(0.0, 0)
    for t in thresholds.tolist():
        reached = size - int(np.searchsorted(values, t, side="left"))
        passed = size - int(np.searchsorted(values, t + 1, side="left"))
        # Once for values at least t against t + 1, once for values at most t against t - 1 (mirrored).
        for more, fewer in ((reached, passed), (size - passed, size - reached)):
            low = float(beta.ppf(alpha, more, size - more + 1)) if more else 0.0
            high = float(beta.isf(alpha, fewer + 1, size - fewer)) if fewer < size else 1.0
            if low > 0 and log(low / high) > best.epsilon:
                best = Bound(log(low / high), t)
    return best


def _checked(draws: NDArray[np.int64]) -> NDArray[np.int64]:
    values = np.asarray(draws)
    if values.ndim != 1 or values.dtype != np.int64:
        raise InvalidParameter("draws", values.dtype, "a flat array of int64", "Draw them from the noise.")
    return values
