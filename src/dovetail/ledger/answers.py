"""What was answered before: a retry, or the same question, costs nothing."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, bindparam, select

from dovetail.errors import LedgerBusy, LedgerError, RequestConflict
from dovetail.release.ports import Request, StoredAnswer

from .prepared_statements import run
from .schema import requests
from .store import event_at

_BY_KEY = select(requests).where(
    requests.c.dataset == bindparam("of"),
    requests.c.analyst == bindparam("by"),
    requests.c.key == bindparam("under"),
)
_BY_QUESTION = (
    select(requests)
    .where(
        requests.c.dataset == bindparam("of"),
        requests.c.question == bindparam("asked"),
        requests.c.state == "answered",
    )
    .order_by(requests.c.id.desc())
    .limit(1)
)


def digest(body: str) -> str:
    """Return the short name of a question that the index keeps."""
    return sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def answered_before(connection: Connection, dataset: int, request: Request) -> StoredAnswer | None:
    """Return the stored answer to a retry or to the same question; refuse a retry that has none."""
    if request.key is not None:
        sought = {"of": dataset, "by": request.analyst, "under": request.key}
        row = run(connection, _BY_KEY, sought).first
        if row is not None:
            return _retried(connection, row, request)
    if request.fresh:
        return None
    row = run(connection, _BY_QUESTION, {"of": dataset, "asked": digest(request.body)}).first
    return None if row is None else _stored(connection, row, request.body)


def _retried(connection: Connection, row: Any, request: Request) -> StoredAnswer:
    if row.question != digest(request.body):
        raise RequestConflict(
            f"the request key {request.key!r} was used for another question. Use one key per question."
        )
    if row.state == "answered":
        return _stored(connection, row, request.body)
    if row.state == "failed":
        raise LedgerError(
            f"the request {request.key!r} failed and stays charged. "
            "Ask again with a new key, which pays again."
        )
    since = event_at(connection, row.id).at
    raise LedgerBusy(
        f"the request {request.key!r} was reserved at {since} and is not answered yet. This retry spent "
        "nothing: try again. If the first attempt was interrupted, its charge stays; "
        "ask with a new key, which pays again."
    )


def _stored(connection: Connection, row: Any, body: str) -> StoredAnswer:
    event = event_at(connection, row.closing)
    return StoredAnswer(body, json.loads(event.content)["answer"], datetime.fromisoformat(event.at))
