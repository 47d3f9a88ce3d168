"""A Laplace-type noise rounded to the nearest integer: what the paper compares with."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, ClassVar

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.exact import Decay, Potential, Slab, Stretch

from .decaying import DecayingNoise
from .laplace import PiecewiseLaplace

_HALF = Fraction(1, 2)


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
            raise InvalidParameter("source", self.source, "a PiecewiseLaplace", "Use noise.rounded().")

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
