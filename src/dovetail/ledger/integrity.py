"""What is checked each time a ledger is opened, at a cost that does not grow with its history."""

from __future__ import annotations

import json

from sqlalchemy import Connection, func, select

from dovetail.errors import LedgerCorrupt, LedgerError
from dovetail.errors.remedies import MigrateLedger

from .chain import Event, Head, origin
from .record_writer import event_at
from .schema import SCHEMA_VERSION, events, ledger
from .state_digest import EMPTY, total

_ADVICE = "It cannot be used until this is resolved: run verify, or restore a backup."


def check_opening(connection: Connection, place: str, witnessed: Head | None) -> Head:
    """Check version, head, live rows and witness; return the head. `verify` finds edits in the middle.

    `place` is what the ledger is called in a refusal: it may be one that nobody has named.
    """
    check_version(connection, place)
    about = connection.execute(select(ledger)).one_or_none()
    if about is None:
        raise _corrupt(place, "has no head")
    head = Head(about.sequence, about.hash)
    last = connection.execute(select(func.max(events.c.sequence))).scalar_one() or 0
    if last != head.sequence or _recomputed(connection, about.identity, last) != head.hash:
        raise _corrupt(place, "has a head that does not match its last event")
    said = EMPTY if last == 0 else json.loads(event_at(connection, last).content).get("state")
    if not about.state == said == total(connection):
        raise _corrupt(place, "has rows that do not match its last event: one was edited or restored")
    if witnessed is not None:
        _check_witness(connection, about.identity, place, head, witnessed)
    return head


def check_version(connection: Connection, place: str) -> None:
    """Refuse a ledger that this Dovetail cannot read as it is."""
    version = connection.execute(select(ledger.c.schema_version)).scalar_one_or_none()
    if version is None:
        raise _corrupt(place, "has no head")
    if version > SCHEMA_VERSION:
        raise LedgerError(
            f"The ledger {place} has schema version {version}, newer than the version {SCHEMA_VERSION} "
            "that this Dovetail reads.",
            "Upgrade Dovetail.",
            kept_at=place,
        )
    if version < SCHEMA_VERSION:
        raise LedgerError(
            f"The ledger {place} has schema version {version}; this Dovetail writes version "
            f"{SCHEMA_VERSION}.",
            "Migrate it; a copy of the old one is kept.",
            MigrateLedger(),
            kept_at=place,
        )


def _corrupt(place: str, what: str) -> LedgerCorrupt:
    return LedgerCorrupt(f"The ledger {place} {what}.", _ADVICE, kept_at=place)


def _recomputed(connection: Connection, identity: str, sequence: int) -> str | None:
    """Return the hash that an event must have, from its content and the hash stored before it."""
    if sequence == 0:
        return origin(identity).hash
    row = event_at(connection, sequence)
    before = event_at(connection, sequence - 1) if sequence > 1 else origin(identity)
    if row is None or before is None:
        return None
    expected = Event(row.sequence, row.at, row.kind, row.dataset, row.content).hash_after(before.hash)
    return expected if expected == row.hash else None


def _check_witness(connection: Connection, identity: str, place: str, head: Head, witnessed: Head) -> None:
    seen = origin(identity) if witnessed.sequence == 0 else event_at(connection, witnessed.sequence)
    if seen is None or seen.hash != witnessed.hash:
        raise _corrupt(
            place,
            f"ends with event {head.sequence} and does not hold event {witnessed.sequence}, which its "
            "witness saw: an older or another ledger was put in its place",
        )
