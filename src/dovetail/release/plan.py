"""Pay once, in advance, for many answers of one noise: how a designed noise is used when analysts adapt."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

from dovetail.noise import IntegerNoise, from_dict
from dovetail.privacy import Budget, Charge, PrivacyLoss, privacy_loss
from dovetail.privacy.charge import UNIT, shown_number
from dovetail.privacy.covering import covering_noise

from .price import cheapest, payable
from .question import Question
from .sensitivity import Move, Neighbours, grows_outward, moves, units

if TYPE_CHECKING:
    from .ports import Account, PlanState


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
        both = Charge.rounded_up(epsilon=self.total.epsilon, zeta=self.total.zeta, renyi=None)
        worst, average = str(both).split(", ")
        alone = f"{worst} in the worst case, {average} on average"
        if not self.charge.delta:
            return alone
        epsilon, _, delta = str(self.charge).split(", ")
        more = shown_number(Fraction(self.chance_of_more))
        return f"{epsilon} at {delta}, more with probability {more}; {alone}"

    def __repr__(self) -> str:
        left = "" if self.left is None else f"{self.left} left of "
        return (
            f"<plan {self.id}: {left}{self.slots} answers with {self.noise}, paid together ({self.price()})>"
        )

    def slots_for(self, question: Question) -> int:
        """Return how many slots a question uses: one pays for what one neighbour does to a histogram.

        A mean is a sum and a count, so it uses two.
        """
        parts = parts_per_slot(self.neighbours)
        return max(-(-len(move) // parts) for move in self._moves(question))

    def noises_for(self, question: Question) -> tuple[IntegerNoise, ...]:
        """Return the noise of each component, stretched until its loss lies within what a slot has paid."""
        return covering_noises(self.noise, question, self._moves(question))

    def _moves(self, question: Question) -> tuple[Move, ...]:
        return moves(question, self.neighbours, grows_outward(self.noise))


def covering_noises(
    noise: IntegerNoise, question: Question, listed: tuple[Move, ...]
) -> tuple[IntegerNoise, ...]:
    """Return the noise of each component, stretched until it costs no more than the noise itself at 1."""
    furthest = [1] * len(units(question))
    for shift in (shift for move in listed for shift in move):
        furthest[shift.component] = max(furthest[shift.component], shift.by)
    return tuple(covering_noise(noise, by) for by in furthest)


def parts_per_slot(neighbours: Neighbours) -> int:
    """Return how many cells of a histogram one neighbour moves: what one slot must pay for."""
    return 1 if neighbours == "add-remove" else 2


@lru_cache(maxsize=64)
def whole_loss(noise: IntegerNoise, uses: int) -> PrivacyLoss:
    """Return the privacy loss of so many uses of a noise."""
    return privacy_loss(noise).compose(uses)


def plan_charge(loss: PrivacyLoss, budget: Budget, spent: Charge) -> Charge:
    """Return the charge of a whole plan: of the valid ones, the one that leaves most of the budget.

    The exact composition can be charged as its pure and Rényi figures or, under an (epsilon, delta) budget,
    as the exact (epsilon, delta) point at half or all of what delta is left.
    """
    ways = [loss.charge()]
    if budget.currency == "approximate":
        for delta in filter(None, (payable(budget.delta_limit / 2), payable(budget.delta_limit))):
            epsilon = loss.epsilon_at(delta)
            # The whole budget, where it fits: its epsilon is a round number and a float is not.
            if loss.delta(budget.epsilon_limit) <= delta:
                ways.append(Charge.approximate(min(Fraction(epsilon), budget.epsilon_limit), delta))
            elif epsilon < float("inf"):
                ways.append(Charge.approximate(Fraction(epsilon), delta))
    return cheapest(ways, budget, spent)


def open_plan(
    account: Account,
    noise: IntegerNoise,
    slots: int,
    neighbours: Neighbours,
    analyst: str,
    *,
    session: bool = False,
    name: str | None = None,
) -> Plan:
    """Charge a plan to the account and return it, or the same plan as it was opened before.

    The plan of a whole session's budget is shared by all who ask; another one is its analyst's own.
    """
    plan = sketched_plan(account, noise, slots, neighbours)
    body = json.dumps({"plan": noise.to_dict(), "neighbours": neighbours, "session": session}, sort_keys=True)
    return stored_plan(account.open_plan(body, plan.charge, slots, analyst, name=name, shared=session))


def sketched_plan(account: Account, noise: IntegerNoise, slots: int, neighbours: Neighbours) -> Plan:
    """Return a plan as it would be charged now; nobody has paid for it, so nothing is answered from it."""
    loss = whole_loss(noise, slots * parts_per_slot(neighbours))
    return Plan(0, noise, slots, plan_charge(loss, *account.position()), neighbours)


def stored_plan(state: PlanState) -> Plan:
    """Return a plan that was opened before."""
    body = json.loads(state.body)
    noise = from_dict(body["plan"])
    assert isinstance(noise, IntegerNoise)
    return Plan(state.id, noise, state.slots, state.charge, body["neighbours"], body["session"], state.left)
