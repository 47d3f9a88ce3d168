"""A plan: many answers of one noise, paid once and in advance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

from dovetail.exact.figures import rounded
from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge
from dovetail.privacy.charge import shown_units
from dovetail.query.neighbours import Neighbours

from .number_formats import noise_in_decimals

if TYPE_CHECKING:
    from dovetail.privacy import PrivacyLoss


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
        return whole_loss(self.noise, self._uses)

    @property
    def _uses(self) -> int:
        return self.slots * parts_per_slot(self.neighbours)

    @property
    def chance_of_more(self) -> float:
        """The chance that the loss of all its answers exceeds the epsilon that was paid."""
        paid = self.charge.epsilon
        return 0.0 if paid is None else _chance_above(self.noise, self._uses, Fraction(paid))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form of what was paid, and of what all answers cost in other senses."""
        alone = _charge_without_delta(self.noise, self._uses).to_dict()
        return {
            "id": self.id,
            "noise": noise_in_decimals(self.noise),
            "slots": self.slots,
            "left": self.left,
            "neighbours": self.neighbours,
            "charge": self.charge.to_dict(),
            "worst_epsilon": alone["epsilon"],
            "zeta": alone["zeta"],
            "chance_of_more": f"{Decimal(rounded(Fraction(self.chance_of_more))):f}",
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Read what `to_dict` wrote."""
        from dovetail.noise import from_dict

        noise = from_dict(data["noise"])
        assert isinstance(noise, IntegerNoise), "only integer noise is released"
        charge, left = Charge.from_dict(data["charge"]), data["left"]
        return cls(data["id"], noise, data["slots"], charge, data["neighbours"], left=left)

    def price(self) -> str:
        """Return what all its answers cost, as charged; with a delta, also how often more is lost.

        >>> from dovetail.noise import Geometric
        >>> Plan(1, Geometric("0.5"), 2, Charge.approximate(1), "add-remove").price()
        'epsilon 1 in the worst case, zeta 0.647458 on average'
        """
        alone = charge_in_words(_charge_without_delta(self.noise, self._uses))
        if not self.charge.delta:
            return alone
        more = rounded(Fraction(self.chance_of_more))
        return f"{charge_in_words(self.charge)}, a larger loss with probability {more}; {alone}"

    def __repr__(self) -> str:
        left = "" if self.left is None else f"{self.left} left of "
        return f"<plan {self.id}: {left}{self.slots} answers with {self.noise}, paid for ({self.price()})>"


def charge_in_words(charge: Charge) -> str:
    """Return a charge with its senses; zeta only if it differs, and with a delta only epsilon is promised.

    >>> charge_in_words(Charge.approximate("0.5"))
    'epsilon 0.5 in the worst case'
    >>> charge_in_words(Charge.approximate("0.5", "1e-7"))
    'epsilon 0.5 at delta 1e-7'
    """
    epsilon, zeta = shown_units(charge.epsilon_units), shown_units(charge.zeta_units)
    if charge.delta:
        return f"epsilon {epsilon} at delta {rounded(Fraction(charge.delta))}"
    average = "" if zeta == epsilon else f", zeta {zeta} on average"
    return f"epsilon {epsilon} in the worst case{average}"


def parts_per_slot(neighbours: Neighbours) -> int:
    """Return how many cells of a histogram one neighbour moves: what one slot must pay for."""
    return 1 if neighbours == "add-remove" else 2


# A loss of many uses takes some 20 MB once its curves were asked for, so few are kept; their figures are.


@lru_cache(maxsize=8)
def whole_loss(noise: IntegerNoise, uses: int) -> PrivacyLoss:
    """Return the privacy loss of so many uses of a noise."""
    # Imported here: whoever asks a service computes no losses.
    from dovetail.privacy import privacy_loss

    return privacy_loss(noise).compose(uses)


@lru_cache(maxsize=1024)
def _charge_without_delta(noise: IntegerNoise, uses: int) -> Charge:
    """Return what so many uses cost in the worst case and on average."""
    total = whole_loss(noise, uses)
    worst, zeta = (each if each == inf else Fraction(each) for each in (total.worst, total.zeta))
    return Charge.rounded_up(epsilon=worst, zeta=zeta, renyi=None)


@lru_cache(maxsize=1024)
def _chance_above(noise: IntegerNoise, uses: int, epsilon: Fraction) -> float:
    return whole_loss(noise, uses).above(epsilon)
