"""Run statements that were built once, without paying SQLAlchemy each time."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, Executable

_NOTHING: Mapping[str, Any] = {}
_RECALL, _SINCE, _AHEAD = "dovetail.recall", "dovetail.since", "dovetail.ahead"
# Fails in the server unless exactly one row was changed, so that nothing after it is done either.
_GUARD = "WITH changed AS ({} RETURNING 1) SELECT 1 / (count(*) = 1)::int FROM changed"
UNCHANGED = "22012"

Read: TypeAlias = tuple[Executable, Mapping[str, Any]]


class Outcome(NamedTuple):
    """The rows that a statement returned, by column name, and how many it changed."""

    rows: Sequence[Any]
    changed: int

    @property
    def first(self) -> Any:
        """Return the first row, or None."""
        return self.rows[0] if self.rows else None


def run(connection: Connection, statement: Executable, values: Mapping[str, Any] = _NOTHING) -> Outcome:
    """Run a statement in the transaction that `connection` has begun.

    It goes to the driver as text prepared before: a dozen statements make a reservation, and SQLAlchemy takes
    five times as long over each as the driver does, while the ledger is locked.
    """
    ahead = connection.info.get(_AHEAD)
    if ahead:
        known: Outcome | None = ahead.pop(_asked(statement, values), None)
        if known is not None:
            return known
    cursor = connection.connection.cursor()
    cursor.execute(*_call(connection, statement, values))
    return _outcome(cursor)


def _asked(statement: Executable, values: Mapping[str, Any]) -> tuple[Any, ...]:
    return (statement, *sorted(values.items()))


def _outcome(cursor: Any) -> Outcome:
    if cursor.description is None:
        return Outcome((), cursor.rowcount)
    make = _row(tuple(column[0] for column in cursor.description))
    return Outcome([make(row) for row in cursor.fetchall()], cursor.rowcount)


@contextmanager
def locking(connection: Connection, lock: Executable, expected: Sequence[Read]) -> Iterator[Outcome]:
    """Run the statement that locks the ledger, and on a server, in the same journey, reads that will follow.

    Each statement sees what was committed before it began, and those behind the lock begin when it is held.
    Until this ends `run` finds what they returned, as long as nothing was written; a read that nobody asks
    for is lost.
    """
    if connection.dialect.name != "postgresql":
        yield run(connection, lock)
        return
    locked, *found = _at_once(connection, [(lock, _NOTHING), *expected])
    connection.info[_AHEAD] = dict(zip((_asked(*read) for read in expected), found, strict=True))
    try:
        yield locked
    finally:
        connection.info.pop(_AHEAD, None)


def _at_once(connection: Connection, calls: Sequence[Read]) -> list[Outcome]:
    """Run statements as one text.

    Not as a pipeline: after one, PostgreSQL 18 may not end a transaction whose client says nothing more.
    """
    from psycopg import ClientCursor

    driver: Any = connection.connection.driver_connection
    cursor: Any = ClientCursor(driver)
    cursor.execute("; ".join(cursor.mogrify(*_call(connection, *each)) for each in calls))
    found = [_outcome(cursor)]
    while cursor.nextset():
        found.append(_outcome(cursor))
    return found


def recall(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> Outcome:
    """Run a statement about settings, or return what it gave before if nothing was set since.

    Only where the ledger is locked and its row has told which settings hold (see `recalling`).
    """
    known = connection.info.get(_RECALL)
    if known is None:
        return run(connection, statement, values)
    asked = (statement, *values.values())
    if asked not in known:
        known[asked] = run(connection, statement, values)
    outcome: Outcome = known[asked]
    return outcome


@contextmanager
def recalling(connection: Connection, settings: int) -> Iterator[None]:
    """Let `recall` use what this connection read under the same settings, while the ledger is locked."""
    since, known = connection.info.get(_SINCE, (None, {}))
    if since != settings:
        known = {}
        connection.info[_SINCE] = settings, known
    connection.info[_RECALL] = known
    try:
        yield
    finally:
        forget(connection)


def forget(connection: Connection) -> None:
    """Let `recall` read again: a setting is being changed."""
    connection.info.pop(_RECALL, None)


def run_all(
    connection: Connection, writes: Sequence[tuple[Executable, Mapping[str, Any], bool]], *, last: bool
) -> list[int]:
    """Run statements that return no rows; return how many rows each changed. A guarded one must change one.

    To a server they go all at once, so that the ledger is not locked for as many journeys, and the commit
    goes with the `last` ones: a statement that fails undoes it all.
    """
    connection.info.pop(_AHEAD, None)
    driver: Any = connection.connection.driver_connection
    served = connection.dialect.name == "postgresql"
    with ExitStack() as stack:
        if served:
            stack.enter_context(driver.pipeline())
        cursors = []
        for statement, values, guarded in writes:
            cursors.append(driver.cursor())
            cursors[-1].execute(*_call(connection, statement, values, guarded=guarded and served))
        if last and served:
            driver.commit()
    return [cursor.rowcount for cursor in cursors]


def _call(
    connection: Connection, statement: Executable, values: Mapping[str, Any], *, guarded: bool = False
) -> tuple[str, Any]:
    """Return a statement's text and its parameters, as the driver wants them."""
    text, order, fixed = _prepared(connection.dialect.name, statement, tuple(values), guarded)
    known = {**fixed, **values}
    return text, known if order is None else [known[name] for name in order]


def _dialect(kind: str) -> Any:
    # Imported here: either takes longer to load than all of the ledger.
    if kind == "sqlite":
        from sqlalchemy.dialects.sqlite import dialect as embedded

        return embedded()
    from sqlalchemy.dialects.postgresql.psycopg import dialect

    return dialect()  # type: ignore[no-untyped-call]


@lru_cache(maxsize=512)
def _prepared(
    kind: str, statement: Executable, given: tuple[str, ...], guarded: bool
) -> tuple[str, Sequence[str] | None, Mapping[str, Any]]:
    """Return a statement's SQL, the order of its parameters if they have no names, and those inside of it."""
    compiled = statement.compile(dialect=_dialect(kind), column_keys=list(given))  # type: ignore[attr-defined]
    text = _GUARD.format(compiled) if guarded else str(compiled)
    return text, compiled.positiontup if kind == "sqlite" else None, compiled.params


@lru_cache(maxsize=64)
def _row(names: tuple[str, ...]) -> Any:
    made: Any = namedtuple  # called with names that are only known now
    # A flipped bit in the schema can change the case of a name, which SQL does not see.
    return made("Row", [name.lower() for name in names])._make
