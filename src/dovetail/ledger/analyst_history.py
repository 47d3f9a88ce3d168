"""What one analyst asked, newest first, by the random identifiers that outsiders may see."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from dovetail.check import integer
from dovetail.errors import AccessRefused, InvalidParameter
from dovetail.privacy.charge import Charge

from .balances import dataset_row
from .grants import permitted
from .keys import past
from .record_writer import event_at
from .registry import first_name
from .requests import open_attempt
from .schema import events, plans, requests
from .text import sought
from .vintages import labels


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of an analyst; `answer` is None while it is under way and where it failed.

    `charge` is None where a plan paid, whose public identifier is `plan`. What is under way counts as
    `interrupted` when its lease is over: the same request key takes it over.
    """

    public: str
    dataset: str
    asked_at: datetime
    body: str
    state: str
    answer: str | None
    answered_at: datetime | None
    charge: Charge | None = None
    plan: str | None = None
    vintages: tuple[str, ...] = ()
    interrupted: bool = False


def asked_by(connection: Connection, principal: int, before: str | None, limit: int) -> list[Asked]:
    """Return an analyst's own questions, newest first; `before` is the last identifier of the page before."""
    limit = integer("limit", limit, low=1, high=1000)
    query = select(requests).where(requests.c.principal == principal)
    if before is not None:
        query = query.where(requests.c.id < _own(connection, principal, before).id)
    rows = connection.execute(query.order_by(requests.c.id.desc()).limit(limit)).all()
    return [_asked(connection, row) for row in rows]


def asked_as(connection: Connection, principal: int, public: str) -> Asked:
    """Return one question of an analyst; another's is as unknown as one that was never asked."""
    return _asked(connection, _own(connection, principal, public))


def asked_under(connection: Connection, principal: int, dataset: int, key: str) -> Asked | None:
    """Return the question that an analyst asked under a retry key, or None."""
    query = select(requests).where(
        requests.c.dataset == dataset, requests.c.principal == principal, requests.c.key == key
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _asked(connection, row)


def _own(connection: Connection, principal: int, public: str) -> Any:
    query = select(requests).where(requests.c.public == sought(public), requests.c.principal == principal)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise InvalidParameter("id", public, "the identifier of a question that you asked")
    return row


def _asked(connection: Connection, row: Any) -> Asked:
    made = event_at(connection, row.id)
    content = json.loads(made.content)
    closing = None if row.closing is None else event_at(connection, row.closing)
    answer = json.loads(closing.content)["answer"] if row.state == "answered" and closing else None
    return Asked(
        row.public,
        _name(connection, row),
        datetime.fromisoformat(made.at),
        content["body"],
        row.state,
        answer,
        None if closing is None else datetime.fromisoformat(closing.at),
        Charge.from_dict(content["charge"]) if "charge" in content else None,
        None if row.plan is None else _plan_id(connection, row.plan),
        labels(connection, row.dataset, row.vintages),
        row.state == "reserved" and past(open_attempt(connection, row.id)["until"]),
    )


def _name(connection: Connection, row: Any) -> str:
    """Return what the dataset is called; to whoever may not see it any more, what it was called then."""
    try:
        permitted(connection, row.principal, dataset_row(connection, row.dataset))
    except AccessRefused:
        named = select(events.c.content).where(
            events.c.dataset == row.dataset,
            events.c.kind.in_(("dataset", "rename")),
            events.c.sequence < row.id,
        )
        newest = connection.execute(named.order_by(events.c.sequence.desc()).limit(1)).scalar_one()
        return str(json.loads(newest)["name"])
    return first_name(connection, row.dataset)


def _plan_id(connection: Connection, plan: int) -> str:
    return str(connection.execute(select(plans.c.public).where(plans.c.id == plan)).scalar_one())
