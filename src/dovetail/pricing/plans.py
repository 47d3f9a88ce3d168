"""What a plan of many answers costs, and what a question takes of it."""

from __future__ import annotations

from fractions import Fraction

from dovetail.answers.payment import Payment, noise_of_slots
from dovetail.answers.plan import Plan, parts_per_slot, whole_loss
from dovetail.answers.quote import Standing
from dovetail.errors import InvalidParameter
from dovetail.errors.remedies import Give, LeaveOut
from dovetail.noise import IntegerNoise
from dovetail.privacy import Budget, Charge, PrivacyLoss
from dovetail.progress import working
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Move
from dovetail.query.neighbours import Neighbours

from .calibration import noise_of_budget, noise_of_plan
from .composition import cheapest, payable
from .sensitivity import grows_outward, moves
from .stretching import covering_noises


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


def slots_for(plan: Plan, question: CheckedQuery) -> int:
    """Return how many slots a question uses: one pays for what one neighbour does to a histogram.

    A mean is a sum and a count, so it uses two.
    """
    parts = parts_per_slot(plan.neighbours)
    return max(-(-len(move) // parts) for move in _moves(plan, question))


def noises_for(plan: Plan, question: CheckedQuery) -> tuple[IntegerNoise, ...]:
    """Return the noise of each component, stretched until its loss lies within what a slot has paid."""
    return covering_noises(plan.noise, question, _moves(plan, question))


def _moves(plan: Plan, question: CheckedQuery) -> tuple[Move, ...]:
    return moves(question, plan.neighbours, grows_outward(plan.noise))


def planned(payment: Payment, standing: Standing, neighbours: Neighbours) -> Plan:
    """Return the plan of so many answers as a payment names them: one that is open already, or its sketch."""
    slots, budget = payment.queries, standing.budget
    assert slots is not None
    alike = [plan for plan in standing.plans if (plan.slots, plan.neighbours) == (slots, neighbours)]
    if payment.noise is None and payment.within is None:
        whole = _whole_plan(slots, standing, neighbours)
        if whole is not None:
            return whole
        if budget is None:
            raise InvalidParameter("budget", None, "known where all of it is planned", Give("within"))
        noise = noise_of_budget(budget, slots, neighbours)
        return sketched_plan(noise, slots, neighbours, standing, session=True)
    if payment.within is None:
        noise = noise_of_slots("noise", payment.noise, payment.sensitivity)
    else:
        goal = (payment.within, payment.probability)
        noise = noise_of_plan(*goal, slots, budget or Budget.pure(1), neighbours)
    open_ = (plan for plan in alike if plan.noise == noise and not plan.session)
    return next(open_, None) or sketched_plan(noise, slots, neighbours, standing)


def _whole_plan(slots: int, standing: Standing, neighbours: Neighbours) -> Plan | None:
    """Return the plan of the whole budget as it was opened before; it has one number of answers."""
    for plan in standing.plans:
        if plan.session:
            if (plan.slots, plan.neighbours) == (slots, neighbours):
                return plan
            raise InvalidParameter(
                "queries",
                slots,
                f"{plan.slots} ({plan.neighbours}), as this budget was planned before",
                "To pay for each answer from what remains, plan nothing.",
                LeaveOut("queries"),
            )
    return None


def sketched_plan(
    noise: IntegerNoise, slots: int, neighbours: Neighbours, standing: Standing, *, session: bool = False
) -> Plan:
    """Return a plan as it would be charged now; nobody has paid for it, so nothing is answered from it."""
    with working(f"Composing {slots:,} answers"):
        loss = whole_loss(noise, slots * parts_per_slot(neighbours))
        charge = plan_charge(loss, standing.budget or Budget.pure(1), standing.spent)
    return Plan(0, noise, slots, charge, neighbours, session)
