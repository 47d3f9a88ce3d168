"""The error of a count whose negative noisy answers are set to zero, exactly and from samples alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import dovetail as dv

Floats = NDArray[np.float64]

# Every mechanism here leaves ±400 with a chance below 1e-40.
REACH = 400
SUPPORT = np.arange(-REACH, REACH + 1)


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """The distribution of |answer - true count|: `shares[e]` is the probability of an error of e."""

    count: int
    shares: Floats

    def cdf(self) -> Floats:
        """Return P(error <= 0), P(error <= 1), ..."""
        return np.cumsum(self.shares)

    def within(self, bound: int) -> float:
        """Return P(error <= bound). Paper: the third metric of section IV-B."""
        return float(self.shares[: bound + 1].sum())

    def beyond(self, bound: int) -> float:
        """Return E(error; error > bound) / true count. Paper: the second metric of section IV-B."""
        sizes = np.arange(bound + 1, len(self.shares))
        return float(sizes @ self.shares[bound + 1 :]) / self.count


def noise_shares(noise: dv.noise.IntegerNoise) -> Floats:
    """Return P(Y = y) for y in `SUPPORT`."""
    return np.asarray(noise.pmf(SUPPORT), dtype=np.float64)


def summed(places: NDArray[np.int64], weights: Floats, length: int) -> Floats:
    """Return the total weight that falls on each of the places 0 to length - 1."""
    return np.asarray(np.bincount(places, weights=weights, minlength=length), dtype=np.float64)


def clamped(shares: Floats, count: int) -> ErrorLaw:
    """Return the law of the error at one true count from the law of the noise on `SUPPORT`.

    >>> law = clamped(noise_shares(dv.Geometric(1)), count=2)
    >>> round(law.within(2), 4)
    0.9636
    """
    errors = np.abs(np.maximum(SUPPORT, -count))
    return ErrorLaw(count, summed(errors, shares, REACH + 1))


def pooled(laws: list[ErrorLaw]) -> Floats:
    """Return P(error <= 0), P(error <= 1), ... over several true counts, each as frequent as the others."""
    return np.asarray(np.mean([law.cdf() for law in laws], axis=0))


def smallest_bound(cdf: Floats, level: float) -> int:
    """Return the least error bound that holds with probability `level`."""
    return int(np.searchsorted(cdf, level))
