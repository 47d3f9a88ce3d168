"""How each database is opened so that a commit is durable and a reservation cannot be raced."""

from __future__ import annotations

import select
import sqlite3
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError

from dovetail.errors import InvalidParameter, LedgerError
from dovetail.errors.remedies import Install
from dovetail.postgresql import REPLY_LIMIT, closing_unless_well, limit_replies

from .files import nameable

# `UPDATE ... RETURNING` came with 3.35.
_OLDEST_SQLITE = (3, 35)
_PRAGMAS = (
    "journal_mode=PERSIST",
    "journal_size_limit=1048576",
    "synchronous=EXTRA",
    "fullfsync=ON",
    "cell_size_check=ON",
)
_USED, _RECENT = "dovetail.used", 5.0
# Whether a connection may wait for the disk without writing to a table.
CAN_WAIT = "dovetail.can-wait"
# What a connection through a pooler sets at the beginning of each transaction.
SETTINGS = "dovetail.settings"
_MAY_WAIT = (
    "SELECT coalesce(bool_and(has_function_privilege(oid, 'execute')), false) "
    "FROM pg_proc WHERE proname = 'pg_logical_emit_message'"
)
# What holds unless it is set for a while; another client of a pooler may have set something there.
_LOOSE = (
    "SELECT name FROM pg_catalog.pg_settings WHERE reset_val = 'off' "
    "AND name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name"
)
_AS_CONNECTED = "; ".join(
    f"SET LOCAL {name} TO DEFAULT" for name in ("synchronous_commit", "search_path", "role")
)


def parsed(location: str | Path) -> Path | URL:
    """Return the file or the PostgreSQL address that a location names.

    >>> parsed("sqlite:///budget.ledger").name
    'budget.ledger'
    """
    # In memory, SQLite would keep a ledger of its own for every connection.
    if not isinstance(location, str | Path) or str(location) in ("", ".", ":memory:"):
        raise InvalidParameter("ledger", location, "a file path or postgresql://USER@HOST/DATABASE")
    if not nameable(location):
        raise InvalidParameter("ledger", "…", "a file path or an address without NUL or half a character")
    if isinstance(location, Path) or "://" not in location:
        return Path(location)
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        url = None
    kind = url.get_backend_name() if url is not None else ""
    if url is not None and kind == "sqlite" and url.database not in (None, "", ":memory:"):
        return Path(str(url.database))
    if url is None or kind not in ("postgresql", "postgres"):
        # The address may hold a password: it is not shown.
        raise InvalidParameter("ledger", "…", "a file path or postgresql://USER@HOST/DATABASE")
    return url.set(drivername="postgresql+psycopg")


def sqlite_engine(path: Path, patience: float) -> Engine:
    """Open a SQLite file; `patience` is how many seconds to wait for another writer."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise LedgerError(
            f"SQLite {sqlite3.sqlite_version} is too old for a ledger; 3.35 or newer is needed."
        )
    engine = create_engine(
        URL.create("sqlite", database=str(path)), connect_args={"timeout": patience}, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def settle_in(connection: sqlite3.Connection, _record: Any) -> None:
        # The driver's own transactions begin too late; ours begin below.
        connection.isolation_level = None
        # The journal stays; a commit overwrites its head and syncs it, which costs the disk half of what it
        # costs to make a file and to remove it. With DELETE, EXTRA is needed, too: it syncs the folder, or a
        # power cut just after the commit brings the journal back and undoes a charge that was answered.
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    event.listen(engine, "begin", begin)
    return engine


def begin(connection: Connection) -> None:
    """Begin a transaction of SQLite where none is open; a writer's takes the lock at once."""
    driver: Any = connection.connection.driver_connection
    if not driver.in_transaction:
        # Straight to the driver: SQLAlchemy would take longer over this word than SQLite does.
        writing = connection.get_execution_options().get("writing")
        driver.execute("BEGIN IMMEDIATE" if writing else "BEGIN")


def postgres_engine(url: URL, patience: float) -> Engine:
    """Open a PostgreSQL database; a server that may forget a commit is refused."""
    try:
        engine = create_engine(url, isolation_level="READ COMMITTED", hide_parameters=True)
    except ModuleNotFoundError as error:
        raise LedgerError("A ledger in PostgreSQL needs psycopg.", Install("postgres")) from error

    _look_before_use(engine)
    # Waiting for the head may take all of `patience`; a server that is silent for longer is given up.
    limit_replies(engine, patience + REPLY_LIMIT)

    @event.listens_for(engine, "connect")
    def settle_in(connection: Any, record: Any) -> None:
        with closing_unless_well(connection), connection.cursor() as cursor:
            record.info[CAN_WAIT] = cursor.execute(_MAY_WAIT).fetchone()[0]
            loose = [name for (name,) in cursor.execute(_LOOSE)]
            if connection.pooled:
                # Set in each transaction: elsewhere it would bind other clients of the pooler.
                record.info[SETTINGS] = f"{_limiting(patience, 'SET LOCAL')}; {_AS_CONNECTED}"
            else:
                cursor.execute(_limiting(patience, "SET"))
            connection.commit()
        if loose:
            raise LedgerError(
                f"This PostgreSQL runs with {' and '.join(loose)} off, so it could forget what was spent.",
                "Turn it on before a ledger is kept there.",
            )

    @event.listens_for(engine, "begin")
    def set_limits(connection: Connection) -> None:
        settings = connection.info.get(SETTINGS)
        if settings is not None:
            connection.exec_driver_sql(settings)

    return engine


def _look_before_use(engine: Engine) -> None:
    """Replace a connection that the server has left; one used a moment ago is only looked at from here.

    Asking the server each time, as SQLAlchemy's `pool_pre_ping` does, is a journey more for every charge.
    """

    @event.listens_for(engine, "checkin")
    def used(connection: Any, record: Any) -> None:
        record.info[_USED] = monotonic()

    @event.listens_for(engine, "checkout")
    def look(connection: Any, record: Any, _proxy: Any) -> None:
        if _in_touch(connection, record.info):
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise DisconnectionError from error


def still_there(connection: Connection) -> bool:
    """Tell whether a connection that was kept can be used at once; a file always can."""
    if connection.dialect.name == "sqlite":
        return True
    alive = _in_touch(connection.connection.driver_connection, connection.info)
    connection.info[_USED] = monotonic()
    return alive


def _in_touch(driver: Any, info: Any) -> bool:
    """Tell whether a server was asked a moment ago and has said nothing since: unasked, it says good-bye."""
    return monotonic() - info.get(_USED, -inf) < _RECENT and not _has_said(driver.fileno())


def _has_said(descriptor: int) -> bool:
    """Tell whether something can be read from a connection; whatever its number is, unlike with `select`."""
    if not hasattr(select, "poll"):  # Windows, where numbers have no such limit
        return bool(select.select([descriptor], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(0))


def _limiting(patience: float, how: str) -> str:
    """Return what sets the server's own limits, for a connection that waits so long for another writer.

    A client that freezes while it holds the head loses it, with nothing recorded, before others give up.
    """
    limits = {
        "lock_timeout": patience,
        "idle_in_transaction_session_timeout": patience / 2,
        "statement_timeout": 4 * (patience + REPLY_LIMIT),
    }
    return "; ".join(f"{how} {name} = {max(1, round(seconds * 1000))}" for name, seconds in limits.items())
