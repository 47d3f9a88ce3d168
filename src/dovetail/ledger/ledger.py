"""The ledger itself: what its curator opens, reads, changes and checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from dovetail.check import positive
from dovetail.errors import DovetailError, InvalidParameter, LedgerError
from dovetail.privacy.budget import Budget

from .account import DatasetAccount
from .budgets import change_budget
from .chain import Head
from .export import export
from .failures import sound
from .integrity import check_opening
from .registry import (
    check_budget,
    check_name,
    checked_budget,
    composed,
    find,
    known_at,
    protected_by,
    registered,
    settle_protects,
    settled,
)
from .statement import Statement, statement
from .store import Store
from .verify import verify
from .witness import Witness

# Seconds to wait for another writer before LedgerBusy.
_PATIENCE = 30.0


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
        create: bool = False,
        witness: str | Path | Head | None = None,
        patience: float = _PATIENCE,
    ) -> Ledger:
        """Open a ledger after checking its head, its sums and its witness; refuse one that fails.

        `witness` is a file that keeps the head, or a head (`NUMBER:HASH`) that the operator noted.
        `create` makes the ledger first if there is none.
        """
        store, file, noted = _prepared(location, witness, patience)
        try:
            if not store.exists():
                if not create:
                    raise LedgerError(f"there is no ledger at {store.place}. Make one with Ledger.create.")
                _create(store, file)
            with store.reading() as connection, sound():
                check_opening(connection, noted if file is None else file.newest())
        except DovetailError:
            store.close()
            raise
        return cls(store)

    @classmethod
    def exists(cls, location: str | Path) -> bool:
        """Tell whether there is a ledger; nothing is made. A file that was cut to nothing is refused.

        >>> Ledger.exists("nowhere.ledger")
        False
        """
        store, _, _ = _prepared(location, None, _PATIENCE)
        try:
            return store.exists()
        finally:
            store.close()

    @classmethod
    def create(
        cls, location: str | Path, *, witness: str | Path | None = None, patience: float = _PATIENCE
    ) -> Ledger:
        """Create an empty ledger where there is none."""
        store, file, _ = _prepared(location, witness, patience)
        try:
            # An empty file is filled: whoever creates says that no ledger was kept there.
            if not _create(store, file):
                raise LedgerError(f"there is a ledger at {store.place} already. Open it with Ledger.open.")
        except DovetailError:
            store.close()
            raise
        return cls(store)

    @property
    def place(self) -> str:
        """Return where the ledger is kept."""
        return self._store.place

    @property
    def head(self) -> Head:
        """Return the number and hash of the last event, to be noted elsewhere."""
        with self._store.reading() as connection:
            return check_opening(connection, None)

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
        dataset = composed("name", dataset)
        listed = (source,) if isinstance(source, str | None) else tuple(source)
        at = tuple(composed("source", each) for each in listed if each is not None)
        if budget is not None:
            checked_budget(budget)
        with self._store.reading() as connection:
            number = settled(connection, dataset, at)
            new = number is None or (protects is not None and protected_by(connection, number) is None)
            if number is not None and not new:
                check_budget(connection, number, budget, protects)
                check_name(connection, number, dataset, share)
                return DatasetAccount(self._store, number, dataset)
        with self._store.writing() as pen:
            number = registered(pen, dataset, at, budget, share, protects)
            check_budget(pen.connection, number, budget, protects)
            check_name(pen.connection, number, dataset, share)
            settle_protects(pen, number, protects)
        return DatasetAccount(self._store, number, dataset)

    def knows(self, *source: str) -> bool:
        """Tell whether a budget is kept for data that share rows with a source."""
        with self._store.reading() as connection:
            return bool(known_at(connection, tuple(composed("source", each) for each in source)))

    def set_budget(self, dataset: str, budget: Budget) -> None:
        """Raise or lower a budget, never below what is spent; recorded as an event.

        Either one after answers were given makes the guarantee ex post: this warns, and the record says so.
        """
        checked_budget(budget)
        with self._store.writing() as pen:
            change_budget(pen, find(pen.connection, dataset), budget)

    def show(self, dataset: str | None = None, *, last: int | None = None) -> Statement:
        """Return what was asked, when, by whom, at what charge, and what remains; prints as a table."""
        with self._store.reading() as connection:
            return statement(connection, None if dataset is None else find(connection, dataset), last)

    def verify(self) -> Head:
        """Check every event and rebuild all sums; return the head, or raise LedgerCorrupt."""
        with self._store.reading() as connection, sound():
            check_opening(connection, None)
            return verify(connection)

    def export(self, kind: str) -> str:
        """Return the whole record as "csv" or "json", without the secret keys."""
        with self._store.reading() as connection:
            return export(connection, kind)

    def close(self) -> None:
        """Close the connections; the ledger can be used again afterwards."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _prepared(
    location: str | Path, witness: str | Path | Head | None, patience: float
) -> tuple[Store, Witness | None, Head | None]:
    """Return the store with its witness file or the head that was noted."""
    positive("patience", patience, "Give seconds, such as 30.")
    noted: Head | None = witness if isinstance(witness, Head) else None
    file: Witness | None = None
    if isinstance(witness, str):
        try:
            noted = Head.parse(witness)
        except InvalidParameter:
            file = Witness(Path(witness))
    elif isinstance(witness, Path):
        file = Witness(witness)
    return Store(location, patience, file), file, noted


def _create(store: Store, file: Witness | None) -> bool:
    made = store.create()
    if made and file is not None:
        with store.reading() as connection:
            file.append(check_opening(connection, None))
    return made
