"""What is done before a ledger is opened: find its store, fill an empty one, ask its witness."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection, select

from dovetail.check import positive, within
from dovetail.errors import InvalidParameter

from .chain import Head
from .integrity import check_opening, check_version
from .schema import ledger as head_row
from .store import Store
from .witness import Witness

# Seconds to wait for another writer before LedgerBusy.
PATIENCE = 30.0
# Seconds after which a reservation without an answer may be taken over.
LEASE = 600.0
_LONGEST = 86_400


def prepared_store(
    location: str | Path,
    witness: str | Path | Head | None,
    patience: float,
    lease: float = LEASE,
    copy: bool = False,
) -> tuple[Store, Head | None]:
    """Return the store, with its witness file, and the head that was noted."""
    waits, lasts = seconds("patience", patience), seconds("lease", lease)
    noted: Head | None = witness if isinstance(witness, Head) else None
    file: Witness | None = None
    if isinstance(witness, str):
        try:
            noted = Head.parse(witness)
        except InvalidParameter:
            file = Witness(Path(witness))
    elif isinstance(witness, Path):
        file = Witness(witness)
    return Store(location, waits, file, timedelta(seconds=lasts), copy), noted


def seconds(name: str, value: object) -> float:
    """Return how long somebody waits, or a lease lasts: a day at most, which databases can count.

    >>> seconds("lease", "0.5")
    0.5
    """
    fix = "Give seconds, such as 30."
    positive(name, value, fix)
    return float(within(name, value, 0, _LONGEST, fix))


def create_store(store: Store) -> bool:
    """Create an empty ledger with its witness; tell whether it was not there before."""
    if store.given is not None:
        store.given.check_new()
    made = store.create()
    if made and store.given is not None:
        with store.reading() as connection:
            head = check_opening(connection, store.place, None)
        store.given.start(head)
        with store.writing(store.given):
            pass
    return made


def witnessed_head(store: Store, connection: Connection) -> Head | None:
    """Return the newest head that the ledger's witness saw; a copy has none."""
    check_version(connection, store.place)
    named = connection.execute(select(head_row.c.witness)).scalar_one()
    witness = store.given if store.copy else store.witness_at(connection, named)
    return None if witness is None else witness.newest()
