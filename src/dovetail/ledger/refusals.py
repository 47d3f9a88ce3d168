"""Refuse what a limit does not cover, and say which limit it is."""

from __future__ import annotations

from typing import NoReturn

from dovetail.errors import BudgetExceeded
from dovetail.errors.remedies import AskForLess
from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge


def refuse_charge(
    name: str, limit: Budget, spent: Charge, charge: Charge, *, allotted: bool = False, hidden: bool = False
) -> NoReturn:
    """Say which is short, budget or allotment; where `hidden`, nothing of what others have spent is told."""
    if hidden:
        raise BudgetExceeded(
            f"This costs {charge}, and the limit of {name!r} is reached.",
            AskForLess(),
            "Nothing was spent. Ask the curator what is left.",
            requested=charge,
        )
    remaining = limit.remaining(spent)
    short = f"your allotment for {name!r}" if allotted else f"the budget of {name!r}"
    if limit.currency != "approximate" and (charge.epsilon is None or charge.delta):
        raise BudgetExceeded(
            f"This costs {charge}, which {short} ({limit}) can never pay, because it has no delta.",
            "Nothing was spent.",
            "Choose a noise that has a worst case, such as geometric noise or a mixture.",
            requested=charge,
            remaining=remaining,
        )
    raise BudgetExceeded(
        f"This costs {charge}, but only {remaining} remains of {short} ({limit}).",
        "Nothing was spent.",
        AskForLess(smaller_delta=charge.delta > remaining.delta > 0),
        requested=charge,
        remaining=remaining,
    )
