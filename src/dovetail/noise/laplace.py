"""Laplace noise of n pieces on the reals, f(x) ~ exp(-phi(|x|)): for study; released on a lattice only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dovetail import check, sampling
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.exact import Decay, Potential

from .geometric import PiecewiseGeometric, pieces
from .piecewise import listing, read, text
from .real import RealNoise

if TYPE_CHECKING:
    from .rounded import RoundedLaplace

# The lattice of `sample` is this fine a part of the noise's smallest scale.
FINENESS = 2**20


@dataclass(frozen=True, repr=False)
class PiecewiseLaplace(RealNoise):
    """Noise on the reals with f(x) ~ exp(-phi(|x|)), phi linear with `rates` between `breaks`.

    >>> PiecewiseLaplace(rates=(0.1, 1), breaks=("4.5",))
    PiecewiseLaplace(rates=('0.1', 1), breaks=('4.5',))

    Paper: Eqs. 9 to 14 for two pieces.
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
        finest = 1 / max(self.rates) / FINENESS
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
