"""What one analyst asked, newest first, by the random identifiers that outsiders may see."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from dovetail.check import integer
from dovetail.errors import InvalidParameter

from .pen import event_at
from .registry import first_name
from .schema import requests


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of an analyst; `answer` is None while it is under way and where it failed."""

    public: str
    dataset: str
    asked_at: datetime
    body: str
    state: str
    answer: str | None
    answered_at: datetime | None


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


def _own(connection: Connection, principal: int, public: str) -> Any:
    query = select(requests).where(requests.c.public == public, requests.c.principal == principal)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise InvalidParameter("id", public, "the identifier of a question that you asked")
    return row


def _asked(connection: Connection, row: Any) -> Asked:
    made = event_at(connection, row.id)
    closing = None if row.closing is None else event_at(connection, row.closing)
    answer = json.loads(closing.content)["answer"] if row.state == "answered" and closing else None
    return Asked(
        row.public,
        first_name(connection, row.dataset),
        datetime.fromisoformat(made.at),
        json.loads(made.content)["body"],
        row.state,
        answer,
        None if closing is None else datetime.fromisoformat(closing.at),
    )
