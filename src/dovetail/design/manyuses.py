"""delta(epsilon) of many uses in floats, with its derivatives: what the search turns on.

The loss of one use takes the values ±rate. They are put on a fine grid, tilted towards epsilon and convolved
by one Fourier transform; the derivatives come from a second one. No bound is kept: the result is checked by
exact means.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LARGEST_TILT = 600.0


@dataclass(frozen=True, slots=True, eq=False)
class Delta:
    """ln delta at an epsilon, and its derivatives by the values and masses of the loss, and by epsilon."""

    log: float
    by_values: Floats
    by_masses: Floats
    by_epsilon: float


def log_delta(values: Floats, masses: Floats, uses: int, epsilon: float, grid: float) -> Delta:
    """Return ln delta(epsilon) of `uses` independent losses; `grid` is the spacing of the grid."""
    tilt = _tilt(values, masses, epsilon / uses)
    weights = masses * np.exp(tilt * values)
    scale = float(weights.sum())
    weights = weights / scale
    mean = float((weights * values).sum())
    spread = sqrt(max(float((weights * (values - mean) ** 2).sum()), 1e-300) * uses)
    low = max(uses * float(values.min()), uses * mean - 12 * spread - 4 * grid)
    high = min(uses * float(values.max()), uses * mean + 12 * spread + 4 * grid)
    first = int(low // grid) - uses if low == uses * values.min() else int(low // grid)
    last = ceil(high / grid) + (uses if high == uses * values.max() else 1)
    size = 1 << max(last - first + 1, 8).bit_length()

    # Connect the dots: each value becomes its two neighbours on the grid, with the same mass under P and Q.
    above = np.ceil(values / grid)
    gap = above * grid - values
    share = np.expm1(gap) / np.expm1(grid)
    places = above.astype(np.int64)
    ends = np.concatenate([places - 1, places])
    lift = np.exp(tilt * (ends * grid - np.concatenate([values, values])))
    parts = np.concatenate([weights * share, weights * (1 - share)]) * lift
    vector = np.bincount(ends % size, parts, size)

    steps = first + np.arange(size)
    sums = steps * grid
    kernel = np.zeros(size)
    above_epsilon = sums > epsilon
    sums = sums[above_epsilon]
    offset = tilt * epsilon
    kernel[steps[above_epsilon] % size] = -np.expm1(epsilon - sums) * np.exp(-(tilt * sums - offset))

    one, k = np.fft.rfft(vector), np.fft.rfft(kernel)
    rest = one ** (uses - 1)
    reply = np.fft.irfft(np.conj(rest) * k, size)
    total = max(float((vector * reply).sum()), 1e-300)
    at = reply[ends % size]
    low_end, high_end = at[: len(values)] * lift[: len(values)], at[len(values) :] * lift[len(values) :]
    growth = np.exp(tilt * values) / scale
    by_masses = uses / total * growth * (share * low_end + (1 - share) * high_end)
    # share = expm1(gap)/expm1(grid) moves with the value; the ends stay, so the tilts at them do too.
    by_share = uses / total * weights * (low_end - high_end)
    by_values = by_share * -np.exp(gap) / np.expm1(grid)
    log_total = log(total) + uses * log(scale) - offset
    # delta falls by the Q-mass above epsilon: the kernel with exp(epsilon - sum) instead of 1 - that.
    falls = np.exp(epsilon - sums) * np.exp(-(tilt * sums - offset))
    mass = float((np.fft.irfft(one * rest, size)[steps[above_epsilon] % size] * falls).sum())
    return Delta(log_total, by_values, by_masses, -mass / total)


def _tilt(values: Floats, masses: Floats, goal: float) -> float:
    """Return the tilt that brings the mean of one loss to `goal`, within limits."""
    top = float(values.max())
    if goal >= top:
        return _LARGEST_TILT / top / 4
    low, high = 0.0, _LARGEST_TILT / top
    for _ in range(50):
        middle = (low + high) / 2
        weights = masses * np.exp(middle * (values - top))
        mean = float((weights * values).sum() / weights.sum())
        low, high = (middle, high) if mean < goal else (low, middle)
    return (low + high) / 2


def one_delta(values: Floats, masses: Floats, epsilon: float) -> Delta:
    """Return ln delta(epsilon) of a single use."""
    beyond = values > epsilon
    parts = np.where(beyond, -np.expm1(np.minimum(epsilon - values, 0)), 0.0)
    total = max(float((masses * parts).sum()), exp(-700))
    tail = np.where(beyond, masses * np.exp(np.minimum(epsilon - values, 0)), 0.0)
    return Delta(log(total), tail / total, parts / total, -float(tail.sum()) / total)
