"""Send several statements to PostgreSQL as one text, so that a charge takes two journeys.

Each statement is prepared in the server once for a connection; after that only its name and its values go
there. Not as a pipeline: after one, PostgreSQL 18 may not end a transaction whose client says nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

# Writes nothing that anybody reads; its commit waits until all that was written before is on disk.
WAIT_FOR_DISK = "SELECT pg_logical_emit_message(true, 'dovetail', '')"
_LATER = b"SET LOCAL synchronous_commit = off"
_PARAMETER = r"%\((\w+)\)s|%%"
_numbers = count()


class Call(NamedTuple):
    """A statement with named parameters, as psycopg writes them, and their values."""

    text: str
    values: dict[str, Any]


class Exchange:
    """What goes to a server and comes back through one connection; it knows what was prepared there."""

    def __init__(self, driver: Any) -> None:
        from psycopg.adapt import Transformer

        self._driver, self._reader = driver, Transformer(driver)
        self._prepared: dict[str, str] = {}

    def write(self, calls: Sequence[Call], *, end: bool, early: bool = False) -> None:
        """Run statements in one journey; with `end` the transaction is committed after them.

        One that fails stops all that follow, so that nothing is committed. With `early`, others may go on
        before the commit is on disk, so that many wait for the disk at once; this returns when it is.
        """
        if early and end:
            self._run(calls, [b"COMMIT", WAIT_FOR_DISK.encode()], [_LATER])
        else:
            self._run(calls, [b"COMMIT"] if end else [])

    def read(self, calls: Sequence[Call]) -> list[list[tuple[Any, ...]]]:
        """Run statements in one journey and return the rows of each."""
        from psycopg import pq

        results = []
        for result in self._run(calls):
            if result.status == pq.ExecStatus.TUPLES_OK:
                self._reader.set_pgresult(result)
                results.append(self._reader.load_rows(0, result.ntuples, tuple))
        return results

    def _run(
        self, calls: Sequence[Call], last: Sequence[bytes] = (), first: Sequence[bytes] = ()
    ) -> list[Any]:
        """Send statements, with the beginning of a transaction where none is open."""
        from psycopg import pq

        driver, made = self._driver, dict[str, str]()
        encoding, escape = driver.info.encoding, pq.Escaping(driver.pgconn).escape_literal
        texts = []
        if driver.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            texts.append(f"BEGIN ISOLATION LEVEL {driver.isolation_level.name.replace('_', ' ')}".encode())
        texts += first
        for call in calls:
            numbered, order = _numbered(call.text)
            name = self._prepared.get(numbered) or made.get(numbered)
            if name is None:
                # A number is used once: after a failure nobody knows whether its statement was prepared.
                made[numbered] = name = f"dovetail_{next(_numbers)}"
                texts.append(f"PREPARE {name} AS {numbered}".encode(encoding))
            given = b", ".join([_literal(call.values[each], encoding, escape) for each in order])
            texts.append(b"EXECUTE %s%s" % (name.encode(), b"(%s)" % given if order else b""))
        results = _sent(driver, b"; ".join([*texts, *last]))
        self._prepared.update(made)
        return results


def _sent(driver: Any, text: bytes) -> list[Any]:
    """Send a text straight to libpq: a cursor would take longer over it than the server does."""
    from psycopg import generators, pq
    from psycopg.errors import error_from_result

    with driver.lock:
        driver.pgconn.send_query(text)
        results: list[Any] = driver.wait(generators.execute(driver.pgconn))
    for result in results:
        if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            raise error_from_result(result)
    return results


def _literal(value: Any, encoding: str, escape: Any) -> bytes:
    if value is None:
        return b"NULL"
    if isinstance(value, int):
        return b"%d" % value
    return bytes(
        escape(b"\\x" + value.hex().encode() if isinstance(value, bytes) else value.encode(encoding))
    )


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
