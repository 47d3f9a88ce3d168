"""Say what the rest of a budget still buys, when a question was too dear; no row is looked at."""

from __future__ import annotations

from fractions import Fraction

from dovetail.errors import BudgetExceeded, DovetailError
from dovetail.privacy import Budget, Charge

from .goals import noises_at_price
from .intervals import half_width
from .price import charge_of
from .question import Question
from .sensitivity import Neighbours


def error_of_rest(
    question: Question, budget: Budget, spent: Charge, neighbours: Neighbours, level: Fraction
) -> Fraction | None:
    """Return the error that the rest of a budget buys for a question; None where it buys none that is known.

    The error of a mean depends on the number of rows, which is private.

    >>> from dovetail.release.question import Rows
    >>> print(error_of_rest(Question(Rows()), Budget.pure(1), Charge.zero(), "add-remove", Fraction(95, 100)))
    3
    """
    left = budget.remaining(spent)
    try:
        rest = Budget.pure(left.epsilon)
        if left.zeta is not None:
            rest = Budget.zeta(left.zeta, max_epsilon=left.epsilon)
        noises = noises_at_price(question, rest, neighbours)
        noises[0].sample(0)
    except DovetailError:  # nothing remains, or so little that no noise is wide enough
        return None
    affordable = budget.allows(spent, charge_of([question], [noises], neighbours))
    return half_width(noises[0], 1 - level, 1) * question.step if affordable and len(noises) == 1 else None


def with_rest(error: BudgetExceeded, found: Fraction | None, level: Fraction) -> BudgetExceeded:
    """Return the error with what is still possible said at its end."""
    if found is None:
        return error
    shown = int(found) if found.denominator == 1 else f"{float(found):.6g}"
    text = f"{error} What remains pays for ±{shown} with probability {float(level) * 100:.6g} %."
    return BudgetExceeded(text, error.requested, error.remaining)
