"""Stop at a price that nobody typed and that costs much: an accuracy may cost more than its user thinks."""

from __future__ import annotations

from fractions import Fraction

from dovetail.answers.quote import Quote
from dovetail.errors import CostlyAnswer
from dovetail.errors.remedies import PayKnowingly
from dovetail.exact.figures import rounded
from dovetail.privacy import Budget, Charge
from dovetail.privacy.charge import UNIT

from .calibration import error_of_rest

MOST = 5
MOST_OF_REST = Fraction(1, 2)
USUAL = 1


def check_costly(quote: Quote) -> None:
    """Refuse an accuracy that costs more than epsilon 5, or more than 1 and half of what remains.

    Where answers are planned together, that is the price of all of them. A price, a noise or a plan that was
    typed is never asked about, nor is an answer that is free or that the budget does not cover anyway.
    """
    if quote.payment.within is None or quote.stored is not None:
        return
    price = _price(quote)
    if price <= USUAL or not quote.affordable:
        return
    rest = _rest(quote)
    if price <= MOST and (rest is None or price <= MOST_OF_REST * rest):
        return
    left = "" if rest is None else f" ({rounded(rest, down=True)} remains)"
    exact = quote.charge.epsilon
    typed = rounded(price) if exact is None else f"{exact:f}"
    planned = quote.payment.queries
    together = "" if planned is None else f" for {planned:,} answers together"
    raise CostlyAnswer(
        f"This accuracy costs epsilon {rounded(price)}{together}{left}. Confirm a price this high.",
        PayKnowingly(typed, _bought(quote), quote.level, planned),
    )


def _price(quote: Quote) -> Fraction:
    """Return the worst-case epsilon; where that has no bound, how much less would remain."""
    units = quote.charge.epsilon_units
    if units is not None:
        return units * UNIT
    before, after = _rest(quote), quote.remaining
    return Fraction(0) if before is None or after is None else before - Fraction(after.epsilon)


def _rest(quote: Quote) -> Fraction | None:
    left = quote.standing.remaining
    return None if left is None else Fraction(left.epsilon)


def _bought(quote: Quote) -> Fraction | None:
    """Return what an epsilon of 1 would buy for a question that is asked alone.

    Planned answers share it equally. Under a delta, they would get more than that, so nothing is said.
    """
    slots, budget = quote.payment.queries or 1, quote.standing.budget
    if len(quote.asked) != 1 or (slots > 1 and (budget is None or budget.currency != "pure")):
        return None
    usual = (Budget.pure(Fraction(USUAL, slots)), Charge.zero(), quote.neighbours, quote.level)
    return error_of_rest(quote.asked[0].question, *usual)
