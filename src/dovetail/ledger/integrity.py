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


def check_opening(connection: Connection, witnessed: Head | None) -> Head:
    """Check version, head, live rows and witness; return the head. `verify` finds edits in the middle."""
    check_version(connection)
    about = connection.execute(select(ledger)).one_or_none()
    if about is None:
        raise LedgerCorrupt("The head of the ledger is missing.", _ADVICE)
    head = Head(about.sequence, about.hash)
    last = connection.execute(select(func.max(events.c.sequence))).scalar_one() or 0
    if last != head.sequence or _recomputed(connection, about.identity, last) != head.hash:
        raise LedgerCorrupt("The head of the ledger does not match its last event.", _ADVICE)
    said = EMPTY if last == 0 else json.loads(event_at(connection, last).content).get("state")
    if not about.state == said == total(connection):
        raise LedgerCorrupt(
            "The rows of the ledger do not match its last event: one was edited or restored.", _ADVICE
        )
    if witnessed is not None:
        _check_witness(connection, about.identity, head, witnessed)
    return head


def check_version(connection: Connection) -> None:
    """Refuse a ledger that this Dovetail cannot read as it is."""
    version = connection.execute(select(ledger.c.schema_version)).scalar_one_or_none()
    if version is None:
        raise LedgerCorrupt("The head of the ledger is missing.", _ADVICE)
    if version > SCHEMA_VERSION:
        raise LedgerError(
            f"This ledger has schema version {version}, newer than the version {SCHEMA_VERSION} "
            "that this Dovetail reads.",
            "Upgrade Dovetail.",
        )
    if version < SCHEMA_VERSION:
        raise LedgerError(
            f"This ledger has schema version {version}; this Dovetail writes version {SCHEMA_VERSION}.",
            "Migrate it; a copy of the old one is kept.",
            MigrateLedger(),
        )


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


def _check_witness(connection: Connection, identity: str, head: Head, witnessed: Head) -> None:
    seen = origin(identity) if witnessed.sequence == 0 else event_at(connection, witnessed.sequence)
    if seen is None or seen.hash != witnessed.hash:
        raise LedgerCorrupt(
            f"The witness saw event {witnessed.sequence}, which this ledger (at {head.sequence}) "
            "does not hold: an older or another ledger was put in its place.",
            _ADVICE,
        )
