"""One database that holds a ledger: its transactions, its lock, and the pen that appends to the record."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, insert, inspect, select, text, update

from dovetail.errors import LedgerCorrupt

from . import chain
from .chain import Event, Head, canonical, origin
from .engines import parsed, postgres_engine, sqlite_engine
from .failures import translated
from .files import make_file, present
from .prepared_statements import run
from .schema import SCHEMA_VERSION, events, ledger, metadata
from .witness import Witness

# The same statement locks both stores. In PostgreSQL it waits for the row and returns its newest version;
# every later statement of a READ COMMITTED transaction then sees all that was committed before. SQLite holds
# its lock already.
_LOCK = update(ledger).values(sequence=ledger.c.sequence).returning(ledger.c.sequence, ledger.c.hash)
_ADVANCE = (
    update(ledger)
    .where(ledger.c.sequence == bindparam("found"), ledger.c.hash == bindparam("found_hash"))
    .values(sequence=bindparam("sequence"), hash=bindparam("hash"))
)
_RECORD = insert(events)
_EVENT = select(events).where(events.c.sequence == bindparam("number"))
_SECRETS = ("password", "sslpassword", "passfile", "sslkey")
# Any fixed number: it keeps two processes from creating the same tables.
_CREATION_LOCK = 0x646F7665


class _Engines(NamedTuple):
    """One pool of connections, seen by readers and by writers; `owner` is the process that opened it."""

    reader: Engine
    writer: Engine
    owner: int


class Store:
    """The transactions of one ledger. Safe to share between threads, and after fork."""

    def __init__(self, location: str | Path, patience: float, witness: Witness | None = None) -> None:
        self._where = parsed(location)
        self._patience = patience
        self._witness = witness
        self._engines = self._connected()
        self._inherited: list[_Engines] = []

    @property
    def place(self) -> str:
        """Return where the ledger is, without a password."""
        if isinstance(self._where, Path):
            return str(self._where)
        # The options behind the question mark can hold a password too.
        open_ = self._where.difference_update_query(_SECRETS)
        return open_.render_as_string(hide_password=True)

    @property
    def path(self) -> Path | None:
        """Return the file of an embedded ledger; None on a server."""
        return self._where if isinstance(self._where, Path) else None

    def _connected(self) -> _Engines:
        if isinstance(self._where, Path):
            engine = sqlite_engine(self._where, self._patience)
            return _Engines(engine, engine.execution_options(writing=True), os.getpid())
        engine = postgres_engine(self._where, self._patience)
        return _Engines(engine.execution_options(isolation_level="REPEATABLE READ"), engine, os.getpid())

    def _own(self) -> _Engines:
        """Return this process's engines: a connection that was open across fork belongs to the parent."""
        if self._engines.owner != os.getpid():
            # Kept, never closed: closing it here would act on the parent's connections.
            self._inherited.append(self._engines)
            self._engines = self._connected()
        return self._engines

    def exists(self) -> bool:
        """Tell whether a ledger was created here; an empty file is refused, because it may be a cut one."""
        if self.path is not None and not present(self.path):
            return False
        with translated(self.place), self._own().reader.connect() as connection:
            return inspect(connection).has_table(ledger.name)

    def create(self) -> bool:
        """Create an empty ledger in one transaction; tell whether it was not there before."""
        if self.path is not None:
            return make_file(self.path, self._fill_file)
        return self._fill(self._own().writer)

    def _fill_file(self, path: Path) -> bool:
        engine = sqlite_engine(path, self._patience)
        try:
            return self._fill(engine.execution_options(writing=True))
        finally:
            engine.dispose()

    def _fill(self, writer: Engine) -> bool:
        with translated(self.place), writer.begin() as connection:
            if self.path is None:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})"))
            if inspect(connection).has_table(ledger.name):
                return False
            metadata.create_all(connection)
            identity = uuid.uuid4().hex
            row = {"id": 1, "schema_version": SCHEMA_VERSION, "identity": identity}
            connection.execute(insert(ledger), row | {"sequence": 0, "hash": origin(identity).hash})
        return True

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read one consistent state of the ledger."""
        with translated(self.place), self._own().reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Pen]:
        """Hold the only pen; what was recorded is durable when this ends, and undone if it raises."""
        with translated(self.place), self._own().writer.begin() as connection:
            pen = Pen(connection, Head(*run(connection, _LOCK).rows[0]))
            yield pen
            pen.put_down()
        if self._witness is not None and pen.written:
            self._witness.append(pen.head)

    def close(self) -> None:
        """Close this process's connections."""
        self._own().writer.dispose()


class Pen:
    """The right to append to the record, for the length of one transaction."""

    def __init__(self, connection: Connection, head: Head) -> None:
        self.connection = connection
        self.head = head
        self._found = head

    @property
    def next(self) -> int:
        """Return the number that the next event will have."""
        return self.head.sequence + 1

    @property
    def written(self) -> bool:
        """Tell whether anything was recorded."""
        return self.head != self._found

    def record(self, kind: str, dataset: int, content: Mapping[str, Any]) -> Event:
        """Append one event and link it to the chain."""
        event = Event(self.next, chain.now().isoformat(), kind, dataset, canonical(content))
        self.head = Head(event.sequence, event.hash_after(self.head.hash))
        row = {"sequence": event.sequence, "at": event.at, "kind": kind, "dataset": dataset}
        run(self.connection, _RECORD, row | {"content": event.content, "hash": self.head.hash})
        return event

    def put_down(self) -> None:
        """Move the head; it must still be where it was found."""
        if not self.written:
            return
        found = {"found": self._found.sequence, "found_hash": self._found.hash}
        moved = {"sequence": self.head.sequence, "hash": self.head.hash}
        if run(self.connection, _ADVANCE, found | moved).changed != 1:
            raise LedgerCorrupt("the head of the ledger moved while it was locked. Nothing was recorded.")


def event_at(connection: Connection, sequence: int) -> Any:
    """Return the row of one event, or None."""
    return run(connection, _EVENT, {"number": sequence}).first
