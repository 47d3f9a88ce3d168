"""A digest of everything that can still be spent or used, so that one old row put back is seen at opening.

The digest is the sum, modulo 2^256, of the SHA-256 of each live row. A change takes the old row's share out
and puts the new one's in, so its cost does not grow with the ledger; opening adds up the live rows alone, and
what is used up (a plan without answers, a revoked key, a closed request) is no longer among them. A row that
comes back from an older copy adds what the record does not know of. Like the chain, it finds accidents and
careless edits; whoever can rewrite the whole file is found by the witness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Select, Table, select

from .schema import (
    attempts,
    balances,
    datasets,
    grants,
    keys,
    names,
    people,
    plans,
    principals,
    runs,
    sources,
    vintages,
    witnesses,
)

_MODULUS = 1 << 256
EMPTY = f"{0:064x}"

# Every table whose rows give a right, with the column that says whether a row still does.
_ALWAYS = (datasets, names, sources, balances, vintages, principals, people, runs, attempts, witnesses)
_WHILE: dict[Table, tuple[str, Callable[[Any], bool]]] = {
    keys: ("revoked", lambda value: value is None),
    grants: ("revoked", lambda value: value is None),
    plans: ("left", lambda value: value > 0),
}


@lru_cache(maxsize=64)
def columns_of(table: Table) -> tuple[str, ...]:
    """Return the names of a table's columns in order."""
    return tuple(table.columns.keys())


def share(table: Table, row: Mapping[str, Any]) -> int:
    """Return what a row adds to the digest: 0 if it gives no right (any more)."""
    if table in _WHILE:
        column, live = _WHILE[table]
        if not live(row[column]):
            return 0
    elif table not in _ALWAYS:
        return 0
    values = [row[name] for name in columns_of(table)]
    plain = [bytes(value) if isinstance(value, memoryview) else value for value in values]
    return int.from_bytes(sha256(f"{table.name}{plain!r}".encode()).digest())


def moved(state: str, by: int) -> str:
    """Return the digest after shares were put in (and others taken out)."""
    return f"{(int(state, 16) + by) % _MODULUS:064x}"


def total(connection: Connection) -> str:
    """Return the digest of the rows that are there."""
    added = 0
    for table in _ALWAYS:
        added += _shares(connection, table, select(table))
    for table, (column, _) in _WHILE.items():
        live = table.c[column].is_(None) if column == "revoked" else table.c[column] > 0
        added += _shares(connection, table, select(table).where(live))
    return moved(EMPTY, added)


def _shares(connection: Connection, table: Table, rows: Select[Any]) -> int:
    return sum((share(table, dict(row)) for row in connection.execute(rows).mappings()), 0)
