"""Grants: an analyst may ask about a dataset, up to an allotment of the same kind as the dataset's budget."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, select

from dovetail.errors import AccessRefused, DovetailWarning, InvalidParameter
from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge

from .balances import Row, all_balances, budget_of, dataset_row, most_spent, open_balance, set_caps
from .chain import canonical
from .keys import moment, past
from .prepared_statements import recall, run
from .principals import by_whom
from .principals import principal as known
from .record_writer import RecordWriter
from .schema import grants

_HELD = select(grants.c.dataset, grants.c.expires).where(
    grants.c.principal == bindparam("who"), grants.c.revoked.is_(None)
)
_OF = select(grants).where(grants.c.principal == bindparam("who"), grants.c.dataset == bindparam("of"))


class AboveBudget(DovetailWarning):
    """An allotment is larger than the budget of the dataset, which holds first."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What an analyst may spend of a dataset, and has."""

    id: int
    principal: int
    dataset: int
    allotment: Budget
    spent: Charge
    expires: str | None
    revoked: bool


def grant_row(connection: Connection, principal: int, dataset: int) -> Row | None:
    """Return the grant of a principal for a dataset, revoked or not."""
    row = recall(connection, _OF, {"who": principal, "of": dataset}).first
    return None if row is None else row._asdict()


def permitted(connection: Connection, principal: int | None, dataset: Row) -> Row | None:
    """Return the grant that a question is charged to, None where none is needed; refuse who has no right."""
    row = None if principal is None else grant_row(connection, principal, dataset["id"])
    if row is None and dataset["access"] == "anyone":
        return None
    if row is None or row["revoked"] is not None or past(row["expires"]):
        raise AccessRefused(
            "You have no valid grant for this dataset.", "Nothing was spent. A curator can grant it."
        )
    return row


def granted(connection: Connection, principal: int) -> set[int]:
    """Return the datasets that somebody holds a grant for, neither revoked nor over."""
    return {row.dataset for row in run(connection, _HELD, {"who": principal}).rows if not past(row.expires)}


def give(
    writer: RecordWriter,
    principal: int,
    dataset: int,
    allotment: Budget,
    expires: datetime | None,
    by: int | None,
) -> int:
    """Grant an allotment, or change one; it never falls below what was spent of it, revoked or not."""
    owner = dataset_row(writer.connection, dataset)
    budget = budget_of(owner["budget"])
    if allotment.currency != budget.currency:
        raise InvalidParameter(
            "allotment",
            allotment,
            f"of the same kind as the dataset's budget ({budget})",
            "What is spent adds up in it.",
        )
    until = moment("expires", expires)
    row = grant_row(writer.connection, principal, dataset)
    text = canonical(allotment.to_dict())
    values = {"allotment": text, "expires": None if until is None else until.isoformat(), "revoked": None}
    if row is None:
        number = writer.next
        writer.insert(grants, {"id": number, "principal": principal, "dataset": dataset} | values)
        for kept in all_balances(writer.connection, dataset):
            open_balance(writer, number, kept["vintage"], allotment, Charge.zero())
    else:
        number = row["id"]
        spent = most_spent(writer.connection, number)
        if not allotment.allows(Charge.zero(), spent):
            raise InvalidParameter("allotment", str(allotment), f"at least what was spent of it ({spent})")
        writer.update(grants, row, values)
        set_caps(writer, number, allotment)
    above = not _within(allotment, budget)
    content = {"grant": number, "principal": principal, "allotment": allotment.to_dict(), "above": above}
    writer.record("grant", dataset, content | {"expires": values["expires"]} | by_whom(by))
    if above:
        warnings.warn(
            AboveBudget(
                f"The allotment ({allotment}) is above the budget of the dataset ({budget}), which holds "
                "first."
            ),
            stacklevel=4,
        )
    return number


def withdraw(writer: RecordWriter, principal: int, dataset: int, by: int | None) -> None:
    """Revoke a grant; what was spent of it is kept and counts if it is given again."""
    row = grant_row(writer.connection, principal, dataset)
    if row is None:
        raise InvalidParameter(
            "name", str(known(writer.connection, principal)), "somebody with a grant for this dataset"
        )
    if row["revoked"] is None:
        writer.update(grants, row, {"revoked": writer.next})
        writer.record("revoked grant", dataset, {"grant": row["id"]} | by_whom(by))


def grants_of(
    connection: Connection, principal: int | None = None, dataset: int | None = None
) -> list[Grant]:
    """Return the grants of one analyst, of one dataset, or all."""
    query = select(grants).order_by(grants.c.id)
    if principal is not None:
        query = query.where(grants.c.principal == principal)
    if dataset is not None:
        query = query.where(grants.c.dataset == dataset)
    return [
        Grant(
            row.id,
            row.principal,
            row.dataset,
            budget_of(row.allotment),
            most_spent(connection, row.id),
            row.expires,
            row.revoked is not None,
        )
        for row in connection.execute(query).all()
    ]


def _within(allotment: Budget, budget: Budget) -> bool:
    return (
        allotment.epsilon_limit <= budget.epsilon_limit
        and allotment.delta_limit <= budget.delta_limit
        and (allotment.zeta_limit or 0) <= (budget.zeta_limit or 0)
    )
