"""What is checked each time a ledger is opened, at a cost that does not grow with its history."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, func, select

from dovetail.errors import LedgerCorrupt, LedgerError

from .amounts import seal
from .chain import Event, Head, origin
from .schema import SCHEMA_VERSION, datasets, events, ledger
from .store import event_at

_ADVICE = "It is not used until its keeper has looked: run verify, or restore a backup."


def check_opening(connection: Connection, witnessed: Head | None) -> Head:
    """Check version, head, sums and witness; return the head. Edits in the middle are found by `verify`."""
    about = connection.execute(select(ledger)).one_or_none()
    if about is None:
        raise LedgerCorrupt(f"the ledger has lost its head. {_ADVICE}")
    if about.schema_version > SCHEMA_VERSION:
        raise LedgerError(
            f"this ledger has schema version {about.schema_version}, newer than the version {SCHEMA_VERSION} "
            "that this Dovetail reads. Upgrade Dovetail."
        )
    head = Head(about.sequence, about.hash)
    last = connection.execute(select(func.max(events.c.sequence))).scalar_one() or 0
    if last != head.sequence or _recomputed(connection, about.identity, last) != head.hash:
        raise LedgerCorrupt(f"the head of the ledger does not fit its last event. {_ADVICE}")
    for row in connection.execute(select(datasets)).mappings():
        _check_sums(connection, about.identity, row)
    if witnessed is not None:
        _check_witness(connection, about.identity, head, witnessed)
    return head


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


def _check_sums(connection: Connection, identity: str, row: Any) -> None:
    """Compare a dataset's sums and budget with the seal in the event that last changed them."""
    if _recomputed(connection, identity, row["latest"]) is not None:
        event = event_at(connection, row["latest"])
        if event.dataset == row["id"] and json.loads(event.content).get("seal") == seal(row["budget"], row):
            return
    raise LedgerCorrupt(f"the sums of dataset {row['id']} do not fit the record. {_ADVICE}")


def _check_witness(connection: Connection, identity: str, head: Head, witnessed: Head) -> None:
    seen = origin(identity) if witnessed.sequence == 0 else event_at(connection, witnessed.sequence)
    if seen is None or seen.hash != witnessed.hash:
        raise LedgerCorrupt(
            f"the witness saw event {witnessed.sequence}, which this ledger (at {head.sequence}) does not "
            f"hold: an older or another ledger was put in its place. {_ADVICE}"
        )
