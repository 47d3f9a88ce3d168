"""Group commit: threads that wait for an embedded ledger at the same time share one durable commit.

They take turns in the order in which they came. Each sees what those before it recorded and is checked
against it; a refusal undoes only its own part. Whoever finds nobody waiting commits for all, and none of them
returns before that, so nothing is shown that is not durable. If the commit fails, it fails for all of them.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from threading import Event, Lock, RLock, get_ident
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from dovetail.errors import LedgerUnavailable

from .databases import begin
from .failures import CAUTION, held_by_another
from .kept_connections import KeptConnections

# Whoever came first does not wait for more than so many others.
_MOST_MEMBERS = 64


@dataclass(slots=True)
class _SharedCommit:
    """Those who recorded something in one transaction, which is still open."""

    connection: Connection
    members: int = 0
    over: Event = field(default_factory=Event)
    error: BaseException | None = None

    @property
    def driver(self) -> Any:
        return self.connection.connection.driver_connection

    def undo(self) -> None:
        """Undo all of it on a connection that is given up.

        It has read what was undone, under numbers of events that others will use; and to one that was opened
        while a file was read-only, it stays so.
        """
        if not self.connection.closed:
            self.connection.invalidate()
        self.connection.close()

    def check(self) -> None:
        """Raise what the commit failed with."""
        if isinstance(self.error, Exception):
            raise copy(self.error)
        if self.error is not None:
            raise LedgerUnavailable("Recording was interrupted.", CAUTION)


class SharedCommits:
    """The transactions of one process's threads on a SQLite file."""

    def __init__(self, writer: KeptConnections, place: str, patience: float) -> None:
        self._writer, self._place, self._patience = writer, place, patience
        self._guard = Lock()
        self._turn: int | None = None
        self._queue: deque[tuple[int, Lock]] = deque()
        self._group: _SharedCommit | None = None
        # A commit and a read keep each other out. Here they wait for each other; SQLite would let them sleep.
        self.reading = RLock()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Record something in a transaction that other threads may share; it is durable when this ends."""
        try:
            self._take_turn()
            if self._group is None:
                self._group = _SharedCommit(self._begun())
            group = self._group
            with _part(group):
                yield group.connection
            # Also one who only read: what was read may be another's, and not durable yet.
            group.members += 1
        finally:
            if self._turn == get_ident():
                self._end_turn()
        group.over.wait()
        group.check()

    def _begun(self) -> Connection:
        connection = self._writer.take()
        try:
            begin(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _take_turn(self) -> None:
        with self._guard:
            if self._turn is None:
                self._turn = get_ident()
                return
            ticket = get_ident(), Lock()
            ticket[1].acquire()
            self._queue.append(ticket)
        try:
            ticket[1].acquire(timeout=self._patience)
        finally:
            with self._guard:
                waits = ticket in self._queue
                if waits:
                    self._queue.remove(ticket)
        if waits:
            raise held_by_another(self._place)

    def _end_turn(self) -> None:
        """Let the next one record, also if this is interrupted on the way."""
        try:
            self._pass_on()
        finally:
            if self._turn == get_ident():
                self._pass_on()

    def _pass_on(self) -> None:
        """Let the next one record; where nobody waits, commit what is recorded."""
        while True:
            group = self._group
            if group and (group.error or group.members >= _MOST_MEMBERS or not self._queue):
                self._finish(group)
            with self._guard:
                if self._queue:
                    self._turn, granted = self._queue.popleft()
                    granted.release()
                    return
                # If a group is open, the last one who waited has given up since.
                if self._group is None:
                    self._turn = None
                    return

    def _finish(self, group: _SharedCommit) -> None:
        """Commit what the members of a group recorded, or undo it."""
        try:
            self._group = None
            if group.members and group.error is None:
                with self.reading:
                    self._writer.commit(group.connection)
            elif group.members or isinstance(group.error, sqlite3.Error | DBAPIError):
                group.undo()
            else:
                group.connection.close()
        except BaseException as error:
            group.error = error
            group.undo()
            if not isinstance(error, Exception):
                raise
        finally:
            group.over.set()


@contextmanager
def _part(group: _SharedCommit) -> Iterator[None]:
    """Undo what is recorded within this if it raises, and nothing that others recorded before."""
    if group.members:
        group.driver.execute("SAVEPOINT part")
    try:
        yield
    except BaseException as error:
        if not group.members:
            group.error = error
            raise
        try:
            group.driver.execute("ROLLBACK TO part")
        except Exception:  # noqa: BLE001 - after some failures SQLite has undone the whole transaction
            group.error = error
        raise
