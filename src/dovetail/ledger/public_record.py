"""What may be told of a dataset's record: limits, raises and releases; no person, no key, no answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge

from .balances import budget_of, dataset_row, most_spent
from .ledger import Ledger
from .record_writer import event_at
from .registry import find
from .schema import events, requests
from .schema import ledger as head_row


@dataclass(frozen=True, slots=True)
class Release:
    """One question that was charged, in the order of the record."""

    at: str
    body: str
    state: str
    charge: Charge | None


@dataclass(frozen=True, slots=True)
class Record:
    """A dataset's record."""

    opened_at: str
    budget: Budget
    spent: Charge
    raises: tuple[dict[str, Any], ...]
    releases: tuple[Release, ...]


def public_record(ledger: Ledger, dataset: str, last: int) -> Record:
    """Return the record of a dataset with its `last` releases, newest first."""
    with ledger.reading() as connection:
        number = find(connection, dataset)
        row = dataset_row(connection, number)
        changes = select(events).where(events.c.dataset == number, events.c.kind == "budget")
        raises = [
            {"at": each.at}
            | {name: value for name, value in json.loads(each.content).items() if name in _RAISE}
            for each in connection.execute(changes.order_by(events.c.sequence))
        ]
        asked = (
            select(events.c.at, events.c.content, requests.c.state)
            .join(requests, requests.c.id == events.c.sequence)
            .where(requests.c.dataset == number)
            .order_by(events.c.sequence.desc())
            .limit(last)
        )
        releases = tuple(_release(each) for each in connection.execute(asked))
        opened = str(event_at(connection, number).at)
        return Record(
            opened, budget_of(row["budget"]), most_spent(connection, number), tuple(raises), releases
        )


_RAISE = ("before", "after", "ex_post", "reason")


def is_witnessed(ledger: Ledger) -> bool:
    """Tell whether a witness remembers the ledger's head."""
    with ledger.reading() as connection:
        return bool(connection.execute(select(head_row.c.witness)).scalar_one())


def _release(row: Any) -> Release:
    content = json.loads(row.content)
    charge = Charge.from_dict(content["charge"]) if "charge" in content else None
    return Release(row.at, content["body"], row.state, charge)
