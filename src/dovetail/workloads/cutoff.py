"""A noise cut off far out: masses, and an upper bound of its cumulant generating function.

The chance of what is cut off is known, so a bound on the cut noise is one on the noise itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail.noise import DiscreteGaussian, IntegerNoise

Floats: TypeAlias = NDArray[np.float64]

# The chance of one noise beyond its cut: nothing, even for ten million of them.
_BEYOND = 1e-25
_BINS = 2048
_WIDE = 8
# Where the cumulant generating function is known, in units of 1/std; noise that is nearly always 0 has a tiny
# std, and what matters there are orders of about 1 to 100.
_FIRST, _LAST, _POINTS = 1e-4, 16.0, 400
_LARGEST_ORDER = 700.0
LEAST_VARIANCE = 1e-280


@dataclass(frozen=True, slots=True, eq=False)
class CutNoise:
    """A noise within `reach` of 0; `missing` bounds the chance to be beyond."""

    noise: IntegerNoise
    reach: int
    missing: float
    orders: Floats
    cumulants: Floats

    def cumulant(self, order: Floats) -> Floats:
        """Return an upper bound of ln E exp(order·Y), order >= 0: chords of a convex function."""
        return np.interp(order, self.orders, self.cumulants, right=inf)

    def masses(self) -> Floats:
        """Return P(Y = k) for k from 0 to reach."""
        return np.asarray(self.noise.pmf(np.arange(self.reach + 1)))

    def rounded(self, width: float) -> Floats:
        """Return the masses of the whole number nearest to Y·width, from 0 on; halves go towards 0.

        Right for narrow steps, where many k share a whole number.
        """
        last = ceil(self.reach * width + 0.5)
        edges = np.floor((np.arange(1, last + 2) - 0.5) / width)
        beyond = np.append(np.asarray(self.noise.sf(edges)), 0.0)
        return np.concatenate([[1 - 2 * beyond[0]], beyond[:-1] - beyond[1:]])


@lru_cache(maxsize=4096)
def variance(noise: IntegerNoise) -> float:
    """Return a noise's variance, above 0 where no float holds it; kept, as exact sums take their time.

    From a sigma of 8 on, the discrete Gaussian's differs from sigma² by less than one part in 10^500.
    """
    if isinstance(noise, DiscreteGaussian) and noise.sigma >= _WIDE:
        return float(noise.sigma**2)
    return max(noise.variance(), LEAST_VARIANCE)


@lru_cache(maxsize=1024)
def cut(noise: IntegerNoise) -> CutNoise:
    """Return the noise cut off where hardly anything is left of it."""
    reach = max(1, ceil(-float(noise.ppf(_BEYOND)))) if float(noise.sf(0)) > 0 else 1
    width = -(-(reach + 1) // _BINS)
    starts = np.arange(0, reach + 1, width)
    # Each bin of sizes |Y| counts at its outer end, where exp(order·Y) + exp(-order·Y) is largest.
    ends = np.minimum(starts + width - 1, reach)
    sizes = np.asarray(noise.within(ends)) - np.asarray(noise.within(starts - 1))
    beyond = 2 * (np.asarray(noise.sf(starts - 1)) - np.asarray(noise.sf(ends)))
    masses = np.where(starts > 0, beyond, sizes)
    std = max(sqrt(variance(noise)), 1e-300)
    ends_at = min(_LAST / std, _LARGEST_ORDER)
    orders = np.concatenate([[0.0], np.geomspace(min(_FIRST / std, ends_at / 1e7), ends_at, _POINTS)])
    # ln E cosh(order·Y) = ln(1 + E(cosh - 1)), in logs where cosh overflows.
    cumulants = np.zeros(len(orders))
    with np.errstate(over="ignore"):
        for i, order in enumerate(orders):
            growth = 2 * np.sinh(order * ends / 2) ** 2
            cumulants[i] = np.log1p(float(np.sum(masses * growth))) * (1 + 1e-9)
    return CutNoise(noise, reach, 2 * float(noise.sf(reach)), orders, cumulants)
