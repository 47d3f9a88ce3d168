"""A plan: many answers of one noise, paid once and in advance."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import Any

from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge, PrivacyLoss, privacy_loss
from dovetail.privacy.charge import DELTA_UNIT, UNIT, shown_number, shown_units
from dovetail.query.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class Plan:
    """A noise and a number of answers, paid together.

    Noise and sensitivity are fixed before the first answer, so `slots` questions chosen one after another
    compose exactly as if they had been chosen at once. Unused slots are not refunded. `left` is how many
    were left when the plan was looked at; `session.plans` looks again.
    """

    id: int
    noise: IntegerNoise
    slots: int
    charge: Charge
    neighbours: Neighbours
    session: bool = False
    left: int | None = field(default=None, compare=False)

    @property
    def total(self) -> PrivacyLoss:
        """The privacy loss of all its answers together."""
        return whole_loss(self.noise, self.slots * parts_per_slot(self.neighbours))

    @property
    def chance_of_more(self) -> float:
        """The chance that the loss of all its answers exceeds the epsilon that was paid."""
        paid = self.charge.epsilon
        return 0.0 if paid is None else self.total.above(paid * UNIT)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form of what was paid, and of what all answers cost in other senses."""
        return {
            "id": self.id,
            "slots": self.slots,
            "left": self.left,
            "charge": self.charge.to_dict(),
            "worst_epsilon": self.total.epsilon if self.total.epsilon < inf else None,
            "zeta": self.total.zeta if self.total.zeta < inf else None,
            "chance_of_more": self.chance_of_more,
        }

    def price(self) -> str:
        """Return what all its answers cost: as charged, and with a delta how often more is lost.

        >>> from dovetail.noise import Geometric
        >>> Plan(1, Geometric("0.5"), 2, Charge.approximate(1), "add-remove").price()
        'epsilon 1 in the worst case, zeta 0.647458 on average'
        """
        total = self.total
        alone = charge_in_words(Charge.rounded_up(epsilon=total.epsilon, zeta=total.zeta, renyi=None))
        if not self.charge.delta:
            return alone
        more = shown_number(Fraction(self.chance_of_more))
        return f"{charge_in_words(self.charge)}, more with probability {more}; {alone}"

    def __repr__(self) -> str:
        left = "" if self.left is None else f"{self.left} left of "
        return (
            f"<plan {self.id}: {left}{self.slots} answers with {self.noise}, paid together ({self.price()})>"
        )


def charge_in_words(charge: Charge) -> str:
    """Return a charge with its senses; beside a delta, only epsilon is promised.

    >>> charge_in_words(Charge.approximate("0.5"))
    'epsilon 0.5 in the worst case, zeta 0.5 on average'
    >>> charge_in_words(Charge.approximate("0.5", "1e-7"))
    'epsilon 0.5 at delta 1e-7'
    """
    epsilon = shown_units(charge.epsilon)
    if charge.delta:
        return f"epsilon {epsilon} at delta {shown_number(charge.delta * DELTA_UNIT)}"
    return f"epsilon {epsilon} in the worst case, zeta {shown_units(charge.zeta)} on average"


def parts_per_slot(neighbours: Neighbours) -> int:
    """Return how many cells of a histogram one neighbour moves: what one slot must pay for."""
    return 1 if neighbours == "add-remove" else 2


@lru_cache(maxsize=64)
def whole_loss(noise: IntegerNoise, uses: int) -> PrivacyLoss:
    """Return the privacy loss of so many uses of a noise."""
    return privacy_loss(noise).compose(uses)
