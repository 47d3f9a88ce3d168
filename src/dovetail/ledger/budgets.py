"""Change a budget: an event of its own, never below what is spent."""

from __future__ import annotations

import warnings

from dovetail.errors import DovetailWarning, InvalidParameter
from dovetail.errors.remedies import Give
from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge

from .balances import all_balances, budget_of, dataset_row, set_caps, spent_of
from .chain import canonical
from .principals import by_whom
from .record_writer import RecordWriter
from .schema import datasets
from .text import plain


class ExPost(DovetailWarning):
    """A limit was changed after answers were given under the old one."""


def checked_budget(budget: object) -> Budget:
    """Return a budget, or say what was given instead."""
    if not isinstance(budget, Budget):
        raise InvalidParameter("budget", budget, "a budget", Give("budget"))
    return budget


def change_budget(
    writer: RecordWriter, dataset: int, budget: Budget, by: int | None = None, reason: str | None = None
) -> None:
    """Replace a dataset's budget; it must cover what is spent on every vintage."""
    row = dataset_row(writer.connection, dataset)
    before = budget_of(row["budget"])
    if budget == before:
        return
    borne = [spent_of(each) for each in all_balances(writer.connection, dataset)]
    short = [spent for spent in borne if not budget.allows(Charge.zero(), spent)]
    if short:
        raise InvalidParameter(
            "budget",
            str(budget),
            f"at least what is spent ({short[0]})",
            "What was answered cannot be taken back.",
        )
    ex_post = any(spent != Charge.zero() for spent in borne)
    if ex_post and row["vintages"] == "disjoint" and before.currency == "pure" != budget.currency:
        # Open vintages share what is not pure, and what was charged until now was charged to each alone.
        raise InvalidParameter(
            "budget",
            str(budget),
            "pure, because vintages declared disjoint have spent of a pure one",
            "Nothing was changed.",
        )
    writer.update(datasets, row, {"budget": canonical(budget.to_dict())})
    set_caps(writer, dataset, budget)
    content = {"before": before.to_dict(), "after": budget.to_dict(), "ex_post": ex_post}
    content |= {} if reason is None else {"reason": plain("reason", reason)}
    writer.record("budget", dataset, content | by_whom(by))
    if ex_post:
        warnings.warn(
            ExPost(
                "Answers were given under the old budget, so the new one bounds the privacy loss only after "
                "the fact (ex post): the choice to change it may depend on those answers. The record says so."
            ),
            stacklevel=3,
        )
