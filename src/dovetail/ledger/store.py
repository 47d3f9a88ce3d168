"""One database that holds a ledger: its transactions, its lock, and the writer that appends to the record."""

from __future__ import annotations

import os
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from socket import gethostname
from typing import NamedTuple

from sqlalchemy import URL, Connection, Engine, insert, inspect, select, text

from dovetail.errors import LedgerError, LedgerUnavailable
from dovetail.errors.remedies import LeaveOut, StartWitness

from .chain import Head, origin
from .databases import CAN_WAIT, begin, parsed, postgres_engine, sqlite_engine
from .failures import translated
from .files import has_room, make_file, present
from .kept_connections import KeptConnections
from .prepared_statements import Read, locking, recalling
from .record_writer import RecordWriter
from .rollback_guard import RollbackGuard
from .schema import SCHEMA_VERSION, create_tables, ledger
from .server_exchange import WAIT_FOR_DISK
from .shared_commits import SharedCommits
from .state_digest import EMPTY
from .witness import Witness, remember, remembered

# The same statement locks both stores. In PostgreSQL it waits for the row and returns its newest version;
# every later statement of a READ COMMITTED transaction then sees all that was committed before. SQLite holds
# its lock already, and writes nothing here: whoever gets a stored answer waits for no disk.
_LOCK = select(
    ledger.c.sequence, ledger.c.hash, ledger.c.state, ledger.c.witness, ledger.c.settings
).with_for_update()
_SECRETS = ("password", "sslpassword", "passfile", "sslkey")
# Any fixed number: it keeps two processes from creating the same tables.
_CREATION_LOCK = 0x646F7665


class _Engines(NamedTuple):
    """One pool of connections, seen by readers and by writers; `owner` is the process that opened it.

    Threads that write to an embedded ledger share `commits`; a server has none.
    """

    reader: Engine
    writer: Engine
    owner: int
    reading: KeptConnections
    writing: KeptConnections
    commits: SharedCommits | None = None


class Store:
    """The transactions of one ledger. Safe to share between threads, and after fork."""

    def __init__(
        self,
        location: str | Path,
        patience: float,
        witness: Witness | None = None,
        lease: timedelta = timedelta(minutes=10),
        copy: bool = False,
    ) -> None:
        self._where = parsed(location)
        self.place = _shown(self._where)
        self._patience = patience
        self.given = witness
        self.lease = lease
        self.copy = copy
        self._engines = self._connected()
        self._inherited: list[_Engines] = []
        self._guard = RollbackGuard(self.place, self.path)

    @property
    def path(self) -> Path | None:
        """Return the file of an embedded ledger; None on a server."""
        return self._where if isinstance(self._where, Path) else None

    def _connected(self) -> _Engines:
        if isinstance(self._where, Path):
            reader: Engine = sqlite_engine(self._where, self._patience)
            writer: Engine = reader.execution_options(writing=True)
        else:
            writer = postgres_engine(self._where, self._patience)
            reader = writer.execution_options(isolation_level="REPEATABLE READ")
        kept = KeptConnections(reader), KeptConnections(writer)
        shared = None if self.path is None else SharedCommits(kept[1], self.place, self._patience)
        made = _Engines(reader, writer, os.getpid(), *kept, shared)
        # Python 3.13 would warn of connections that nobody closed, whenever it comes to collect them.
        weakref.finalize(self, _let_go, made).atexit = False
        return made

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
            create_tables(connection)
            identity = uuid.uuid4().hex
            row = {"id": 1, "schema_version": SCHEMA_VERSION, "identity": identity}
            row |= {"sequence": 0, "hash": origin(identity).hash, "state": EMPTY, "witness": 0, "settings": 0}
            connection.execute(insert(ledger), row)
        return True

    @contextmanager
    def reading(self, long: bool = False, durable: bool = False) -> Iterator[Connection]:
        """Read one consistent state; a `long` look at all of it may think between statements.

        What was read `durable` is on disk when this ends.
        """
        own = self._own()
        turn = nullcontext() if long or own.commits is None else own.commits.reading
        with translated(self.place), turn, own.reading.transaction() as connection:
            if self.path is not None:
                begin(connection)
            if long and self.path is None:
                # A reader holds nobody up, so the limits that are meant for writers are lifted.
                for limit in ("idle_in_transaction_session_timeout", "statement_timeout"):
                    connection.execute(text(f"SET LOCAL {limit} = 0"))
            yield connection
            if (long or durable) and connection.info.get(CAN_WAIT):
                connection.execute(text(WAIT_FOR_DISK))

    @contextmanager
    def writing(
        self,
        starting: Witness | None = None,
        expected: Callable[[], Sequence[Read]] = tuple,
        *,
        early: bool = False,
    ) -> Iterator[RecordWriter]:
        """Be the only one to write; what was recorded is durable when this ends, and undone if it raises.

        `expected` gives reads that will probably be asked for: a server is asked for them together with the
        lock. With `early` a server lets others write, and see this, before it is on disk: for what nobody is
        shown as a result. Whoever writes later is on disk later.

        Where the ledger has a witness (or is `starting` one), the head is appended to it after the commit;
        if its file cannot even be opened, nothing is recorded.
        """
        if self.copy:
            raise LedgerError(
                f"{self.place} was opened as a copy, which is only read.",
                "Nothing was recorded.",
                kept_at=self.place,
            )
        with ExitStack() as after:
            with (
                translated(self.place),
                self._transaction() as connection,
                locking(connection, _LOCK, expected) as locked,
            ):
                sequence, link, state, named, settings = locked.rows[0]
                self._guard.check(Head(sequence, link))
                witness = starting or self._feeding(connection, named)
                writer = RecordWriter(connection, Head(sequence, link), state, named, settings, early=early)
                with recalling(connection, settings):
                    yield writer
                if witness is not None and (writer.written or starting):
                    known = witness.since
                    if not known:
                        witness = remember(writer, self.host, witness)
                    append = after.enter_context(witness.opened())
                    if known:
                        witness.check(Head(sequence, link))
                writer.finish()
            # What a server only let read may be another's that is not on disk yet, and that a crash undoes.
            if writer.written or self.path is not None:
                self._guard.saw(writer.head)
            if witness is not None and writer.written:
                append(writer.head)

    def check_writable(self) -> None:
        """Refuse a file that can only be read or cannot grow: SQLite finds that out with the first change."""
        if self.path is None:
            return
        if not self.path.exists():
            raise LedgerUnavailable(
                f"The ledger {self.place} is not there any more.", "Nothing was recorded.", kept_at=self.place
            )
        if not os.access(self.path, os.W_OK):
            raise LedgerUnavailable(
                f"The ledger {self.place} can only be read.", "Nothing was recorded.", kept_at=self.place
            )
        if not has_room(self.path):
            raise LedgerUnavailable(
                f"The disk of the ledger {self.place} is full.", "Nothing was recorded.", kept_at=self.place
            )

    def _transaction(self) -> AbstractContextManager[Connection]:
        own = self._own()
        return own.writing.transaction() if own.commits is None else own.commits.transaction()

    def _feeding(self, connection: Connection, named: int) -> Witness | None:
        """Return the witness that this writer must feed; a host without one does not write."""
        witness = self.witness_at(connection, named)
        if witness is None and named:
            raise LedgerError(
                f"Every host that writes to the ledger {self.place} keeps a witness of its own.",
                StartWitness(),
                kept_at=self.place,
            )
        return witness

    @contextmanager
    def rebuilding(self) -> Iterator[Connection]:
        """Hold the whole database for a migration; it is undone if this raises."""
        with translated(self.place), self._own().writer.begin() as connection:
            if self.path is None:
                connection.execute(text(f"LOCK TABLE {ledger.name} IN ACCESS EXCLUSIVE MODE"))
            yield connection

    @property
    def host(self) -> str:
        """Return whose witness is meant: a file has one, a server one on each host that writes to it."""
        return "" if self.path is not None else gethostname()

    def witness_at(self, connection: Connection, named: int) -> Witness | None:
        """Return the witness that writers here feed; `named` is the event that last named one, or 0."""
        known = remembered(connection, self.host) if named else None
        if known is not None and self.given is not None and known.path != self.given.path:
            raise LedgerError(
                f"The witness of the ledger {self.place} is {known.path}, not {self.given.path}.",
                LeaveOut("witness"),
                StartWitness(),
                kept_at=self.place,
            )
        return known or self.given

    def close(self) -> None:
        """Close this process's connections."""
        _let_go(self._own())


def _let_go(engines: _Engines) -> None:
    if engines.owner != os.getpid():
        return
    for kept in (engines.reading, engines.writing):
        kept.close()
    engines.writer.dispose()


def _shown(where: Path | URL) -> str:
    """Return where a ledger is, without a password."""
    if isinstance(where, Path):
        return str(where)
    # The options behind the question mark can hold a password too.
    return where.difference_update_query(_SECRETS).render_as_string(hide_password=True)
