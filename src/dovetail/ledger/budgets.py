"""Change a budget: an event of its own, never below what is spent."""

from __future__ import annotations

import warnings

from sqlalchemy import update

from dovetail.errors import InvalidParameter
from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge

from .amounts import caps, columns, seal
from .chain import canonical
from .schema import datasets
from .standing import row_of, standing
from .store import Pen


class ExPost(UserWarning):
    """A limit was changed after answers were given under the old one."""


def change_budget(pen: Pen, dataset: int, budget: Budget) -> None:
    """Replace a dataset's budget; it must cover what is spent."""
    row = row_of(pen.connection, dataset)
    before, spent = standing(row)
    if budget == before:
        return
    if not budget.allows(Charge.zero(), spent):
        raise InvalidParameter(
            "budget",
            str(budget),
            f"at least what is spent ({spent})",
            "What was answered cannot be taken back.",
        )
    ex_post = spent != Charge.zero()
    text = canonical(budget.to_dict())
    content = {"before": before.to_dict(), "after": budget.to_dict(), "ex_post": ex_post}
    made = pen.record("budget", dataset, content | {"seal": seal(text, columns(spent))})
    pen.connection.execute(
        update(datasets)
        .where(datasets.c.id == dataset)
        .values(budget=text, latest=made.sequence, **caps(budget))
    )
    if ex_post:
        warnings.warn(
            "answers were given under the old budget, so the new one bounds the privacy loss only after the "
            "fact (ex post): the choice to change it may depend on those answers. The record says so.",
            ExPost,
            stacklevel=3,
        )
