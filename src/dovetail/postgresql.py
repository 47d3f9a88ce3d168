"""How long a PostgreSQL server may stay silent, and which part failed where it cannot be used.

Data and ledger both use it. What a server says is never repeated: it can quote an address with a password,
or a row.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, NamedTuple

# Seconds. A connection that is not there after this long, and a reply that the server owes at once.
CONNECT_LIMIT = 10
REPLY_LIMIT = 10


class Failure(NamedTuple):
    """The part that failed, in one word for programs, and what it means, in sentences for people."""

    part: str
    words: str


_ADDRESS = Failure("address", "The address has an option that PostgreSQL cannot read. Correct it.")
_HOST = Failure("host", "The host in the address was not found. Correct its name.")
_PORT = Failure(
    "port",
    "Nothing answers at that host and port. Check both, and that the server runs and can be reached.",
)
_PROTOCOL = Failure(
    "port", "What answers at that host and port is not a PostgreSQL server. Correct the port."
)
_SILENT = Failure(
    "time", "The server did not answer in time. Check that it is well and that the network lets it answer."
)
_LOST = Failure("connection", "The connection to the server was lost. Check that the server runs; try again.")
_USER = Failure(
    "user", "The server does not let this user in. Check the user's name and that the role may log in."
)
_PASSWORD = Failure(
    "password", "The server did not accept the password, or none was given. Check user and password."
)
_DATABASE = Failure("database", "The server has no database of that name. Correct the end of the address.")
_TLS = Failure(
    "TLS", "No connection can be made with the TLS mode of the address. Check sslmode and the certificates."
)
_HBA = Failure(
    "access",
    "The server's rules (pg_hba.conf) do not allow this user, database and TLS mode from here. Ask its "
    "administrator.",
)
_GRANT = Failure(
    "grant",
    "The user lacks a right on the server. Ask its administrator to grant it (CONNECT, USAGE, SELECT).",
)
_TABLE = Failure("table", "The table is not there. Correct its name, or the schema's.")
_FULL = Failure("connections", "The server has no connection left for this user. Try again later.")
_STARTING = Failure("server", "The server is starting up or shutting down. Try again later.")
_READS = Failure(
    "server", "The server takes no changes now. Check that it is the primary, and not read-only."
)
_STORAGE = Failure("storage", "The server ran out of memory or disk. Ask its administrator.")
_OPTIONS = Failure(
    "pooler",
    "A connection pooler does not pass on the options of the address (options=, PGOPTIONS). Leave them out "
    "and set the same with ALTER ROLE, or use the address of the server itself.",
)
_SPLIT = Failure(
    "pooler",
    "A connection pooler sends the statements of one transaction, or of one connection, to different "
    "connections of the server. Set its pool_mode to session or transaction, or use the address of the "
    "server itself.",
)
_QUEUE = Failure(
    "pooler",
    "A connection pooler had no connection left, or could not reach the server. Try again later; its own log "
    "says why.",
)
_REFUSED = Failure("server", "The server refused the connection; its own log says why.")

# A refused connection comes without a code, so its words are read. The first that fits counts.
_REFUSALS = (
    (r"startup parameter|options of the address", _OPTIONS),
    (r"resolve host|translate host|name or service not known|'idna' codec", _HOST),
    (r"invalid port", _PORT),
    (r"invalid (sslmode|URI|connection option|.* value)|bad value for|separator", _ADDRESS),
    (r"no password supplied|password authentication failed|password file", _PASSWORD),
    (r"no pg_hba\.conf entry|pg_hba\.conf rejects", _HBA),
    (r"invalid response to SSL|invalid response to GSS|expected authentication request", _PROTOCOL),
    (r"\bSSL\b|\bTLS\b|certificate", _TLS),
    (r'database "[^"]*" does not exist|database .* is not currently accepting', _DATABASE),
    (r"permission denied", _GRANT),
    (r"too many (connections|clients)|no more connections|connection slots", _FULL),
    (r'role "[^"]*"|authentication failed|peer authentication', _USER),
    (r"starting up|shutting down|recovery mode", _STARTING),
    (r"timeout|timed out|did not answer", _SILENT),
    (r"refused|no such file|no route|unreachable|is the server running", _PORT),
    (r"closed the connection|connection reset|server closed|lost", _LOST),
)
# The codes of PostgreSQL's errors, by their beginnings.
_STATES = {
    "26000": _SPLIT,
    "42501": _GRANT,
    "42P01": _TABLE,
    "3F000": _TABLE,
    "3D000": _DATABASE,
    "28P01": _PASSWORD,
    "28": _USER,
    "53300": _FULL,
    "53": _STORAGE,
    "57014": _SILENT,
    "25P03": _SILENT,
    "25006": _READS,
    "57P": _STARTING,
    "08": _LOST,
}
# A pooler has one code for all that it says itself.
_POOLER_STATE = "08P01"


def failure_of(error: BaseException | None) -> Failure | None:
    """Return which part of reaching or asking a server failed, None where nothing says so.

    It takes the driver's error, or SQLAlchemy's around it.

    >>> failure_of(OSError('FATAL: database "clinic" does not exist')).part
    'database'
    """
    error = getattr(error, "orig", None) or error
    state = getattr(error, "sqlstate", None)
    if state == _POOLER_STATE:
        return _SPLIT if "pooling mode" in str(error) else _QUEUE
    if state is not None:
        return next((found for start, found in _STATES.items() if state.startswith(start)), None)
    # From Python 3.12 on, that a host's name cannot be spelled is a note beside the error.
    text = " ".join([str(error), *getattr(error, "__notes__", ())])
    for pattern, failure in _REFUSALS:
        if re.search(pattern, text, re.IGNORECASE):
            return failure
    return _REFUSED if "connection" in text else None


def limit_replies(engine: Any, seconds: float = REPLY_LIMIT) -> None:
    """Let an SQLAlchemy engine's connections wait this long for a server, and `connect_timeout` to connect.

    PostgreSQL's own limits bind a server that is well; this one also binds one that says nothing more. Texts
    come in UTF-8, whatever the address, the role or the environment says. The driver prepares nothing: behind
    a pooler, what it prepared may be on another connection.
    """
    from sqlalchemy import event

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, arguments: Any, options: dict[str, Any]) -> Any:
        options.setdefault("connect_timeout", CONNECT_LIMIT)
        # The server fails on a letter that another encoding lacks: one row would decide.
        options["client_encoding"] = "utf8"
        made = _connection_class().connect(*arguments, **options)
        made.reply_limit = seconds
        made.prepare_threshold = None
        with closing_unless_well(made):
            made.pooled = _is_pooled(made)
            if made.pooled and made.info.options:
                # Some poolers refuse them, others drop them: it would be another schema, or other rights.
                raise made.OperationalError("a connection pooler drops the options of the address")
        return made


@contextmanager
def closing_unless_well(connection: Any) -> Iterator[None]:
    """Close a new connection if this raises: nobody else knows of it yet."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _is_pooled(connection: Any) -> bool:
    """Tell whether a pooler is between here and the server: it has numbers of its own for connections.

    Then each transaction may be on another connection of the server, with what others have set there.
    """
    connection.autocommit = True
    (number,) = connection.execute("SELECT pg_catalog.pg_backend_pid()").fetchone()
    connection.autocommit = False
    return bool(number != connection.info.backend_pid)


@contextmanager
def wait_longer(connection: Any, seconds: float) -> Iterator[None]:
    """Let one SQLAlchemy connection of such an engine wait this long for each reply, for a while."""
    driver = connection.connection.driver_connection
    before, driver.reply_limit = driver.reply_limit, seconds
    try:
        yield
    finally:
        driver.reply_limit = before


def _connection_class() -> Any:
    import psycopg

    class Connection(psycopg.Connection[Any]):
        """A connection that is closed when the server owes a reply for too long."""

        reply_limit: float = REPLY_LIMIT
        pooled: bool = False

        def wait(self, gen: Any, *rest: Any, **more: Any) -> Any:
            try:
                return super().wait(_limited(gen, self.reply_limit), *rest, **more)
            except _Silent:
                self.pgconn.finish()
                raise psycopg.OperationalError("the server did not answer in time") from None

    return Connection


class _Silent(Exception):
    """The server owed a reply for too long."""


def _limited(steps: Generator[Any, Any, Any], seconds: float) -> Generator[Any, Any, Any]:
    """Go through the driver's steps; the driver comes by a few times a second while nothing happens."""
    end = monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and monotonic() > end:
                raise _Silent
            wanted = steps.send(ready)
    except StopIteration as finished:
        return finished.value
