"""The ledger itself: what its curator opens, reads, changes and checks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection

from dovetail.errors import DovetailError, LedgerError
from dovetail.errors.remedies import CreateLedger, OpenLedger
from dovetail.privacy.budget import Budget

from .account import DatasetAccount
from .budgets import change_budget, checked_budget
from .chain import Head
from .failures import sound
from .integrity import check_opening
from .new_account import NewAccount, Registration
from .principals import named_number
from .registry import (
    changeable,
    check_budget,
    check_name,
    find,
    is_new,
    known_at,
    rename,
    retire,
    set_policy,
    settled,
    sources_of,
)
from .store import Store
from .store_opening import LEASE, PATIENCE, create_store, prepared_store, witnessed_head
from .text import composed
from .witness import Witness

if TYPE_CHECKING:
    from .analyst_statements import AnalystStatement
    from .catalogue import Catalogue
    from .people import People
    from .replies import Replies
    from .statement import Statement


class Ledger:
    """Budgets and what was spent of them, kept in one SQLite file or a PostgreSQL database.

    >>> from tempfile import TemporaryDirectory
    >>> from dovetail.privacy import Budget
    >>> folder = TemporaryDirectory()
    >>> with Ledger.create(folder.name + "/clinic.ledger") as ledger:
    ...     print(ledger.account("visits", budget=Budget.pure(1)).remaining())
    epsilon 1
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        create: bool | Literal["later"] = False,
        witness: str | Path | Head | None = None,
        copy: bool = False,
        patience: float = PATIENCE,
        lease: float = LEASE,
    ) -> Ledger:
        """Open a ledger after checking its head, what it holds and its witness; refuse one that fails.

        The ledger remembers its witness; `witness` names the file again, or is a head (`NUMBER:HASH`) that
        the operator noted, which then counts instead. `create` makes the ledger first if there is none;
        create="later" leaves that to the first charge of a `prospective_account`.
        A `copy` (a backup) is only read, and its witness is not asked. After `lease` seconds without an
        answer, a retry takes over what was reserved.
        """
        store, noted = prepared_store(location, witness, patience, lease, copy)
        try:
            if not store.exists():
                if not create:
                    raise LedgerError(
                        f"There is no ledger at {store.place}.", CreateLedger(), kept_at=store.place
                    )
                if create == "later":
                    return cls(store)
                create_store(store)
            with store.reading() as connection, sound():
                check_opening(connection, store.place, noted or witnessed_head(store, connection))
        except DovetailError:
            store.close()
            raise
        return cls(store)

    @classmethod
    def exists(cls, location: str | Path) -> bool:
        """Return whether there is a ledger; nothing is made. A file that was cut to nothing is refused.

        >>> Ledger.exists("nowhere.ledger")
        False
        """
        store, _ = prepared_store(location, None, PATIENCE)
        try:
            return store.exists()
        finally:
            store.close()

    @classmethod
    def create(
        cls, location: str | Path, *, witness: str | Path | None = None, patience: float = PATIENCE
    ) -> Ledger:
        """Create an empty ledger where there is none."""
        store, _ = prepared_store(location, witness, patience)
        try:
            # An empty file is filled: whoever creates says that no ledger was kept there.
            if not create_store(store):
                raise LedgerError(
                    f"There is already a ledger at {store.place}.", OpenLedger(), kept_at=store.place
                )
        except DovetailError:
            store.close()
            raise
        return cls(store)

    @classmethod
    def migrate(cls, location: str | Path, *, witness: str | Path | Head | None = None) -> Head:
        """Bring a ledger of an older schema version to this one; return its head.

        The chain stays as it is and is verified before and after. The old file is kept beside the new one
        as `NAME.version1`; a server keeps the old tables as `dovetail_version1_…`.
        """
        from .backup import keep_copy
        from .migration import check_old, migrate

        store, noted = prepared_store(location, witness, PATIENCE)
        try:
            if not store.exists():
                raise LedgerError(f"There is no ledger at {store.place}.", kept_at=store.place)
            with store.reading() as connection, sound():
                check_old(connection)
            copied = nullcontext() if store.path is None else keep_copy(store.path)
            with copied, store.rebuilding() as connection, sound():
                migrate(connection, noted or (None if store.given is None else store.given.newest()))
            if store.given is not None:
                with store.writing(store.given):
                    pass
            return cls(store).verify()
        finally:
            store.close()

    @property
    def people(self) -> People:
        """Principals, keys and grants."""
        from .people import People

        return People(self._store)

    @property
    def replies(self) -> Replies:
        """What the requests of a service were replied, by their retry keys."""
        from .replies import Replies

        return Replies(self._store)

    @property
    def catalogue(self) -> Catalogue:
        """The datasets, with what was said about each."""
        from .catalogue import Catalogue

        return Catalogue(self._store)

    @property
    def place(self) -> str:
        """Return where the ledger is kept."""
        return self._store.place

    @property
    def head(self) -> Head:
        """Return the number and hash of the last event, to be noted elsewhere."""
        with self._store.reading(durable=True) as connection:
            return check_opening(connection, self.place, None)

    def reading(self) -> AbstractContextManager[Connection]:
        """Read one consistent state of the record."""
        return self._store.reading()

    def check_ready(self) -> None:
        """Refuse a ledger that cannot be written now, or whose head or witness does not fit."""
        self._store.check_writable()
        with self._store.reading() as connection, sound():
            check_opening(connection, self.place, witnessed_head(self._store, connection))
        with self._store.writing():
            pass

    def account(
        self,
        dataset: str,
        *,
        budget: Budget | None = None,
        source: str | Sequence[str] | None = None,
        share: bool | None = None,
        protects: str | None = None,
    ) -> DatasetAccount:
        """Return the account of a dataset, created with `budget` when it is new.

        A budget other than the recorded one raises BudgetMismatch. A second name for a known `source`, or for
        a file of a known folder, shares the first one's budget, with a warning unless `share` is True;
        share=False makes a budget of its own. Data in several places have several sources.
        `protects` says for whom charges are computed, such as "a row added or removed". The first one to say
        it settles it; another one is then a BudgetMismatch too, because charges of both do not add up.
        """
        said = Registration.of(dataset, budget, source, share, protects)
        with self._store.reading() as connection:
            number = settled(connection, said.name, said.sources)
            new = number is None or changeable(connection, number, protects)
            if number is not None and not new:
                check_budget(connection, number, budget, protects)
                check_name(connection, number, said.name, share)
                return DatasetAccount(self._store, number, said.name, protects)
        with self._store.writing() as writer:
            number = said.record(writer)
        return DatasetAccount(self._store, number, said.name, protects)

    def prospective_account(
        self,
        dataset: str,
        *,
        budget: Budget | None = None,
        source: str | Sequence[str] | None = None,
        share: bool | None = None,
        protects: str | None = None,
    ) -> DatasetAccount | NewAccount:
        """Return the account of a dataset; a new one is recorded with its first charge, not before."""
        said = Registration.of(dataset, budget, source, share, protects)
        known = False
        if self._store.exists():
            with self._store.reading() as connection:
                known = not is_new(connection, said.name, said.sources)
        if known:
            return self.account(dataset, budget=budget, source=source, share=share, protects=protects)
        return NewAccount(self._store, said)

    def knows(self, *source: str) -> bool:
        """Return whether a budget is kept for data that share rows with a source."""
        with self._store.reading() as connection:
            return bool(known_at(connection, tuple(composed("source", each) for each in source)))

    def sources(self) -> dict[str, tuple[str, ...]]:
        """Return where the rows of each dataset are, by each of its names; none before the first charge."""
        if not self._store.exists():
            return {}
        with self._store.reading() as connection:
            return sources_of(connection)

    def set_budget(
        self, dataset: str, budget: Budget, *, by: str | None = None, reason: str | None = None
    ) -> None:
        """Raise or lower a budget, never below what is spent; recorded as an event, with the reason.

        Either one after answers were given makes the guarantee ex post: this warns, and the record says so.
        """
        checked_budget(budget)
        with self._store.writing() as writer:
            change_budget(
                writer, find(writer.connection, dataset), budget, named_number(writer.connection, by), reason
            )

    def set_policy(
        self, dataset: str, *, answers: str | None = None, access: str | None = None, by: str | None = None
    ) -> None:
        """Say whose stored answers are given again (`shared`, `own`); who may ask (`anyone`, `granted`)."""
        with self._store.writing() as writer:
            set_policy(
                writer, find(writer.connection, dataset), answers, access, named_number(writer.connection, by)
            )

    def rename(self, dataset: str, name: str, *, by: str | None = None) -> None:
        """Show a dataset under another name; its old names still find it."""
        with self._store.writing() as writer:
            rename(writer, find(writer.connection, dataset), name, named_number(writer.connection, by))

    def retire(self, dataset: str, *, by: str | None = None) -> None:
        """Answer nothing more about a dataset; its record is kept."""
        with self._store.writing() as writer:
            retire(writer, find(writer.connection, dataset), named_number(writer.connection, by))

    def start_witness(self, path: str | Path) -> None:
        """Let a new file be the witness from now on: of this file's ledger, or of a server's on this host."""
        witness = Witness(Path(path))
        witness.start(self.head)
        with self._store.writing(witness):
            pass
        self._store.given = None

    def show(
        self, dataset: str | None = None, *, last: int | None = None, analyst: str | None = None
    ) -> Statement:
        """Return what was asked, when, by whom, at what charge, and what remains; prints as a table."""
        from .statement import statement

        with self._store.reading() as connection:
            about = None if dataset is None else find(connection, dataset)
            return statement(connection, about, last, named_number(connection, analyst))

    def statements(self, dataset: str | None = None) -> list[AnalystStatement]:
        """Return what each analyst asked of each dataset, was charged for it and may still spend."""
        from .analyst_statements import statements

        with self._store.reading(long=True) as connection:
            return statements(connection, None if dataset is None else find(connection, dataset))

    def verify(self) -> Head:
        """Check every event and rebuild all sums; return the head, or raise LedgerCorrupt."""
        from .verify import verify

        with self._store.reading(long=True) as connection, sound():
            check_opening(connection, self.place, None)
            return verify(connection)

    def export(self, kind: str) -> str:
        """Return the whole record as "csv" or "json", without the secret keys."""
        from .export import export

        with self._store.reading(long=True) as connection:
            return export(connection, kind)

    def back_up(self, path: str | Path) -> Head:
        """Copy an embedded ledger, consistently, while others write; verify the copy and return its head."""
        from .backup import back_up

        if self._store.path is None:
            raise LedgerError("A ledger on a server is backed up by the server: use pg_dump.")
        back_up(self._store.path, Path(path))
        with Ledger.open(path, copy=True) as copied:
            return copied.verify()

    def close(self) -> None:
        """Close the connections; the ledger can be used again afterwards."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
