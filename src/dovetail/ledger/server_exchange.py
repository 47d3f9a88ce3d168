"""Send several statements to PostgreSQL as one text, so that a charge takes two journeys.

Each statement is prepared in the server once for a connection; after that only its name and its values go
there. Behind a pooler nothing is prepared: the next transaction may be on another connection. Not as a
pipeline: after one, PostgreSQL 18 may not end a transaction whose client says nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

# Writes nothing that anybody reads; its commit waits until all that was written before is on disk.
WAIT_FOR_DISK = "SELECT pg_logical_emit_message(true, 'dovetail', '')"
_LATER = b"SET LOCAL synchronous_commit = off"
# What libpq calls a transaction that is not begun, a result without rows, and one with rows.
_IDLE, _DONE, _ROWS = 0, 1, 2
_PARAMETER = r"%\((\w+)\)s|%%"
_numbers = count()


class Call(NamedTuple):
    """A statement with named parameters, as psycopg writes them, and their values."""

    text: str
    values: dict[str, Any]


class Exchange:
    """What goes to a server and comes back through one connection; it knows what was prepared there.

    `settings` are what a connection through a pooler sets in each transaction; without a pooler, None.
    """

    def __init__(self, driver: Any, settings: str | None = None) -> None:
        from psycopg import pq
        from psycopg.adapt import Transformer

        self._driver, self._reader = driver, Transformer(driver)
        self._escape = pq.Escaping(driver.pgconn).escape_literal
        self._encoding = driver.info.encoding
        self._settings = None if settings is None else settings.encode()
        # Nobody else's statement has such a name, even where a pooler is not noticed.
        self._owner = uuid4().hex
        # What is sent for a statement that is prepared, up to its values.
        self._prepared: dict[str, bytes] = {}

    def write(self, calls: Sequence[Call], *, end: bool, early: bool = False) -> None:
        """Run statements in one journey; with `end` the transaction is committed after them.

        One that fails stops all that follow, so that nothing is committed. With `early`, others may go on
        before the commit is on disk, so that many wait for the disk at once; this returns when it is.
        """
        if early and end:
            waiting = [] if self._settings is None else [self._settings]
            self._run(calls, [_LATER], [b"COMMIT", *waiting], [Call(WAIT_FOR_DISK, {})])
        else:
            self._run(calls, last=[b"COMMIT"] if end else [])

    def read(self, calls: Sequence[Call]) -> list[list[tuple[Any, ...]]]:
        """Run statements in one journey and return the rows of each."""
        results = []
        for result in self._run(calls):
            if result.status == _ROWS:
                self._reader.set_pgresult(result)
                results.append(self._reader.load_rows(0, result.ntuples, tuple))
        return results

    def _run(
        self,
        calls: Sequence[Call],
        first: Sequence[bytes] = (),
        last: Sequence[bytes] = (),
        after: Sequence[Call] = (),
    ) -> list[Any]:
        """Send statements, with the beginning of a transaction where none is open."""
        driver, made = self._driver, dict[str, bytes]()
        texts = []
        if driver.pgconn.transaction_status == _IDLE:
            texts.append(_beginning(driver.isolation_level))
            if self._settings is not None:
                texts.append(self._settings)
        texts += first
        for call in calls:
            self._call(call, texts, made)
        texts += last
        for call in after:
            self._call(call, texts, made)
        results = _sent(driver, b"; ".join(texts))
        self._prepared.update(made)
        return results

    def _call(self, call: Call, texts: list[bytes], made: dict[str, bytes]) -> None:
        """Add the text that runs a statement, after the one that prepares it where that was not done yet."""
        if self._settings is not None:
            texts.append(self._spelled(call))
            return
        numbered, order = _numbered(call.text)
        execute = self._prepared.get(numbered) or made.get(numbered)
        if execute is None:
            # A number is used once: after a failure nobody knows whether its statement was prepared.
            name = f"dovetail_{self._owner}_{next(_numbers)}"
            made[numbered] = execute = f"EXECUTE {name}".encode()
            texts.append(f"PREPARE {name} AS {numbered}".encode(self._encoding))
        if order:
            values = call.values
            execute += b"(%s)" % b", ".join([self._literal(values[each]) for each in order])
        texts.append(execute)

    def _spelled(self, call: Call) -> bytes:
        """Return a statement with its values in it."""

        def value(found: re.Match[bytes]) -> bytes:
            return b"%" if found[1] is None else self._literal(call.values[found[1].decode()])

        return re.sub(_PARAMETER.encode(), value, call.text.encode(self._encoding))

    def _literal(self, value: Any) -> bytes:
        if value is None:
            return b"NULL"
        if isinstance(value, int):
            return b"%d" % value
        plain = b"\\x" + value.hex().encode() if isinstance(value, bytes) else value.encode(self._encoding)
        return bytes(self._escape(plain))


def _sent(driver: Any, text: bytes) -> list[Any]:
    """Send a text straight to libpq: a cursor would take longer over it than the server does."""
    from psycopg import generators

    with driver.lock:
        driver.pgconn.send_query(text)
        results: list[Any] = driver.wait(generators.execute(driver.pgconn))
    for result in results:
        if result.status not in (_DONE, _ROWS):
            from psycopg.errors import error_from_result

            raise error_from_result(result)
    return results


def committed(driver: Any) -> bool:
    """Tell whether a connection to a server has no open transaction; of a file nothing is told."""
    server = getattr(driver, "pgconn", None)
    return server is not None and server.transaction_status == _IDLE


@lru_cache(maxsize=8)
def _beginning(level: Any) -> bytes:
    return f"BEGIN ISOLATION LEVEL {level.name.replace('_', ' ')}".encode()


@lru_cache(maxsize=512)
def _numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement with numbers for its parameters, and their names in order.

    >>> _numbered("SELECT 3 %% 2 WHERE a = %(of)s AND b = %(by)s OR c = %(of)s")
    ('SELECT 3 % 2 WHERE a = $1 AND b = $2 OR c = $1', ('of', 'by'))
    """
    order: list[str] = []

    def number(found: re.Match[str]) -> str:
        if found[1] is None:
            return "%"
        if found[1] not in order:
            order.append(found[1])
        return f"${order.index(found[1]) + 1}"

    return re.sub(_PARAMETER, number, text), tuple(order)
