"""From Rényi divergences to delta(epsilon) and back, where moments say more than a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, nextafter

import numpy as np

from .atoms import ROUNDING, Floats

# Between two of these orders less than 0.1 % of epsilon is lost.
_ORDERS: Floats = 1 + np.geomspace(0.01, 1e5, 160)


@dataclass(frozen=True, slots=True, eq=False)
class MomentBounds:
    """delta(epsilon) <= exp((a - 1)·(D_a - epsilon))·(1 - 1/a)^(a - 1)/a for every order a.

    Canonne, Kamath and Steinke 2020, Proposition 12. Only the direction P against Q is used.
    """

    divergences: Floats

    @classmethod
    def of(cls, renyi: Callable[[float], float]) -> MomentBounds:
        """Evaluate a Rényi curve at the orders that are looked at."""
        return cls(np.array([renyi(float(order)) for order in _ORDERS]))

    def delta(self, epsilon: float) -> float:
        """Return the least bound on delta at `epsilon`.

        >>> gaussian = MomentBounds.of(lambda order: order / 50)
        >>> gaussian.delta(gaussian.epsilon(1e-6)) <= 1e-6
        True
        """
        slopes = _ORDERS - 1
        powers = slopes * (self.divergences - epsilon) + _log_factors()
        pad = (slopes * (np.abs(self.divergences) + abs(epsilon)) + 16) * 4 * ROUNDING
        least = float(np.min(powers + pad))
        return nextafter(exp(min(least, 0.0)), inf)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon whose delta is at most `delta`, 0 < delta."""
        bounds = self.divergences + (_log_factors() - log(delta)) / (_ORDERS - 1)
        found = max(float(np.min(bounds)), 0.0)
        step = max(found, 1e-3) * ROUNDING
        while self.delta(found) > delta:
            found, step = found + step, 2 * step
        return found


def _log_factors() -> Floats:
    return np.asarray((_ORDERS - 1) * np.log1p(-1 / _ORDERS) - np.log(_ORDERS))
