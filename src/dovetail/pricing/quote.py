"""From queries and a payment to noise, charge and errors: the one place where answers are priced.

Nothing here reads a row or a ledger. Whoever knows the public columns and where the budget stands gets the
same quote: a session, the command line, a service.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor

from dovetail.answers.payment import Payment
from dovetail.answers.plan import Plan
from dovetail.answers.quote import Quote, QuotedQuery, Standing
from dovetail.errors import InvalidParameter, InvalidQuery, MissingPrice
from dovetail.errors.remedies import Give, LeaveOut, ProtectPersons, SeePlans
from dovetail.noise import IntegerNoise
from dovetail.privacy import Budget, Charge
from dovetail.privacy.charge import DELTA_UNIT
from dovetail.query import Query
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.neighbours import Neighbours, Persons
from dovetail.query.protection import check_chosen
from dovetail.query.schema import Table
from dovetail.query.workload import Workload, listed_queries

from .calibration import noises_at_price, noises_composed, noises_within
from .composition import at_price, charge_of, planned_charge
from .partition_selection import threshold_for
from .plans import noises_for, planned, slots_for
from .strategies_at_price import Noises, price_of, shared_price, ways_at_price
from .strategies_within import cheapest_reaching
from .stretching import scaled_noises


def quote(
    table: Table,
    queries: Query | Iterable[Query],
    payment: Payment,
    standing: Standing,
    *,
    neighbours: Neighbours = "add-remove",
    persons: Persons | None = None,
) -> Quote:
    """Return what queries would cost together and how accurate they would be, from their text alone.

    Where no budget is set yet, they are priced as under one of the currency of `spend`, else of pure epsilon.

    >>> from dovetail.query import Count
    >>> from dovetail.query.schema import Schema
    >>> quote(Schema().table({}), Count(), Payment.of(within=5), Standing()).charge
    <charge: epsilon 0.53818>
    """
    questions = tuple(_checked(query, table, persons) for query in listed_queries(queries))
    if payment.clamp and not all(each.measure.never_negative() for each in questions):
        raise InvalidQuery(
            "Only counts, and sums whose low is at least 0, can be cut off at 0.", LeaveOut("clamp")
        )
    if payment.plan is not None:
        return _by_plan(questions, payment, standing, _paid_plan(payment.plan, standing, neighbours))
    if payment.queries is not None:
        return _by_plan(questions, payment, standing, planned(payment, standing, neighbours))
    if payment.spend is not None and (isinstance(queries, Workload) or len(questions) == 1):
        together = _together(questions, payment, standing, neighbours)
        if together is not None:
            return together
    return _by_answer(questions, payment, standing, neighbours)


def _checked(query: Query, table: Table, persons: Persons | None) -> CheckedQuery:
    question = query.checked(table)
    if persons is not None and question.measure.tallies_persons:
        # All rows are counted, whatever the bounds of the session: the same question has one form.
        return replace(question, persons=question.measure.tallied(persons))
    check_chosen(persons)
    if persons is not None:
        return replace(question, persons=persons)
    if question.measure.counts_persons:
        raise InvalidQuery("To count persons, say which column identifies them.", ProtectPersons())
    return question


def _by_answer(
    questions: tuple[CheckedQuery, ...], payment: Payment, standing: Standing, neighbours: Neighbours
) -> Quote:
    """Price answers that are paid for on their own."""
    budget = standing.budget or payment.spend or Budget.pure(1)
    units = _delta_units(questions, payment, standing.budget)
    settled = tuple(each.settled() for each in questions)
    composed = _composed(settled, payment, budget, neighbours)
    if composed is not None:
        questions, noises = settled, composed
    else:
        chosen = [
            _chosen(each, len(questions), payment, budget, standing.spent, neighbours) for each in questions
        ]
        questions, noises = tuple(each for each, _ in chosen), [each for _, each in chosen]
    asked = tuple(_quoted(*pair, units) for pair in zip(questions, noises, strict=True))
    charge = charge_of(questions, noises, neighbours)
    if composed is not None:
        assert payment.spend is not None
        charge = at_price(charge, payment.spend, budget, standing.spent)
    thresholds = [each.threshold.charge() for each in asked if each.threshold is not None]
    return Quote(asked, sum(thresholds, charge), payment, standing, neighbours)


def _together(
    questions: tuple[CheckedQuery, ...], payment: Payment, standing: Standing, neighbours: Neighbours
) -> Quote | None:
    """Price questions that share a price by what they measure; None for one that has no choice of ways."""
    assert payment.spend is not None
    budget = standing.budget or payment.spend
    if len(questions) > 1 and any(each.discovers for each in questions):
        raise InvalidQuery(
            "The cells of a workload are public. Ask for discovered keys in a separate question.",
            Give("keys"),
        )
    _delta_units(questions, payment, standing.budget)
    ways = [ways_at_price(each, payment.spend, budget, neighbours) for each in questions]
    if len(questions) == 1 and not ways[0]:
        return None
    price = price_of(payment.spend, budget)
    chosen, noises = shared_price(questions, ways, price, neighbours)
    charge = planned_charge(chosen, noises, neighbours, price, budget, standing.spent)
    # The errors of ways are those at the whole price, which only a single question has.
    compared = tuple(ways[0]) if len(ways) == 1 else ()
    asked = (QuotedQuery(*pair, ways=compared) for pair in zip(chosen, noises, strict=True))
    return Quote(tuple(asked), charge, payment, standing, neighbours)


def _by_plan(questions: tuple[CheckedQuery, ...], payment: Payment, standing: Standing, plan: Plan) -> Quote:
    """Price answers as slots of a plan; of one that is not open yet, the whole plan is charged."""
    questions = tuple(each.settled() for each in questions)
    if any(question.discovers for question in questions):
        raise InvalidParameter(
            "plan", plan.id, "left out where keys are found in the rows", "A plan has no delta for them."
        )
    asked = tuple(QuotedQuery(question, noises_for(plan, question)) for question in questions)
    if payment.within is not None and any(each.noises != (plan.noise,) for each in asked):
        raise InvalidQuery(
            "Only counts can be planned with an accuracy, because only their error can be promised.",
            "Pay for a sum, a mean or many rows per person with a noise or a price.",
            Give("noise", "spend"),
        )
    slots = sum(slots_for(plan, question) for question in questions)
    charge = Charge.zero() if plan.id else plan.charge
    return Quote(asked, charge, payment, standing, plan.neighbours, plan, slots)


def _paid_plan(plan: Plan, standing: Standing, neighbours: Neighbours) -> Plan:
    """Return the plan as it stands now."""
    # A plan of another ledger may bear the same number; its noise is not what this one paid for.
    known = next((each for each in standing.plans if each == plan), None)
    if known is None:
        raise InvalidParameter("plan", plan.id, "a plan of these data", SeePlans())
    if plan.neighbours != neighbours:
        raise InvalidParameter("plan", plan.id, f"a plan that protects the same: {neighbours}", SeePlans())
    return known


def _delta_units(questions: Sequence[CheckedQuery], payment: Payment, budget: Budget | None) -> int:
    """Return the delta, in units of 1e-18, that each question with keys to be found out may pay."""
    discovering = sum(question.discovers for question in questions)
    if not discovering:
        if payment.delta is not None:
            raise InvalidParameter(
                "delta", payment.delta, "left out where no keys are found in the rows", LeaveOut("delta")
            )
        return 0
    if budget is not None and budget.currency != "approximate":
        raise InvalidParameter(
            "keys:discover",
            "discover",
            f"asked under an (epsilon, delta) budget; that of these data is {budget}",
            "A key that only one person has is shown with a small probability, which only a delta covers. "
            "List the keys, or keep the data under an (epsilon, delta) budget.",
        )
    # A price is shared among all questions of a batch, a delta beside it among those that pay one.
    return delta_share(payment, discovering if payment.spend is None else len(questions))


def delta_share(payment: Payment, shares: int) -> int:
    """Return each share of the delta that finding out keys may pay, in units of 1e-18.

    >>> delta_share(Payment(delta=Fraction(1, 10**8)), 4)
    2500000000
    """
    spent = payment.spend.delta_limit if payment.spend is not None else Fraction(0)
    if payment.delta is not None and spent:
        raise InvalidParameter(
            "delta", payment.delta, "left out where the price has a delta", LeaveOut("delta")
        )
    units = floor((payment.delta or spent) / DELTA_UNIT / shares)
    if units < 1:
        raise MissingPrice(
            "Finding keys in the rows costs a delta: it bounds the chance to show a key of one person alone.",
            Give("delta", "spend:delta"),
            "Use at most half of the budget's delta; the other half pays for noise.",
        )
    return units


def _composed(
    questions: Sequence[CheckedQuery], payment: Payment, budget: Budget, neighbours: Neighbours
) -> Noises | None:
    """Return noises that keep a price with delta all together, where that buys less error."""
    # The delta of a question with keys to be found out goes into its threshold.
    if payment.spend is None or not payment.spend.delta_limit or any(each.discovers for each in questions):
        return None
    if budget.currency != "approximate":
        return None
    return noises_composed(questions, payment.spend, neighbours)


def _chosen(
    question: CheckedQuery,
    together: int,
    payment: Payment,
    budget: Budget,
    spent: Charge,
    neighbours: Neighbours,
) -> tuple[CheckedQuery, tuple[IntegerNoise, ...]]:
    """Return how one of several questions is measured, and the noise of each of its components."""
    settled = question.settled()
    if payment.noise is not None:
        return settled, scaled_noises(settled, payment.noise, payment.sensitivity)
    if payment.within is not None:
        goal = (payment.within, payment.probability, budget)
        best = cheapest_reaching(question, *goal, spent, neighbours)
        return best or (settled, noises_within(settled, *goal, neighbours))
    assert payment.spend is not None
    price = price_of(payment.spend, budget)
    if price.currency == "pure" and payment.spend.zeta_limit is None and together > 1:
        ways = ways_at_price(question, Budget.pure(price.epsilon_limit / together), budget, neighbours)
        if ways:
            return replace(question, measure=ways[0].measure), ways[0].noises
    return settled, noises_at_price(settled, payment.spend, neighbours, together)


def _quoted(question: CheckedQuery, noises: tuple[IntegerNoise, ...], units: int) -> QuotedQuery:
    threshold = threshold_for(question, noises[0], units) if question.discovers else None
    return QuotedQuery(question, noises, threshold)
