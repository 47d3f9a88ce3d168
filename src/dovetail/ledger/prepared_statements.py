"""Run statements that were built once, without paying SQLAlchemy each time."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, Executable

from .databases import CAN_WAIT, SETTINGS
from .server_exchange import Call, Exchange

_NOTHING: Mapping[str, Any] = {}
_RECALL, _SINCE, _AHEAD = "dovetail.recall", "dovetail.since", "dovetail.ahead"
_SERVER = "dovetail.server"
# Fails in the server unless exactly one row was changed, so that nothing after it is done either.
_GUARD = "WITH changed AS ({} RETURNING 1) SELECT 1 / (count(*) = 1)::int FROM changed"
UNCHANGED = "22012"

Read: TypeAlias = tuple[Executable, Mapping[str, Any]]


class StatementRows(NamedTuple):
    """The rows that a statement returned, by column name."""

    rows: Sequence[Any]

    @property
    def first(self) -> Any:
        """Return the first row, or None."""
        return self.rows[0] if self.rows else None


def run(connection: Connection, statement: Executable, values: Mapping[str, Any] = _NOTHING) -> StatementRows:
    """Run a statement in the transaction that `connection` has begun.

    It goes to the driver as text prepared before: a dozen statements make a reservation, and SQLAlchemy takes
    five times as long over each as the driver does, while the ledger is locked.
    """
    if connection.dialect.name == "postgresql":
        return _run_in_server(connection, statement, values)
    driver: Any = connection.connection.driver_connection
    return _outcome(statement, driver.execute(*_call(connection, statement, values)).fetchall())


def _run_in_server(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> StatementRows:
    ahead = connection.info.get(_AHEAD)
    known: StatementRows | None = ahead.pop(_key((statement, values)), None) if ahead else None
    if known is not None:
        return known
    call = Call(*_call(connection, statement, values))
    return _outcome(statement, _server(connection).read([call])[0])


def _key(read: Read) -> tuple[Any, ...]:
    return (read[0], *sorted(read[1].items()))


def _outcome(statement: Executable, rows: Sequence[Any]) -> StatementRows:
    return StatementRows(list(map(_row(statement), rows)))


@contextmanager
def locking(
    connection: Connection, lock: Executable, expected: Callable[[], Sequence[Read]]
) -> Iterator[StatementRows]:
    """Run the statement that locks the ledger, and on a server, in the same journey, reads that will follow.

    Each statement sees what was committed before it began, and those behind the lock begin when it is held.
    Until this ends `run` finds what they returned, as long as nothing was written; a read that nobody asks
    for is lost.
    """
    if connection.dialect.name != "postgresql":
        yield run(connection, lock)
        return
    guessed = expected()
    reads = [(lock, _NOTHING), *guessed]
    calls = [Call(*_call(connection, *read)) for read in reads]
    results = _server(connection).read(calls)
    outcomes = [_outcome(statement, rows) for (statement, _), rows in zip(reads, results, strict=True)]
    connection.info[_AHEAD] = dict(zip(map(_key, guessed), outcomes[1:], strict=True))
    try:
        yield outcomes[0]
    finally:
        connection.info.pop(_AHEAD, None)


def recall(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> StatementRows:
    """Run a statement about settings, or return what it gave before if nothing was set since.

    Only where the ledger is locked and its row has told which settings hold (see `recalling`).
    """
    known = connection.info.get(_RECALL)
    if known is None:
        return run(connection, statement, values)
    asked = (statement, *values.values())
    if asked not in known:
        known[asked] = run(connection, statement, values)
    outcome: StatementRows = known[asked]
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
    connection: Connection,
    writes: Sequence[tuple[Executable, Mapping[str, Any], bool]],
    *,
    last: bool,
    early: bool = False,
) -> bool:
    """Run statements that return no rows; tell whether every guarded one changed exactly one row.

    To a server they go all at once, so that the ledger is not locked for as many journeys, and the commit
    goes with the `last` ones: a statement that fails undoes it all, and a guarded one fails by itself. With
    `early` the server lets others go on before it has written the commit to disk (see `Exchange.write`).
    """
    if connection.dialect.name == "postgresql":
        connection.info.pop(_AHEAD, None)
        calls = [Call(*_call(connection, *write[:2], guarded=write[2])) for write in writes]
        _server(connection).write(calls, end=last, early=early and bool(connection.info.get(CAN_WAIT)))
        return True
    driver: Any = connection.connection.driver_connection
    counts = [driver.execute(*_call(connection, *write[:2])).rowcount for write in writes]
    return all(changed == 1 for (*_, guarded), changed in zip(writes, counts, strict=True) if guarded)


def _server(connection: Connection) -> Exchange:
    """Return what speaks to the server for as long as the connection lives."""
    known: Exchange | None = connection.info.get(_SERVER)
    if known is None:
        known = connection.info[_SERVER] = Exchange(
            connection.connection.driver_connection, connection.info.get(SETTINGS)
        )
    return known


def _call(
    connection: Connection, statement: Executable, values: Mapping[str, Any], *, guarded: bool = False
) -> tuple[str, Any]:
    """Return a statement's text and its parameters, as the driver wants them."""
    text, order, fixed = _prepared(connection.dialect.name, statement, tuple(values), guarded)
    known = {**fixed, **values} if fixed else values
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
    fixed = {name: value for name, value in compiled.params.items() if name not in given}
    return text, compiled.positiontup if kind == "sqlite" else None, fixed


@lru_cache(maxsize=512)
def _row(statement: Any) -> Any:
    made: Any = namedtuple  # called with names that are only known now
    return made("Row", statement.selected_columns.keys())._make
