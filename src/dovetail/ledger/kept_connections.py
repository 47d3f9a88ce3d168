"""Connections that stay open between transactions: to lend one from a pool takes longer than a small read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine

from .databases import still_there
from .server_exchange import committed

_MOST_KEPT = 4


class KeptConnections:
    """Transactions on connections of one engine that are kept for the next one. Safe to share by threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: list[Connection] = []

    def take(self) -> Connection:
        """Return a connection that nobody else uses; its transaction begins with the first statement."""
        while self._kept:
            # Another thread may have taken the last one since.
            try:
                connection = self._kept.pop()
            except IndexError:
                break
            if still_there(connection):
                return connection
            connection.close()
        return self._engine.connect()

    def commit(self, connection: Connection) -> None:
        """Commit what a connection did, and keep it."""
        driver: Any = connection.connection.driver_connection
        if not committed(driver):
            driver.commit()
        if connection.in_transaction():
            # SQLAlchemy was used, too, and has to know.
            connection.commit()
        if len(self._kept) < _MOST_KEPT:
            self._kept.append(connection)
        else:
            connection.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection; what was done is committed at the end, and undone if this raises."""
        connection = self.take()
        try:
            yield connection
            self.commit(connection)
        except BaseException:
            # One that SQLAlchemy has given up already cannot even be looked at.
            known = None if connection.invalidated else connection.connection.driver_connection
            if getattr(known, "closed", False):
                # The pool would try to undo what the server has undone, and log that it cannot.
                connection.invalidate()
            # Goes back to the pool, which undoes what is open.
            connection.close()
            raise

    def close(self) -> None:
        """Give all that are kept back to the engine."""
        while self._kept:
            self._kept.pop().close()
