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

    A price, a noise or a plan that was typed is never asked about, nor is an answer that is free or that the
    budget does not cover anyway.
    """
    if quote.payment.within is None or quote.payment.queries is not None or quote.stored is not None:
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
    raise CostlyAnswer(
        f"This accuracy costs epsilon {rounded(price)}{left}. A price that high has to be typed.",
        PayKnowingly(typed, _bought(quote), quote.level),
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
    """Return what an epsilon of 1 would buy for a question that is asked alone."""
    if len(quote.asked) != 1:
        return None
    usual = (Budget.pure(USUAL), Charge.zero(), quote.neighbours, quote.level)
    return error_of_rest(quote.asked[0].question, *usual)
