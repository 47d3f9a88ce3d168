"""Laplace noise of n pieces on the reals, f(x) ~ exp(-phi(|x|)), and the same rounded to integers: for study.

Released is Laplace noise on a lattice only.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, gcd, lcm
from typing import Any, ClassVar

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.errors.values import exact_text
from dovetail.exact import Decay, Potential, Slab, Stretch

from .arrays import Floats
from .decaying import DecayingNoise
from .geometric import PiecewiseGeometric, stretches_of
from .piecewise import literals, read
from .real import RealNoise, lattice_draws

# The lattice of `sample` is this fine a part of the noise's smallest scale.
FINENESS = 2**20
_HALF = Fraction(1, 2)


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
        tail = f", breaks={literals(self.breaks)})" if self.breaks else ")"
        return f"PiecewiseLaplace(rates={literals(self.rates)}{tail}"

    def __reduce__(self) -> tuple[Any, ...]:
        return PiecewiseLaplace, (self.rates, self.breaks)

    @cached_property
    def potential(self) -> Potential:
        """phi, exactly."""
        return Potential(self.rates, self.breaks)

    @cached_property
    def decay(self) -> Decay:
        """The stretches of constant decay."""
        return Decay(stretches_of(self.potential), whole=False)

    def stretched(self, d: Real) -> PiecewiseLaplace:
        """Return the noise for a query of sensitivity d: rates / d, breaks · d."""
        factor = check.positive("d", d, "Give the sensitivity, for example 2.")
        return PiecewiseLaplace(
            tuple(rate / factor for rate in self.rates), tuple(point * factor for point in self.breaks)
        )

    def rounded(self) -> RoundedLaplace:
        """Return the integer noise that rounding to the nearest integer gives."""
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
                f"a divisor of every break ({literals(self.breaks)})",
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

    def sample(self, size: int | tuple[int, ...] | None = None, *, out: Any = None) -> float | Floats:
        """Draw on the lattice of `lattice_step()`: exactly the lattice's noise, as floats.

        Real numbers cannot be drawn; a release names its own lattice with `on_lattice`.
        """
        step = self.lattice_step()
        return lattice_draws(self.on_lattice(step), step, size, out)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""
        return {
            "kind": self.kind,
            "rates": [exact_text(rate) for rate in self.rates],
            "breaks": [exact_text(point) for point in self.breaks],
        }


@dataclass(frozen=True)
class RoundedLaplace(DecayingNoise):
    """The integer nearest to a `PiecewiseLaplace` noise.

    >>> from dovetail.noise import Laplace
    >>> Laplace(1).rounded()
    RoundedLaplace(source=PiecewiseLaplace(rates=(1,)))
    """

    source: PiecewiseLaplace
    kind: ClassVar[str] = "rounded-laplace"

    def __post_init__(self) -> None:
        if not isinstance(self.source, PiecewiseLaplace):
            raise InvalidParameter(
                "source", self.source, "a PiecewiseLaplace", "Round a Laplace noise instead."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return RoundedLaplace, (self.source,)

    @property
    def rates(self) -> tuple[Fraction, ...]:
        """The rates of the noise before rounding."""
        return self.source.rates

    @property
    def breaks(self) -> tuple[Fraction, ...]:
        """The breaks of the noise before rounding."""
        return self.source.breaks

    @cached_property
    def decay(self) -> Decay:
        """Zero, the cells that a break cuts, and between them runs of constant decay."""
        phi = self.source.potential
        starts = _starts(phi)
        stretches = []
        for number, start in enumerate(starts):
            length = Fraction(starts[number + 1] - start) if number + 1 < len(starts) else None
            stretches.append(_stretch(phi, start, length))
        return Decay(tuple(stretches), whole=True)

    def stretched(self, d: Real) -> RoundedLaplace:
        """Return the noise for a query of sensitivity d: stretched before it is rounded."""
        return RoundedLaplace(self.source.stretched(check.integer("d", d, low=1)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""
        return {**self.source.to_dict(), "kind": self.kind}


def _starts(phi: Potential) -> list[int]:
    """Return where runs start: at 0, 1, and before and after each cell that a break cuts."""
    starts = {0, 1}
    for point in phi.breaks:
        cell = floor(point + _HALF)
        starts.add(cell)
        if point != cell - _HALF:
            starts.add(cell + 1)
    return sorted(starts)


def _stretch(phi: Potential, start: int, length: Fraction | None) -> Stretch:
    """Return the run that starts with the cell of `start`; the weight of a cell is the integral over it."""
    low = max(Fraction(start) - _HALF, Fraction(0))
    high = Fraction(start) + _HALF
    base = phi(low)
    edges = [low, *(point for point in phi.breaks if low < point < high), high]
    slabs = tuple(Slab(phi(a) - base, phi.rates[phi.piece(a)], b - a) for a, b in itertools.pairwise(edges))
    # A run of one cell has no decay of its own; the drop to the next level keeps every ratio moderate.
    rate = phi(high) - base if length == 1 else phi.rates[phi.piece(Fraction(start))]
    return Stretch(
        start=Fraction(start),
        length=length,
        rate=rate,
        level=base,
        slabs=slabs * 2 if start == 0 else slabs,
    )
