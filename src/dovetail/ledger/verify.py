"""Check every event of a ledger, and compare everything else that it holds with what the events say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Table, bindparam, select

from dovetail.errors import LedgerCorrupt
from dovetail.privacy.charge import Charge

from .amounts import caps, columns
from .chain import Head, canonical, linked, origin
from .principals import name_hash
from .replay import Replay
from .runs import commitment
from .schema import (
    attempts,
    balances,
    datasets,
    events,
    firings,
    grants,
    keys,
    ledger,
    names,
    people,
    plans,
    principals,
    requests,
    runs,
    sources,
    vintages,
    witnesses,
)
from .state_digest import columns_of

# Small pages stay in the processor's cache, and out of the garbage collector's way.
_PAGE = 200


def verify(connection: Connection) -> Head:
    """Recompute chain, sums and indexes from the first event on; raise LedgerCorrupt if any differ."""
    if connection.dialect.name == "sqlite":
        damage = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
        if damage != "ok":
            raise LedgerCorrupt(f"The ledger's file is damaged: {damage}.", "Restore a backup.")
    about = connection.execute(select(ledger)).one_or_none()
    if about is None:
        raise LedgerCorrupt("The head of the ledger is missing.", "Restore a backup.")
    replay, head = replayed(connection, about.identity)
    if head != Head(about.sequence, about.hash):
        raise LedgerCorrupt(
            f"The ledger's head does not fit its last event, {head.sequence}.", "Restore a backup."
        )
    compare(connection, replay)
    _same("witnesses", [about.witness], [replay.witness])
    return head


def replayed(connection: Connection, identity: str) -> tuple[Replay, Head]:
    """Follow the whole chain; return what it says and its last link."""
    replay, head = Replay(), origin(identity)
    for page in _pages(connection):
        head = _followed(head, page)
        replay.follow(page)
    return replay, head


def _followed(head: Head, page: Sequence[Any]) -> Head:
    """Return the head after a page of events, each of which must be the next link."""
    number, link = head.sequence, head.hash
    for sequence, at, kind, dataset, content, stored in page:
        number, link = number + 1, linked(link, sequence, at, kind, dataset, content)
        if sequence != number or stored != link:
            raise LedgerCorrupt(f"The chain breaks at event {number}.", "Restore a backup.")
    return Head(number, link)


def _pages(connection: Connection) -> Iterator[Sequence[Any]]:
    """Read the events in order, a page at a time, so that a long record needs little memory."""
    query = (
        select(events).where(events.c.sequence > bindparam("after")).order_by(events.c.sequence).limit(_PAGE)
    )
    last = 0
    while page := connection.execute(query, {"after": last}).all():
        yield page
        last = page[-1].sequence


def compare(connection: Connection, replay: Replay) -> None:
    """Raise LedgerCorrupt if a table does not hold what the events say, or a limit is overspent."""
    for table, rows in expected_rows(replay).items():
        query = select(table).order_by(requests.c.id) if table is requests else select(table)
        kept = list(map(list, connection.execute(query).all()))
        # Not by the database: two of them order texts differently.
        _same(table.name.removeprefix("dovetail_"), kept if table is requests else sorted(kept), rows)
    _compare_secrets(connection, replay)
    for subject, vintage in replay.charges:
        if not replay.limits[subject].allows(Charge.zero(), replay.spent(subject, vintage)):
            raise LedgerCorrupt(
                f"Subject {subject} has spent more than its limit.", "Its curator must check it."
            )


def expected_rows(replay: Replay) -> dict[Table, list[list[Any]]]:
    """Return the rows of every table that follows from the events alone, in the order of its key."""
    named = [[name, *rest] for name, rest in replay.names.items()]
    granted = [
        [*row[:3], canonical(replay.limits[number].to_dict()), *row[4:]]
        for number, row in sorted(replay.grants.items())
    ]
    return {
        balances: [_balance(replay, *key) for key in sorted(replay.charges)],
        names: sorted(named),
        sources: sorted(map(list, replay.sources)),
        vintages: _in_order(replay.vintages),
        principals: _in_order(replay.principals),
        keys: _in_order(replay.keys),
        grants: granted,
        plans: _in_order(replay.plans),
        # Requests are by far the most, and made in order.
        requests: list(replay.requests.values()),
        attempts: _in_order(replay.attempts),
        firings: _in_order(replay.firings),
        witnesses: _in_order(replay.witnesses),
    }


def _in_order(rows: dict[Any, list[Any]]) -> list[list[Any]]:
    return [row for _, row in sorted(rows.items())]


def _balance(replay: Replay, subject: int, vintage: int) -> list[Any]:
    amounts = columns(replay.spent(subject, vintage)) | caps(replay.limits[subject])
    row = {"subject": subject, "vintage": vintage, "latest": replay.latest[subject, vintage]} | amounts
    return [row[name] for name in columns_of(balances)]


def _compare_secrets(connection: Connection, replay: Replay) -> None:
    """Check datasets and runs, and people's names, all of which are in the record as hashes."""
    kept = {row["id"]: dict(row) for row in connection.execute(select(datasets)).mappings()}
    _same("datasets", set(kept), set(replay.datasets))
    for dataset, row in kept.items():
        said = dict(replay.datasets[dataset])
        hashed = said.pop("secret_sha256")
        said |= {"id": dataset, "budget": canonical(replay.limits[dataset].to_dict())}
        secret = bytes(row.pop("secret"))
        _same(f"columns of dataset {dataset}", row, said)
        _same(f"secret of dataset {dataset}", sha256(secret).hexdigest(), hashed)
    private = {row.plan: row for row in connection.execute(select(runs))}
    sealed = {plan: commitment(row.above, row.below, bytes(row.nonce)) for plan, row in private.items()}
    _same("private thresholds", sealed, replay.commitments)
    called = {row["principal"]: name_hash(dict(row)) for row in connection.execute(select(people)).mappings()}
    _same("names of people", called, replay.named)


def _same(what: str, kept: Collection[Any], expected: Collection[Any]) -> None:
    if kept != expected:
        raise LedgerCorrupt(f"The {what} on record do not match the events.", "Restore a backup.")
