"""Laplace noise of n pieces on the reals, f(x) ~ exp(-phi(|x|)): for study; released on a lattice only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from dovetail import check, sampling
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.exact import Decay, Potential

from .evaluate import DecayTable, Floats, blockwise, one_minus
from .expect import expect_real
from .geometric import PiecewiseGeometric, pieces
from .piecewise import listing, read, text
from .symmetric import Noise

if TYPE_CHECKING:
    from .rounded import RoundedLaplace

# The lattice of `sample` is this fine a part of the noise's smallest scale.
_FINENESS = 2**20


@dataclass(frozen=True, repr=False)
class PiecewiseLaplace(Noise):
    """Noise on the reals with f(x) ~ exp(-phi(|x|)), phi linear with `rates` between `breaks`.

    >>> PiecewiseLaplace(rates=(0.1, 1), breaks=("4.5",))
    PiecewiseLaplace(rates=('0.1', 1), breaks=('4.5',))

    Paper: Eqs. 8 to 13 for two pieces.
    """

    rates: tuple[Fraction, ...]
    breaks: tuple[Fraction, ...]
    kind: ClassVar[str] = "piecewise-laplace"

    def __init__(self, rates: Any, breaks: Any = ()) -> None:
        slopes, points = read(rates, breaks, whole=False)
        object.__setattr__(self, "rates", slopes)
        object.__setattr__(self, "breaks", points)

    def __repr__(self) -> str:
        tail = f", breaks={listing(self.breaks)})" if self.breaks else ")"
        return f"PiecewiseLaplace(rates={listing(self.rates)}{tail}"

    def __reduce__(self) -> tuple[Any, ...]:
        return PiecewiseLaplace, (self.rates, self.breaks)

    @cached_property
    def potential(self) -> Potential:
        """phi, exactly."""
        return Potential(self.rates, self.breaks)

    @cached_property
    def decay(self) -> Decay:
        """The stretches of constant decay."""
        return Decay(pieces(self.potential), whole=False)

    @cached_property
    def _table(self) -> DecayTable:
        return DecayTable(self.decay)

    def pdf(self, x: ArrayLike) -> float | Floats:
        """Return the density at x."""
        return blockwise(lambda block: np.exp(self._log_density(np.abs(block))), x)

    def log_pdf(self, x: ArrayLike) -> float | Floats:
        """Return the log of the density at x, also where the density is too small for a float."""
        return blockwise(lambda block: self._log_density(np.abs(block)), x)

    def _log_density(self, y: Floats) -> Floats:
        return self._table.log_density(y)

    def _cdf(self, x: Floats) -> Floats:
        return one_minus(self._table.tail(np.abs(x)), where=x >= 0)

    def _sf(self, x: Floats) -> Floats:
        return one_minus(self._table.tail(np.abs(x)), where=x < 0)

    def _log_sf(self, x: Floats) -> Floats:
        result = self._table.log_tail(np.abs(x))
        left = x < 0
        return np.where(left, np.log1p(-np.exp(np.where(left, result, -1))), result)

    def _ppf(self, p: Floats) -> Floats:
        result = np.full(p.shape, np.nan)
        inside = (p > 0) & (p < 1)
        side = p[inside]
        size = self._table.inverse_tail(np.minimum(side, 1 - side))
        result[inside] = np.where(side <= 0.5, -size, size)
        result[p == 0] = -np.inf
        result[p == 1] = np.inf
        return result

    def _within(self, t: Floats) -> Floats:
        return np.where(t < 0, 0.0, self._table.inner(np.maximum(t, 0)))

    def _moment(self, order: int) -> arb:
        return self.decay.moment(order)

    def _entropy(self) -> arb:
        return self.decay.entropy()

    def _outside(self, t: Fraction) -> arb:
        return 2 * self.decay.tail(t)

    def _least(self, start: float, holds: Callable[[Fraction], bool]) -> float:
        step = np.spacing(start)
        while not holds(Fraction(start)):
            start, step = start + step, 2 * step
        return float(start)

    def expect(self, cost: Callable[[Any], Any]) -> float:
        """Return E cost(Y) for any cost that takes an array of floats.

        >>> round(PiecewiseLaplace(rates=(2,)).expect(abs), 12)
        0.5
        """
        return expect_real(self, cost)

    def stretched(self, d: Real) -> PiecewiseLaplace:
        """Return the noise for a query of sensitivity d: rates / d, breaks · d."""
        factor = check.positive("d", d, "Give the sensitivity, for example 2.")
        return PiecewiseLaplace(
            tuple(rate / factor for rate in self.rates), tuple(point * factor for point in self.breaks)
        )

    def rounded(self) -> RoundedLaplace:
        """Return the integer noise that rounding to the nearest integer gives."""
        from .rounded import RoundedLaplace

        return RoundedLaplace(self)

    def on_lattice(self, step: Real) -> PiecewiseGeometric:
        """Return the integer noise whose multiples of `step` stand for this noise in a release.

        >>> PiecewiseLaplace(rates=(0.1, 1), breaks=(4.5,)).on_lattice(0.5)
        PiecewiseGeometric(rates=('0.05', '0.5'), breaks=(9,))
        """
        width = check.positive("step", step, "Give the spacing of the lattice, for example 0.5.")
        points = tuple(point / width for point in self.breaks)
        if any(point.denominator != 1 for point in points):
            raise InvalidParameter(
                "step",
                step,
                f"a divisor of every break ({listing(self.breaks)})",
                "Try a smaller power of two.",
            )
        return PiecewiseGeometric(tuple(rate * width for rate in self.rates), points)

    def lattice_step(self) -> Fraction:
        """Return the spacing that `sample` uses: 2^-20 of the smallest scale, or less to meet the breaks."""
        finest = 1 / max(self.rates) / _FINENESS
        if not self.breaks:
            return finest
        common = Fraction(
            gcd(*(point.numerator for point in self.breaks)),
            lcm(*(point.denominator for point in self.breaks)),
        )
        return common / -(-common // finest)

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, out: Any = None
    ) -> float | NDArray[np.float64]:
        """Draw on the lattice of `lattice_step()`: exactly the lattice's noise, as floats.

        Real numbers cannot be drawn; a release names its own lattice with `on_lattice`.
        """
        step = self.lattice_step()
        if size is None and out is not None:
            size = out.shape
        whole = sampling.sample(self.on_lattice(step), size)
        result: float | NDArray[np.float64] = np.multiply(whole, float(step), out=out)
        return result if size is not None or out is not None else float(result)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""
        return {
            "kind": self.kind,
            "rates": [text(rate) for rate in self.rates],
            "breaks": [text(point) for point in self.breaks],
        }
