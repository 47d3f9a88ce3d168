"""What the record says of everything that a curator does, word by word."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dovetail.ledger import Ledger
from dovetail.ledger.schema import events
from dovetail.privacy import Budget

HALF, WHOLE = Budget.pure("0.5"), Budget.pure(1)
LATER = datetime.now(UTC) + timedelta(days=2)
# What is drawn at random, and hashes.
DRAWN = {"public", "named", "sha256", "secret_sha256", "state"}
Told = list[tuple[str, int, dict[str, Any]]]


def told(ledger: Ledger, after: int) -> Told:
    """The kind, the dataset and the content of every event after one."""
    rows = select(events).where(events.c.sequence > after).order_by(events.c.sequence)
    with ledger.reading() as connection:
        read = [(row.kind, row.dataset, json.loads(row.content)) for row in connection.execute(rows)]
    return [
        (kind, dataset, {name: each for name, each in content.items() if name not in DRAWN})
        for kind, dataset, content in read
    ]


@pytest.mark.parametrize("by", [None, "cat"])
def test_every_event_says_what_was_done_and_by_whom(tmp_path: Path, by: str | None) -> None:
    with Ledger.create(tmp_path / "all.ledger") as ledger:
        people = ledger.people
        who = {} if by is None else {"by": people.add("cat", "curator").id}
        account = ledger.account("one", budget=WHOLE, source="/a.csv", protects="a row added or removed")
        two = ledger.account("two", budget=WHOLE, source="/b.csv")
        people.add("bob")
        people.grant("bob", "two", HALF)
        two.declare_vintage("jan")
        began = ledger.head.sequence
        ann = people.add("ann", address="ann@example.org", by=by).id
        key = people.make_key("ann", expires=LATER, by=by)
        people.grant("ann", "one", HALF, expires=LATER, by=by)
        (grant,) = people.grants("ann")
        people.grant("ann", "one", WHOLE, by=by)
        account.declare_vintage("jan", by=by)
        account.declare_vintage("feb", complete=True, by=by)
        jan, feb = (each.id for each in account.vintages())
        account.complete_vintage("jan", by=by)
        account.set_version("3", by=by)
        account.set_version("4", vintage="feb", by=by)
        account.declare_disjoint(by=by)
        ledger.set_policy("one", answers="own", access="granted", by=by)
        ledger.set_budget("one", Budget.pure(2), by=by, reason="more to come")
        ledger.set_budget("one", WHOLE, by=by)
        ledger.catalogue.describe("one", {"title": "Eins"}, by=by)
        ledger.rename("one", "eins", by=by)
        people.revoke_grant("ann", "one", by=by)
        people.revoke_key(key.public, by=by)
        people.erase("ann", by=by)
        ledger.retire("one", by=by)
        number = ledger.catalogue.number("one")
        recorded = told(ledger, began)
        ledger.verify()
    allotted = {"grant": grant.id, "principal": ann, "above": False}
    changed = {"before": WHOLE.to_dict(), "after": Budget.pure(2).to_dict(), "ex_post": False}
    expected: Told = [
        ("principal", 0, {"role": "analyst"}),
        ("key", 0, {"principal": ann, "expires": LATER.isoformat()}),
        ("grant", number, allotted | {"allotment": HALF.to_dict(), "expires": LATER.isoformat()}),
        ("grant", number, allotted | {"allotment": WHOLE.to_dict(), "expires": None}),
        ("vintage", number, {"label": "jan", "complete": False}),
        ("vintage", number, {"label": "feb", "complete": True}),
        ("complete", number, {"vintage": jan}),
        ("version", number, {"vintage": None, "version": "3"}),
        ("version", number, {"vintage": feb, "version": "4"}),
        ("disjoint", number, {"ex_post": False}),
        ("policy", number, {"answers": "own", "access": "granted"}),
        ("budget", number, changed | {"reason": "more to come"}),
        ("budget", number, {"before": changed["after"], "after": changed["before"], "ex_post": False}),
        ("description", number, {"said": '{"title": "Eins"}'}),
        ("rename", number, {"name": "eins"}),
        ("revoked grant", number, {"grant": grant.id}),
        ("revoked key", 0, {"key": key.id}),
        ("erasure", 0, {"principal": ann}),
        ("retired", number, {}),
    ]
    assert recorded == [(kind, dataset, content | who) for kind, dataset, content in expected]


def test_what_is_so_already_is_not_recorded_again(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "all.ledger") as ledger:
        ledger.people.add("ann")
        account = ledger.account("one", budget=WHOLE, protects="a row added or removed")
        key = ledger.people.make_key("ann")
        for again in (False, True):
            if again:
                head = ledger.head
            else:
                account.declare_vintage("jan")
                ledger.people.grant("ann", "one", HALF)
            account.complete_vintage("jan")
            account.set_version("3")
            account.set_version("4", vintage="jan")
            account.declare_disjoint()
            ledger.set_policy("one", answers="own")
            ledger.set_budget("one", HALF)
            ledger.people.revoke_grant("ann", "one")
            ledger.people.revoke_key(key.public)
            ledger.retire("one")
        assert ledger.head == head
