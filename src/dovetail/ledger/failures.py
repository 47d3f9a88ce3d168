"""What a database's failure means to whoever asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, PendingRollbackError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from dovetail.errors import LedgerBusy, LedgerCorrupt, LedgerError, LedgerUnavailable
from dovetail.postgresql import failure_of

from .prepared_statements import UNCHANGED

_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")
_CORRUPT, _NO_DATABASE = "SQLITE_CORRUPT", "SQLITE_NOTADB"
_STORAGE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_PERM": "access is denied",
    "SQLITE_IOERR": "reading or writing it failed",
}
# PostgreSQL: lock not available, deadlock, serialization failure, too many connections.
_BUSY_STATES = ("55P03", "40P01", "40001", "53300")
_CORRUPT_STATES = ("XX001", "XX002")


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn a failure of the database at `place` into a LedgerError that says what to do."""
    try:
        yield
    except DBAPIError as error:
        lost = error.connection_invalidated
        raise _meaning(place, error.orig, lost) from error
    except sqlite3.Error as error:
        raise _meaning(place, error, lost=False) from error
    except UnicodeDecodeError as error:
        # Python's driver stumbles over SQLite's own report of the damage.
        raise LedgerCorrupt(
            f"The ledger {place} is damaged.", "Restore it from a backup.", kept_at=place
        ) from error
    except UnicodeError as error:
        # The driver tells so of a host whose name has parts that are empty, too long or unheard of.
        raise _meaning(place, error, lost=False) from error
    except NoConnectionLeft as error:
        raise LedgerBusy(
            f"All connections to the ledger {place} are in use.",
            "Nothing was spent by this call; try again.",
            kept_at=place,
        ) from error
    except PendingRollbackError as error:
        # A connection was lost, and somebody looked at it again on the way out.
        raise _lost(place) from error
    except SQLAlchemyError as error:
        raise LedgerError(
            f"The ledger {place} cannot be used: {type(error).__name__}.", CAUTION, kept_at=place
        ) from error
    except Exception as error:
        # Psycopg's own errors; the driver may not be installed, so they are known by what they carry.
        if not hasattr(error, "sqlstate"):
            raise
        raise _meaning(place, error, lost=False) from error


@contextmanager
def sound() -> Iterator[None]:
    """Report as damage what a reader of the record stumbles over: a number that is text, JSON cut short."""
    try:
        yield
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise LedgerCorrupt("The ledger holds something unreadable.", "Restore it from a backup.") from error


def row_moved() -> LedgerCorrupt:
    """Return what to raise when a row that was read under the lock is not there any more."""
    return LedgerCorrupt("A row of the ledger moved while it was locked.", "Nothing was recorded.")


def held_by_another(place: str) -> LedgerBusy:
    """Return what to raise when the ledger could not be had in time."""
    return LedgerBusy(
        f"The ledger {place} is held by another process.",
        "Nothing was spent by this call; try again.",
        kept_at=place,
    )


def _meaning(place: str, error: BaseException | None, lost: bool) -> LedgerError:
    name = getattr(error, "sqlite_errorname", None) or ""
    state = getattr(error, "sqlstate", None) or ""
    if name.startswith(_BUSY) or state in _BUSY_STATES:
        return held_by_another(place)
    if name.startswith(_NO_DATABASE):
        return LedgerCorrupt(
            f"The file {place} is not a ledger, or it is damaged.",
            "Check its name; if it was a ledger, restore it from a backup.",
            kept_at=place,
        )
    if name.startswith(_CORRUPT) or state in _CORRUPT_STATES or _unreadable(error):
        return LedgerCorrupt(
            f"The ledger {place} is damaged ({name or state}).", "Restore it from a backup.", kept_at=place
        )
    for prefix, words in _STORAGE.items():
        if name.startswith(prefix):
            return LedgerUnavailable(f"The ledger {place} failed: {words}.", CAUTION, kept_at=place)
    if state == UNCHANGED:
        return row_moved()
    failure = failure_of(error)
    if failure is not None and not name:
        return LedgerUnavailable(
            f"The ledger {place} cannot be used.", f"{failure.words} {CAUTION}", kept_at=place
        )
    if lost:
        return _lost(place)
    # What the server says is not repeated: it can quote an address or a question.
    failed = name or state or type(error).__name__
    return LedgerError(f"The ledger {place} failed ({failed}).", CAUTION, kept_at=place)


def _lost(place: str) -> LedgerUnavailable:
    return LedgerUnavailable(f"The connection to the ledger {place} was lost.", CAUTION, kept_at=place)


def _unreadable(error: BaseException | None) -> bool:
    """Recognise text columns that are no longer text, which the driver reports without a code."""
    return "Could not decode to UTF-8" in str(error)


CAUTION = "No answer was given; a charge may have been recorded."
