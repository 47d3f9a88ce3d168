"""Geometric noise of n pieces on the integers: p(k) ~ exp(-phi(|k|))."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from dovetail import check
from dovetail.check import Real
from dovetail.errors.values import exact_text
from dovetail.exact import Decay, Potential, Stretch

from .decaying import DecayingNoise
from .piecewise import literals, read


@dataclass(frozen=True, repr=False)
class PiecewiseGeometric(DecayingNoise):
    """Noise on the integers with p(k) ~ exp(-phi(|k|)), phi linear with `rates` between whole `breaks`.

    Rates that fall outward are allowed, as in the paper; they give long tails, and several cells that move
    together are then no longer dominated by one (see the guarantees page).

    >>> PiecewiseGeometric(rates=(0.2, 1), breaks=(5,))
    PiecewiseGeometric(rates=('0.2', 1), breaks=(5,))

    Paper: Eqs. 17 to 22 for two pieces.
    """

    rates: tuple[Fraction, ...]
    breaks: tuple[int, ...]
    kind: ClassVar[str] = "piecewise-geometric"

    def __init__(self, rates: Any, breaks: Any = ()) -> None:
        slopes, points = read(rates, breaks, whole=True)
        object.__setattr__(self, "rates", slopes)
        object.__setattr__(self, "breaks", tuple(int(point) for point in points))

    def __repr__(self) -> str:
        points = literals(tuple(Fraction(point) for point in self.breaks))
        return f"PiecewiseGeometric(rates={literals(self.rates)}" + (
            f", breaks={points})" if self.breaks else ")"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return PiecewiseGeometric, (self.rates, self.breaks)

    @cached_property
    def potential(self) -> Potential:
        """phi, exactly."""
        return Potential(self.rates, tuple(Fraction(point) for point in self.breaks))

    @cached_property
    def decay(self) -> Decay:
        """The stretches of constant decay."""
        return Decay(stretches_of(self.potential), whole=True)

    def stretched(self, d: Real) -> PiecewiseGeometric:
        """Return the noise for a query of sensitivity d: rates / d, breaks · d.

        Its worst loss at a shift of d is this noise's at a shift of 1. Its other losses are only nearly so:
        across a break-point it takes values in between, so price it with `privacy_loss(..., sensitivity=d)`.
        """
        factor = check.integer("d", d, low=1, fix="Give the sensitivity in whole lattice steps.")
        return PiecewiseGeometric(
            tuple(rate / factor for rate in self.rates), tuple(point * factor for point in self.breaks)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same noise again."""
        return {
            "kind": self.kind,
            "rates": [exact_text(rate) for rate in self.rates],
            "breaks": [str(point) for point in self.breaks],
        }


def stretches_of(potential: Potential) -> tuple[Stretch, ...]:
    """Return the pieces of a potential as stretches of decay."""
    edges = (Fraction(0), *potential.breaks)
    stretches = []
    for number, (start, rate, level) in enumerate(zip(edges, potential.rates, potential.levels, strict=True)):
        length = edges[number + 1] - start if number + 1 < len(edges) else None
        stretches.append(Stretch(start, length, rate, level))
    return tuple(stretches)
