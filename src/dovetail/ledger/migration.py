"""Bring a ledger of schema version 1 to version 2: on purpose, with its chain intact and a copy kept.

The events stay as they are. All other tables are rebuilt from them, which is what `verify` does; only the
secrets of the datasets and the names of the analysts are carried over. An event of its own marks the place.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from sqlalchemy import Column, Connection, LargeBinary, MetaData, Table, Text, insert, inspect, select, text

from dovetail.errors import LedgerCorrupt, LedgerError

from .amounts import columns
from .balances import SHARED
from .chain import Head, canonical
from .principals import keep_name
from .record_writer import RecordWriter, event_at
from .replay import Replay
from .schema import WHOLE, create_tables, datasets, ledger
from .state_digest import EMPTY
from .verify import expected_rows, replayed

# What version 1 kept beside its events, and under which name it stays on a server.
_OLD = ("ledger", "datasets", "names", "sources", "plans", "requests")
_KEPT = "dovetail_version1_"

_before = MetaData()
_ledger = Table(
    "dovetail_ledger",
    _before,
    Column("schema_version", WHOLE),
    Column("identity", Text),
    Column("sequence", WHOLE),
    Column("hash", Text),
)
_datasets = Table(
    "dovetail_datasets",
    _before,
    Column("id", WHOLE),
    Column("budget", Text),
    *(Column(name, WHOLE) for name in ("epsilon", "zeta", "delta")),
    Column("renyi", Text),
    Column("secret", LargeBinary),
)
_plans = Table("dovetail_plans", _before, Column("id", WHOLE), Column("left", WHOLE))
_requests = Table(
    "dovetail_requests", _before, Column("id", WHOLE), Column("state", Text), Column("closing", WHOLE)
)


def migrate(connection: Connection, witnessed: Head | None) -> None:
    """Rebuild a ledger of version 1 inside one transaction, if it verifies and holds the witnessed head."""
    about = check_old(connection)
    replay, head = replayed(connection, about.identity)
    _check_before(connection, replay)
    seen = None if witnessed is None else event_at(connection, witnessed.sequence)
    lost = witnessed is not None and witnessed.sequence > 0 and (seen is None or seen.hash != witnessed.hash)
    if lost or head != Head(about.sequence, about.hash):
        raise LedgerCorrupt(
            "The ledger's head is not that of its record or its witness.", "Nothing was migrated."
        )
    secrets = {row.id: bytes(row.secret) for row in connection.execute(select(_datasets))}
    _put_aside(connection)
    create_tables(connection, some_kept=True)
    row = {
        "id": 1,
        "schema_version": 2,
        "identity": about.identity,
        "state": EMPTY,
        "witness": 0,
        "settings": 0,
    }
    connection.execute(insert(ledger), row | {"sequence": head.sequence, "hash": head.hash})
    writer = RecordWriter(connection, head, EMPTY)
    _fill(writer, replay, secrets)
    named = {str(number): keep_name(writer, number, name, None) for name, number in replay.called.items()}
    writer.record("migration", 0, {"from": 1, "to": 2, "named": named})
    writer.finish()


def check_old(connection: Connection) -> Any:
    """Return the head's row of a ledger of version 1; refuse any other."""
    about = connection.execute(select(_ledger)).one()
    if about.schema_version != 1:
        raise LedgerError(f"This ledger has schema version {about.schema_version}; nothing was migrated.")
    return about


def _check_before(connection: Connection, replay: Replay) -> None:
    """Compare the sums, plans and requests of version 1 with its events before anything is touched."""
    kept = {row["id"]: dict(row) for row in connection.execute(select(_datasets)).mappings()}
    sums = {
        number: columns(replay.spent(number, SHARED))
        | {"budget": canonical(replay.limits[number].to_dict()), "id": number}
        for number in replay.datasets
    }
    hashed = {number: sha256(bytes(row.pop("secret"))).hexdigest() for number, row in kept.items()}
    left = {tuple(row) for row in connection.execute(select(_plans))}
    states = {tuple(row) for row in connection.execute(select(_requests))}
    same = (
        kept == sums
        and hashed == {number: row["secret_sha256"] for number, row in replay.datasets.items()}
        and left == {(row[0], row[9]) for row in replay.plans.values()}
        and states == {(row[0], row[9], row[10]) for row in replay.requests.values()}
    )
    if not same:
        raise LedgerCorrupt("What the ledger holds is not what its events say.", "Nothing was migrated.")


def _put_aside(connection: Connection) -> None:
    """Move the old tables out of the way; a server keeps them, a file has a copy beside it."""
    for name in _OLD:
        if connection.dialect.name == "sqlite":
            connection.execute(text(f"DROP TABLE dovetail_{name}"))
            continue
        for index in inspect(connection).get_indexes(f"dovetail_{name}"):
            connection.execute(text(f'DROP INDEX "{index["name"]}"'))
        connection.execute(text(f"ALTER TABLE dovetail_{name} RENAME TO {_KEPT}{name}"))


def _fill(writer: RecordWriter, replay: Replay, secrets: dict[int, bytes]) -> None:
    for number, said in replay.datasets.items():
        row = {name: value for name, value in said.items() if name != "secret_sha256"}
        budget = canonical(replay.limits[number].to_dict())
        writer.insert(datasets, row | {"id": number, "budget": budget, "secret": secrets[number]})
    for table, rows in expected_rows(replay).items():
        for row in _named(table, rows):
            writer.insert(table, row)


def _named(table: Table, rows: Iterable[list[Any]]) -> Iterable[dict[str, Any]]:
    return (dict(zip(table.columns.keys(), row, strict=True)) for row in rows)
