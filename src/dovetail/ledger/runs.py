"""Online runs: a plan whose slots are updates, with thresholds drawn once, which never leave the ledger.

A batch reserves one update as a hold before it tests anything. A firing uses the hold up and takes the next
one; ending without a firing returns it. The hold of a process that died is never returned, so a firing that
nobody saw is paid for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, bindparam, select

from dovetail.check import integer
from dovetail.errors import LedgerError
from dovetail.sampling import random_bytes

from .balances import Row
from .chain import canonical
from .plans import give_back, plan_row
from .prepared_statements import run
from .record_writer import RecordWriter, event_at
from .schema import attempts, firings, plans, requests, runs

_RUN = select(runs).where(runs.c.plan == bindparam("of"))
_FAR = 2**62


def commitment(above: int, below: int, nonce: bytes) -> str:
    """Return what the record holds of the thresholds: it binds them, and with 256 random bits hides them."""
    return sha256(canonical([nonce.hex(), above, below]).encode()).hexdigest()


def keep_thresholds(writer: RecordWriter, above: int, below: int) -> dict[str, Any]:
    """Keep the thresholds of the run that the next event opens; return what that event says of them."""
    above, below = (integer("thresholds", value, low=-_FAR, high=_FAR) for value in (above, below))
    nonce = random_bytes(32)
    writer.insert(runs, {"plan": writer.next, "above": above, "below": below, "nonce": nonce})
    return {"commitment": commitment(above, below, nonce)}


def thresholds(connection: Connection, plan: int, committed: str) -> tuple[int, int]:
    """Return the thresholds of a run; where they are lost or another's, the run is over."""
    row = run(connection, _RUN, {"of": plan}).first
    if row is None or commitment(row.above, row.below, bytes(row.nonce)) != committed:
        raise LedgerError(
            "The private thresholds of this run are lost, so the run is over: drawing them "
            "again would be a release that nobody paid for.",
            "Open another run.",
        )
    return row.above, row.below


def fire(writer: RecordWriter, request: Row, held: Row, measured: str) -> bool:
    """Record a firing and what was measured; tell whether another update could be taken to test on."""
    if not held["held"]:
        raise LedgerError(
            f"Request {request['id']} holds no update, so it cannot fire.", "Nothing was stored."
        )
    row = plan_row(writer.connection, held["plan"], request["dataset"])
    assert row is not None
    more = bool(row["left"] > 0)
    if more:
        writer.update(plans, row, {"left": row["left"] - 1})
    else:
        writer.update(attempts, held, {"held": 0})
    writer.insert(firings, {"id": writer.next, "plan": held["plan"], "request": request["id"]})
    content = {"request": request["id"], "attempt": held["attempt"], "answer": measured, "more": more}
    writer.record("firing", request["dataset"], content)
    return more


def end_hold(writer: RecordWriter, held: Row, dataset: int) -> dict[str, Any]:
    """Return the hold of a batch that ended without a firing since; say so in the event."""
    if not held["held"]:
        return {}
    give_back(writer, held["plan"], dataset)
    return {"returned": held["plan"]}


def committed(connection: Connection, plan: int) -> str | None:
    """Return the commitment that a run's event holds, None for a plan that is no run."""
    value = json.loads(event_at(connection, plan).content).get("commitment")
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """What a run told: the answer to a batch, or (`fired`) what a firing measured; in the order of events."""

    event: int
    request: int
    body: str
    answer: str
    fired: bool


_ASKED = select(requests.c.id, requests.c.closing).where(
    requests.c.plan == bindparam("of"), requests.c.state == "answered"
)
_FIRED = select(firings.c.request, firings.c.id).where(
    firings.c.plan == bindparam("of"), firings.c.id > bindparam("after")
)


def history(connection: Connection, plan: int) -> list[RunEvent]:
    """Return everything that a run told; a public hypothesis is rebuilt from it."""
    told = [(row[1], row[0], False) for row in run(connection, _ASKED, {"of": plan}).rows]
    both = _told(connection, told) + fired(connection, plan)
    return sorted(both, key=lambda each: each.event)


def fired(connection: Connection, plan: int, after: int = 0) -> list[RunEvent]:
    """Return what the firings of a run measured in the events since `after`."""
    sought = {"of": plan, "after": after}
    return _told(connection, [(row[1], row[0], True) for row in run(connection, _FIRED, sought).rows])


def _told(connection: Connection, told: list[tuple[int, int, bool]]) -> list[RunEvent]:
    contents = {
        number: json.loads(event_at(connection, number).content)
        for number in {each for event, request, _ in told for each in (event, request)}
    }
    return [
        RunEvent(event, request, contents[request]["body"], contents[event]["answer"], firing)
        for event, request, firing in sorted(told)
    ]
