"""What every noise can do: it is symmetric about 0, so all is said by the distribution of |Y|."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dovetail import check
from dovetail.check import Real
from dovetail.exact import ball, nearest, refined

from .arrays import Floats, blockwise

_BETA_FIX = "Give the chance that may be missed, for example 0.05."


class Noise(ABC):
    """A symmetric noise; `PiecewiseGeometric` and `PiecewiseLaplace` are the two main kinds."""

    # Formulas that a kind of noise supplies: floats on arrays of y = |x| >= 0, and exact balls.

    @abstractmethod
    def _log_density(self, y: Floats) -> Floats:
        """Return the log of the probability or density at y >= 0."""

    @abstractmethod
    def _cdf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _within(self, t: Floats) -> Floats: ...

    @abstractmethod
    def _ppf(self, p: Floats) -> Floats: ...

    @abstractmethod
    def _log_sf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _moment(self, order: int) -> arb: ...

    @abstractmethod
    def _entropy(self) -> arb: ...

    @abstractmethod
    def _outside(self, t: Fraction) -> arb:
        """Return P(|Y| > t) as a ball at the working precision."""

    @abstractmethod
    def _least(self, start: float, holds: Callable[[Fraction], bool]) -> float:
        """Return the least t from which `holds` is true, `start` being near it."""

    @abstractmethod
    def expect(self, cost: Callable[[Any], Any]) -> float:
        """Return E cost(Y) for any cost that takes an array."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""

    @abstractmethod
    def stretched(self, d: Real) -> Noise:
        """Return the noise for a query of sensitivity d."""

    # What follows from them.

    @property
    def releasable(self) -> bool:
        """Whether a release may add this noise; False where some outputs would have an infinite loss."""
        return True

    def cdf(self, x: ArrayLike) -> float | Floats:
        """Return P(Y <= x)."""
        return blockwise(self._cdf, x)

    def sf(self, x: ArrayLike) -> float | Floats:
        """Return P(Y > x), to full relative accuracy in the right tail."""
        return blockwise(self._sf, x)

    @abstractmethod
    def _sf(self, x: Floats) -> Floats: ...

    def log_sf(self, x: ArrayLike) -> float | Floats:
        """Return ln P(Y > x), also where P(Y > x) is too small for a float."""
        return blockwise(self._log_sf, x)

    def ppf(self, p: ArrayLike) -> float | Floats:
        """Return the least x with P(Y <= x) >= p, as a float; outside [0, 1] it is NaN.

        At 0 and 1 it is the end of the support, which is infinite unless the noise is truncated.

        Paper: Algorithms 1 and 2, corrected.
        """
        return blockwise(self._ppf, p, "p")

    def within(self, t: ArrayLike) -> float | Floats:
        """Return P(|Y| <= t)."""
        return blockwise(self._within, t, "t")

    def plot(self, ax: Any = None) -> Any:
        """Draw its probabilities (a density on the reals), break-points and 95 % range; return the axes."""
        from dovetail.plots.noise import draw_noise

        whole, within = hasattr(self, "pmf"), self.quantile_abs(0.95)
        reach = max(self.quantile_abs(0.999), 2 * within, 1.0)
        places = np.arange(-ceil(reach), ceil(reach) + 1) if whole else np.linspace(-reach, reach, 801)
        masses = np.exp(self._log_density(np.abs(places).astype(float)))
        breaks = [float(point) for point in getattr(self, "breaks", ()) if point <= reach]
        return draw_noise(places, masses, whole=whole, breaks=breaks, within=within, title=repr(self), ax=ax)

    def mean_abs(self) -> float:
        """Return E|Y|, the expected size of the noise."""
        return nearest(lambda: self._moment(1))

    def variance(self) -> float:
        """Return E Y²; the mean is 0."""
        return nearest(lambda: self._moment(2))

    def std(self) -> float:
        """Return the standard deviation."""
        return sqrt(self.variance())

    def entropy(self) -> float:
        """Return the entropy in nats (of real-valued noise: the differential entropy)."""
        return nearest(self._entropy)

    def quantile_abs(self, p: Real) -> float:
        """Return the least t with P(|Y| <= t) >= p: the half-width of an error bar of level p."""
        level = check.probability("p", p, "Give the level of the error bar, for example 0.95.")
        return self._least(self._start(1 - level), lambda t: self._misses_at_most(t, 1 - level))

    def error_bound(self, beta: Real, k: int = 1) -> float:
        """Return the least t with P(max of k independent |Y| > t) <= beta.

        Paper: Theorems 2 and 4, corrected.
        """
        chance = check.probability("beta", beta, _BETA_FIX)
        answers = check.integer("k", k, low=1, fix="Give the number of answers.")
        if answers == 1:
            return self._least(self._start(chance), lambda t: self._misses_at_most(t, chance))
        each = nearest(lambda: -((-ball(chance)).log1p() / answers).expm1())
        return self._least(self._start(Fraction(each)), lambda t: self._all_within(t, chance, answers))

    def union_bound(self, beta: Real, k: int = 1) -> float:
        """Return the least t with k·P(|Y| > t) <= beta: the paper's bound, at least `error_bound`."""
        chance = check.probability("beta", beta, _BETA_FIX)
        answers = check.integer("k", k, low=1, fix="Give the number of answers.")
        each = chance / answers
        return self._least(self._start(each), lambda t: self._misses_at_most(t, each))

    def _start(self, chance: Fraction) -> float:
        """Return a t near which P(|Y| > t) falls to `chance`; where no float is that small, a lesser t."""
        return max(0.0, float(-self._ppf(np.array([max(float(chance / 2), 5e-324)]))[0]))

    def _misses_at_most(self, t: Fraction, chance: Fraction) -> bool:
        """Say whether P(|Y| > t) <= chance for certain."""
        return _surely(lambda: ball(chance) - self._outside(t))

    def _all_within(self, t: Fraction, chance: Fraction, k: int) -> bool:
        """Say whether k independent noises are within t but for `chance`, for certain."""
        return _surely(lambda: k * (-self._outside(t)).log1p() - (-ball(chance)).log1p())


def _surely(difference: Callable[[], arb]) -> bool:
    """Say whether the difference is certainly not negative; an undecidable tie counts as negative."""
    try:
        value = refined(difference, bits=8)
    except ArithmeticError:
        return False
    return bool(value >= 0)
