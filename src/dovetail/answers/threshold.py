"""The threshold from which a found key is shown, and the delta that it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dovetail.privacy import Charge
from dovetail.privacy.charge import DELTA_UNIT


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least noisy count that is released, and the delta that it costs, rounded up to whole units."""

    least: int
    units: int

    @property
    def delta(self) -> Decimal:
        """The probability that a neighbour's own keys give them away."""
        return self.charge().delta

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form."""
        return {"least": self.least, "delta": f"{self.delta:f}"}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Threshold:
        """Read what `to_dict` wrote."""
        return cls(int(data["least"]), int(Fraction(data["delta"]) / DELTA_UNIT))

    def charge(self) -> Charge:
        """Return the price of the threshold alone, beside that of the noise."""
        return Charge.rounded_up(epsilon=0, zeta=0, renyi=None, delta=self.units * DELTA_UNIT)
