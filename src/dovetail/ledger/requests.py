"""What became of each question: answered before (a repeat costs nothing), under way, or given up.

A reservation carries a lease and the number of the attempt. When the lease is over, because a worker died,
the same key resumes the same charge with the next number, and the older attempt can no longer settle: of all
attempts at most one answer is ever stored, and only what is stored is shown. Clocks decide when that happens,
never whether it is safe.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from dovetail.errors import LedgerBusy, LedgerCorrupt, LedgerError, RequestConflict
from dovetail.release.account import Request, Reservation, StoredAnswer

from . import chain
from .balances import Row
from .keys import past
from .plans import take_slots
from .prepared_statements import Read, run
from .principals import public_id
from .record_writer import RecordWriter, event_at
from .schema import attempts, requests
from .text import digest
from .vintages import Chosen

_BY_KEY = select(requests).where(
    requests.c.dataset == bindparam("of"),
    requests.c.principal == bindparam("by"),
    requests.c.key == bindparam("under"),
)
_ANSWERED = (
    select(requests)
    .where(
        requests.c.dataset == bindparam("of"),
        requests.c.question == bindparam("asked"),
        requests.c.vintages == bindparam("about"),
        requests.c.state == "answered",
    )
    .order_by(requests.c.id.desc())
)
_BY_QUESTION = _ANSWERED.limit(1)
_OWN_BY_QUESTION = _ANSWERED.where(requests.c.principal == bindparam("by")).limit(1)
_OF_VERSION = _ANSWERED.where(requests.c.version == bindparam("state_of")).limit(1)
_OWN_OF_VERSION = _OWN_BY_QUESTION.where(requests.c.version == bindparam("state_of"))
# More than so many answers to one question are not looked through for one that is exact enough.
_MOST_TRIED = 100
_SIMILAR = (
    select(requests)
    .where(
        requests.c.dataset == bindparam("of"),
        requests.c.question >= bindparam("first"),
        requests.c.question < bindparam("end"),
        requests.c.vintages == bindparam("about"),
        requests.c.state == "answered",
    )
    .order_by(requests.c.id.desc())
    .limit(_MOST_TRIED)
)
_OWN_SIMILAR = _SIMILAR.where(requests.c.principal == bindparam("by"))
_REQUEST = select(requests).where(requests.c.id == bindparam("of"))
_ATTEMPT = select(attempts).where(attempts.c.request == bindparam("of"))


class AccountRequest(NamedTuple):
    """A request with whom and what the ledger takes it to be about."""

    request: Request
    dataset: Row
    principal: int | None
    chosen: Chosen


def answered_before(
    writer: RecordWriter, asking: AccountRequest, lease: timedelta
) -> StoredAnswer | Reservation | None:
    """Return the stored answer to a retry or to the same question, or resume what a dead worker left."""
    request, connection = asking.request, writer.connection
    if request.key is not None and asking.principal is not None:
        row = run(connection, *_by_key(asking)).first
        if row is not None:
            return _retried(writer, row, asking, lease)
    return None if request.fresh else stored_answer(connection, asking)


def stored_for(connection: Connection, asking: AccountRequest) -> StoredAnswer | None:
    """Return what `answered_before` would find stored; nothing is resumed."""
    request = asking.request
    if request.key is not None and asking.principal is not None:
        row = run(connection, *_by_key(asking)).first
        if row is not None:
            _check_same(row, asking)
            return _stored(connection, row, asking) if row.state == "answered" else None
    return None if request.fresh else stored_answer(connection, asking)


def question_reads(asking: AccountRequest) -> list[Read]:
    """Return what `answered_before` reads about a question that is new."""
    request = asking.request
    reads = [] if request.key is None or asking.principal is None else [_by_key(asking)]
    if not request.fresh and not (_own(asking) and asking.principal is None):
        reads.append(_by_question(asking))
        if request.question is not None and request.accepts is not None:
            reads.append(_similar(asking))
    return reads


def _own(asking: AccountRequest) -> bool:
    """Tell whether stored answers are given only to those who asked for them."""
    return bool(asking.dataset["answers"] == "own")


def _about(asking: AccountRequest) -> dict[str, Any]:
    subject = {"of": asking.dataset["id"], "about": asking.chosen.vintages}
    return subject | {"by": asking.principal} if _own(asking) else subject


def _by_key(asking: AccountRequest) -> Read:
    return _BY_KEY, {"of": asking.dataset["id"], "by": asking.principal, "under": asking.request.key}


def _by_question(asking: AccountRequest) -> Read:
    sought = _about(asking) | {"asked": indexed(asking.request)}
    return (_OWN_BY_QUESTION if _own(asking) else _BY_QUESTION), sought


def _similar(asking: AccountRequest) -> Read:
    assert asking.request.question is not None
    # What follows the hash of the question is a hash too, so its letters end with f.
    first = digest(asking.request.question)
    wanted = _about(asking) | {"first": first, "end": first + "g"}
    return (_OWN_SIMILAR if _own(asking) else _SIMILAR), wanted


def stored_answer(connection: Connection, asking: AccountRequest) -> StoredAnswer | None:
    """Return the newest answer to the question that may be given.

    First of this version: with this noise, else with another that is exact enough. Then a stale one.
    """
    own = _own(asking)
    if own and asking.principal is None:
        return None
    statement, sought = _by_question(asking)
    row = run(connection, statement, sought).first
    version = asking.chosen.version
    if row is not None and version is not None and row.version != version:
        of_version = {**sought, "state_of": version}
        same = run(connection, _OWN_OF_VERSION if own else _OF_VERSION, of_version).first
        row = row if same is None else same
    if row is None or row.version != version:
        enough = _exact_enough(connection, asking)
        if enough is not None:
            return enough
    return None if row is None else _stored(connection, row, asking)


def _exact_enough(connection: Connection, asking: AccountRequest) -> StoredAnswer | None:
    """Return an answer of this version to the same question whose noise, another one, will do as well."""
    request = asking.request
    if request.question is None or request.accepts is None:
        return None
    for row in run(connection, *_similar(asking)).rows:
        if row.version == asking.chosen.version:
            body = json.loads(event_at(connection, row.id).content)["body"]
            if request.accepts(body):
                return replace(_stored(connection, row, asking), body=body)
    return None


def indexed(request: Request) -> str:
    """Return what the index knows a request by: the hash of its question, if any, then that of its body."""
    return ("" if request.question is None else digest(request.question)) + digest(request.body)


def begin(
    writer: RecordWriter, asking: AccountRequest, principal: int, paid: dict[str, Any], lease: timedelta
) -> Reservation:
    """Record a reservation that was paid for."""
    request, number = asking.request, writer.next
    public = request.public or public_id()
    until = (chain.now() + lease).isoformat()
    content: dict[str, Any] = {"body": request.body, "by": principal, "public": public, "until": until} | paid
    row: dict[str, Any] = {"id": number, "public": public, "dataset": asking.dataset["id"]}
    row |= {"principal": principal, "key": request.key, "plan": request.plan, "state": "reserved"}
    row["question"] = indexed(request)
    if request.question is not None:
        content["question"] = digest(request.question)
    row |= {"vintages": asking.chosen.vintages, "version": asking.chosen.version}
    for name in ("key", "vintages", "version"):
        if row[name]:
            content[name] = row[name]
    held = paid.get("held", 0)
    writer.insert(requests, row)
    plan = request.plan if held else None
    writer.insert(attempts, {"request": number, "attempt": 1, "until": until, "plan": plan, "held": held})
    writer.record("reservation", asking.dataset["id"], content)
    return Reservation(number, 1, public)


def _check_same(row: Any, asking: AccountRequest) -> None:
    """Refuse a retry that asks something else."""
    if row.question != indexed(asking.request) or row.vintages != asking.chosen.vintages:
        raise RequestConflict(
            f"The request key {asking.request.key!r} was used for another question.",
            "Use one key per question.",
        )


def _retried(
    writer: RecordWriter, row: Any, asking: AccountRequest, lease: timedelta
) -> StoredAnswer | Reservation:
    key = asking.request.key
    _check_same(row, asking)
    if row.state == "answered":
        return _stored(writer.connection, row, asking)
    if row.state == "failed":
        raise LedgerError(
            f"The request {key!r} failed and stays charged.", "Ask again with a new key, which pays again."
        )
    held = open_attempt(writer.connection, row.id)
    if past(held["until"]):
        return _resumed(writer, row, held, lease)
    since = event_at(writer.connection, row.id).at
    raise LedgerBusy(
        f"The request {key!r} was reserved at {since} and is not answered yet.",
        "This retry spent nothing: try again. If the first attempt was interrupted, a retry "
        f"after {held['until']} takes its charge over.",
    )


def _resumed(writer: RecordWriter, row: Any, held: Row, lease: timedelta) -> Reservation:
    """Take over the charge of an attempt whose lease is over; an update that it held is not returned."""
    number, until = held["attempt"] + 1, (chain.now() + lease).isoformat()
    if held["held"]:
        take_slots(writer, held["plan"], row.dataset, row.principal, 1)
    writer.update(attempts, held, {"attempt": number, "until": until})
    content = {"request": row.id, "attempt": number, "until": until, "held": held["held"]}
    writer.record("attempt", row.dataset, content)
    return Reservation(row.id, number, row.public)


def open_attempt(connection: Connection, request: int) -> Row:
    """Return who works on a reserved request."""
    row = run(connection, _ATTEMPT, {"of": request}).first
    if row is None:
        raise LedgerCorrupt(f"Request {request} is reserved, but nobody works on it.", "Run verify.")
    attempt: Row = row._asdict()
    return attempt


def reserved_as(connection: Connection, public: str) -> Reservation | None:
    """Return the open reservation of an identifier, if there is one."""
    row = connection.execute(select(requests).where(requests.c.public == public)).one_or_none()
    if row is None or row.state != "reserved":
        return None
    return Reservation(row.id, open_attempt(connection, row.id)["attempt"], public)


def attempt_reads(reservation: Reservation) -> list[Read]:
    """Return what `attempt_of` reads."""
    return [(_REQUEST, {"of": reservation.id}), (_ATTEMPT, {"of": reservation.id})]


def attempt_of(writer: RecordWriter, reservation: Reservation, dataset: int, name: str) -> tuple[Row, Row]:
    """Return the request and the attempt of an open reservation, which must be the latest attempt."""
    row = run(writer.connection, _REQUEST, {"of": reservation.id}).first
    if row is None or row.dataset != dataset or row.state != "reserved":
        # Where it was answered, most probably by whoever took it over, a retry gets that answer.
        kind = LedgerBusy if row is not None and row.state == "answered" else LedgerError
        raise kind(f"This reservation of {name!r} is not open: it was answered, failed or never made.")
    held = open_attempt(writer.connection, reservation.id)
    if held["attempt"] != reservation.attempt:
        raise LedgerBusy(
            f"This reservation of {name!r} is not open to attempt {reservation.attempt}: its lease was over, "
            f"and attempt {held['attempt']} took it over.",
            "Nothing was stored by this one: ask again with the same key.",
        )
    return row._asdict(), held


def close(writer: RecordWriter, found: tuple[Row, Row], state: str, content: dict[str, Any]) -> datetime:
    """Record how a reservation ended, which `attempt_of` has found."""
    row, held = found
    writer.delete(attempts, held)
    writer.update(requests, row, {"state": state, "closing": writer.next})
    kind = "answer" if state == "answered" else "failure"
    made = writer.record(kind, row["dataset"], {"request": row["id"], **content})
    return datetime.fromisoformat(made.at)


def _stored(connection: Connection, row: Any, asking: AccountRequest) -> StoredAnswer:
    event = event_at(connection, row.closing)
    return StoredAnswer(
        asking.request.body,
        json.loads(event.content)["answer"],
        datetime.fromisoformat(event.at),
        row.version,
        row.version != asking.chosen.version,
        None not in (row.version, asking.chosen.version),
        row.public if row.principal == asking.principal else None,
    )
