"""Append to the record: events, and the rows that follow from them, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Executable,
    Insert,
    Table,
    Update,
    bindparam,
    delete,
    insert,
    select,
    update,
)

from . import chain
from .chain import Event, Head, canonical
from .failures import row_moved
from .prepared_statements import forget, run, run_all
from .schema import datasets, events, grants, ledger, names, people, principals
from .state_digest import columns_of, moved, share

_ADVANCE = (
    update(ledger)
    .where(ledger.c.sequence == bindparam("found"), ledger.c.hash == bindparam("found_hash"))
    .values({name: bindparam(name) for name in ("sequence", "hash", "state", "witness", "settings")})
)
_RECORD = insert(events)
# What `recall` and the processes of a service may keep; a change of any makes all of them read it again.
_SETTINGS = frozenset((datasets, names, principals, people, grants))
_EVENT = select(events).where(events.c.sequence == bindparam("number"))


class Made(NamedTuple):
    """The number and the date of an event that a writer recorded."""

    sequence: int
    at: str


class RecordWriter:
    """The right to append to the record, for the length of one transaction.

    Events are linked and written when it finishes. The last one carries the digest of all that can
    still be used after the transaction, so every change of a row goes through the writer.
    """

    def __init__(
        self,
        connection: Connection,
        head: Head,
        state: str,
        witness: int = 0,
        settings: int = 0,
        *,
        early: bool = False,
    ) -> None:
        self._connection = connection
        self._writes: list[tuple[Executable, Mapping[str, Any], bool]] = []
        self.head = head
        self.witness = witness
        self._settings: int | None = settings
        self._state = state
        self._early = early
        self._moved = 0
        self._pending: list[tuple[Made, str, int, dict[str, Any]]] = []

    @property
    def connection(self) -> Connection:
        """Return the connection to read with; what was written before is sent first."""
        self._send()
        return self._connection

    def _send(self, *, last: bool = False) -> None:
        """Send the writes that wait, all at once; a row that was to be found must have been there."""
        if not self._writes:
            return
        writes, self._writes = self._writes, []
        if not run_all(self._connection, writes, last=last, early=self._early):
            raise row_moved()

    @property
    def next(self) -> int:
        """Return the number that the next event will have."""
        return self.head.sequence + len(self._pending) + 1

    @property
    def written(self) -> bool:
        """Tell whether anything was recorded."""
        return bool(self._pending)

    def record(self, kind: str, dataset: int, content: Mapping[str, Any]) -> Made:
        """Append one event."""
        made = Made(self.next, chain.now().isoformat())
        self._pending.append((made, kind, dataset, dict(content)))
        return made

    def insert(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        """Add a row; a column that is not named is NULL. Return the whole row."""
        whole = dict.fromkeys(columns_of(table)) | row
        self._write(table, _insertion(table), whole, guarded=False)
        self._moved += share(table, whole)
        return whole

    def update(self, table: Table, row: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """Change a row that was read under the lock, if it is still the same; return it as it is now."""
        changed = {**row, **values}
        found = {f"found_{name}": row[name] for name in _guards(table)}
        given = {f"new_{name}": value for name, value in values.items()}
        self._write(table, _change(table, tuple(values)), found | given)
        self._moved += share(table, changed) - share(table, row)
        return changed

    def delete(self, table: Table, row: Mapping[str, Any]) -> None:
        """Remove a row that was read under the lock."""
        found = {f"found_{name}": row[name] for name in _guards(table)}
        self._write(table, _removal(table), found)
        self._moved -= share(table, row)

    def _write(
        self, table: Table, statement: Executable, values: Mapping[str, Any], guarded: bool = True
    ) -> None:
        self._writes.append((statement, values, guarded))
        if table in _SETTINGS:
            self._settings = None
            forget(self._connection)

    def finish(self) -> None:
        """Write the events and move the head, which must still be where it was found; a server commits it."""
        if not self._pending:
            return
        found = {"found": self.head.sequence, "found_hash": self.head.hash}
        state = moved(self._state, self._moved)
        self._pending[-1][3]["state"] = state
        for made, kind, dataset, content in self._pending:
            text_ = canonical(content)
            event = Event(made.sequence, made.at, kind, dataset, text_)
            self.head = Head(made.sequence, event.hash_after(self.head.hash))
            row = {"sequence": made.sequence, "at": made.at, "kind": kind, "dataset": dataset}
            self._writes.append((_RECORD, row | {"content": text_, "hash": self.head.hash}, False))
        new = {"sequence": self.head.sequence, "hash": self.head.hash, "state": state}
        new |= {"settings": self.head.sequence if self._settings is None else self._settings}
        self._writes.append((_ADVANCE, found | new | {"witness": self.witness}, True))
        self._send(last=True)


def _guards(table: Table) -> tuple[str, ...]:
    """Return the columns that a row is found by: its key, and the event that changed it last."""
    latest = ("latest",) if "latest" in table.c else ()
    return (*table.primary_key.columns.keys(), *latest)


def _found(table: Table) -> list[ColumnElement[bool]]:
    return [table.c[name] == bindparam(f"found_{name}") for name in _guards(table)]


@lru_cache(maxsize=64)
def _insertion(table: Table) -> Insert:
    return insert(table)


@lru_cache(maxsize=64)
def _change(table: Table, columns: tuple[str, ...]) -> Update:
    new = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in columns}
    return update(table).where(*_found(table)).values(new)


@lru_cache(maxsize=64)
def _removal(table: Table) -> Delete:
    return delete(table).where(*_found(table))


def event_at(connection: Connection, sequence: int) -> Any:
    """Return the row of one event, or None."""
    return run(connection, _EVENT, {"number": sequence}).first
