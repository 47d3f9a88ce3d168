"""Noise cut off at a bound: shown because it is used, and refused by every release.

Next to the bound lie outputs that one data set can give and its neighbour cannot: the worst-case loss is
infinite. What is left is a delta, the mass of those outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from flint import arb

from dovetail import check
from dovetail.check import Real
from dovetail.errors.values import exact_text
from dovetail.exact import Decay, Stretch

from .arrays import Floats
from .decaying import DecayingNoise
from .laplace import FINENESS
from .piecewise import literal, read
from .real import RealNoise, lattice_draws

_EPSILON = "Give the rate of the noise before it is cut, for example 0.5."
_BOUND = "Give the largest noise, for example 10."


@dataclass(frozen=True, repr=False)
class TruncatedGeometric(DecayingNoise):
    """Geometric noise given that it is at most `bound` in size; not private for counts.

    >>> TruncatedGeometric(0.3, 10).within(10), TruncatedGeometric(0.3, 10).releasable
    (1.0, False)
    """

    epsilon: Fraction
    bound: int
    kind: ClassVar[str] = "truncated-geometric"

    def __init__(self, epsilon: Real, bound: Real) -> None:
        (rate,), _ = read((check.positive("epsilon", epsilon, _EPSILON),), (), whole=True)
        object.__setattr__(self, "epsilon", rate)
        object.__setattr__(self, "bound", check.integer("bound", bound, 1, 10**15, _BOUND))

    def __repr__(self) -> str:
        return f"TruncatedGeometric(epsilon={literal(self.epsilon)}, bound={self.bound})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TruncatedGeometric, (self.epsilon, self.bound)

    @property
    def releasable(self) -> bool:
        """False: an output next to the bound reveals which data set it comes from."""
        return False

    @cached_property
    def decay(self) -> Decay:
        """One stretch of constant decay, which ends."""
        stretch = Stretch(Fraction(0), Fraction(self.bound + 1), self.epsilon, Fraction(0))
        return Decay((stretch,), whole=True)

    @property
    def _farthest(self) -> float:
        return float(self.bound)

    def _tail(self, k: Floats) -> Floats:
        return np.where(k > self.bound, 0.0, super()._tail(np.minimum(k, self.bound)))

    def _log_tail(self, k: Floats) -> Floats:
        return np.where(k > self.bound, -np.inf, super()._log_tail(np.minimum(k, self.bound)))

    def _inverse_tail(self, tail: Floats) -> Floats:
        return np.minimum(super()._inverse_tail(tail), self.bound)

    def _within(self, t: Floats) -> Floats:
        return np.where(t >= self.bound, 1.0, super()._within(t))

    def _tail_here(self, k: int) -> arb:
        return super()._tail_here(k) if k <= self.bound else arb(0)

    def stretched(self, d: Real) -> TruncatedGeometric:
        """Return the noise with rate / d and bound · d."""
        factor = check.integer("d", d, low=1)
        return TruncatedGeometric(self.epsilon / factor, self.bound * factor)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""
        return {"kind": self.kind, "epsilon": exact_text(self.epsilon), "bound": str(self.bound)}


@dataclass(frozen=True, repr=False)
class TruncatedLaplace(RealNoise):
    """Laplace noise given that it is at most `bound` in size; not private for counts.

    >>> TruncatedLaplace(1, 2).cdf(2)
    1.0
    """

    epsilon: Fraction
    bound: Fraction
    kind: ClassVar[str] = "truncated-laplace"

    def __init__(self, epsilon: Real, bound: Real) -> None:
        (rate,), _ = read((check.positive("epsilon", epsilon, _EPSILON),), (), whole=False)
        object.__setattr__(self, "epsilon", rate)
        object.__setattr__(self, "bound", check.positive("bound", bound, _BOUND))

    def __repr__(self) -> str:
        return f"TruncatedLaplace(epsilon={literal(self.epsilon)}, bound={literal(self.bound)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TruncatedLaplace, (self.epsilon, self.bound)

    @property
    def releasable(self) -> bool:
        """False: an output next to the bound reveals which data set it comes from."""
        return False

    @cached_property
    def decay(self) -> Decay:
        """One stretch of constant decay, which ends."""
        return Decay((Stretch(Fraction(0), self.bound, self.epsilon, Fraction(0)),), whole=False)

    def _log_sf(self, x: Floats) -> Floats:
        bound = float(self.bound)
        with np.errstate(divide="ignore"):
            return np.where(x >= bound, -np.inf, super()._log_sf(np.clip(x, -bound, bound)))

    def _cdf(self, x: Floats) -> Floats:
        bound = float(self.bound)
        return np.where(x >= bound, 1.0, super()._cdf(np.clip(x, -bound, bound)))

    def _sf(self, x: Floats) -> Floats:
        return self._cdf(-x)

    def _outside(self, t: Fraction) -> arb:
        return super()._outside(t) if t < self.bound else arb(0)

    def lattice_step(self) -> Fraction:
        """Return the spacing that `sample` uses: about 2^-20 of the scale, and a divisor of the bound."""
        return self.bound / -(-self.bound * self.epsilon * FINENESS // 1)

    def sample(self, size: int | tuple[int, ...] | None = None, *, out: Any = None) -> float | Floats:
        """Draw on the lattice of `lattice_step()`, for comparison only."""
        step = self.lattice_step()
        return lattice_draws(TruncatedGeometric(self.epsilon * step, self.bound / step), step, size, out)

    def stretched(self, d: Real) -> TruncatedLaplace:
        """Return the noise with rate / d and bound · d."""
        factor = check.positive("d", d, "Give the sensitivity, for example 2.")
        return TruncatedLaplace(self.epsilon / factor, self.bound * factor)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""
        return {"kind": self.kind, "epsilon": exact_text(self.epsilon), "bound": exact_text(self.bound)}
