"""What a failure of the database means to whoever asked, by what the driver says of it."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, InvalidRequestError, PendingRollbackError

from dovetail.errors import LedgerBusy, LedgerCorrupt, LedgerError, LedgerUnavailable
from dovetail.ledger.failures import sound, translated
from dovetail.ledger.prepared_statements import UNCHANGED


def of_sqlite(name: str) -> sqlite3.Error:
    error = sqlite3.OperationalError("a private value")
    error.sqlite_errorname = name
    return error


def of_server(state: str | None, words: str = "a private value") -> psycopg.Error:
    class Failed(psycopg.OperationalError):
        sqlstate = state

    return Failed(words)


def meant(error: BaseException) -> LedgerError:
    with pytest.raises(LedgerError) as caught, translated("/srv/x.ledger"):
        raise error
    assert "a private value" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("SQLITE_BUSY", LedgerBusy, "held by another process"),
        ("SQLITE_BUSY_SNAPSHOT", LedgerBusy, "held by another process"),
        ("SQLITE_LOCKED", LedgerBusy, "held by another process"),
        ("SQLITE_NOTADB", LedgerCorrupt, "not a ledger"),
        ("SQLITE_CORRUPT", LedgerCorrupt, "damaged (SQLITE_CORRUPT)"),
        ("SQLITE_FULL", LedgerUnavailable, "the disk is full"),
        ("SQLITE_READONLY_DBMOVED", LedgerUnavailable, "read-only"),
        ("SQLITE_IOERR_FSYNC", LedgerUnavailable, "reading or writing it failed"),
    ],
)
def test_what_sqlite_says(name: str, kind: type[LedgerError], words: str) -> None:
    raw = of_sqlite(name)
    for error in (raw, DBAPIError("SELECT", None, raw)):
        found = meant(error)
        assert type(found) is kind
        assert words in str(found)


@pytest.mark.parametrize(
    ("state", "kind", "words"),
    [
        ("55P03", LedgerBusy, "held by another process"),
        ("40P01", LedgerBusy, "held by another process"),
        ("XX001", LedgerCorrupt, "damaged (XX001)"),
        (UNCHANGED, LedgerCorrupt, "moved while it was locked"),
        ("42501", LedgerUnavailable, "lacks a right"),
    ],
)
def test_what_a_server_says(state: str, kind: type[LedgerError], words: str) -> None:
    raw = of_server(state)
    for error in (raw, DBAPIError("SELECT", None, raw)):
        found = meant(error)
        assert type(found) is kind
        assert words in str(found)


def test_a_failure_of_a_file_is_not_taken_for_one_of_a_server() -> None:
    """Whatever SQLite names, no server, host or password is spoken of."""
    found = meant(of_sqlite("SQLITE_ERROR"))
    assert type(found) is LedgerError
    for word in ("server", "host", "password", "user"):
        assert word not in str(found)


def test_a_connection_that_was_lost_says_so() -> None:
    lost = DBAPIError("SELECT", None, of_server(None), connection_invalidated=True)
    assert "was lost" in str(meant(lost)) or "cannot be used" in str(meant(lost))
    assert "was lost" in str(meant(PendingRollbackError("again")))
    assert "InvalidRequestError" in str(meant(InvalidRequestError("a private value")))
    broken = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "a private value")
    assert type(meant(broken)) is LedgerCorrupt


def test_what_is_no_failure_of_a_database_goes_on() -> None:
    with pytest.raises(ZeroDivisionError), translated("x"):
        raise ZeroDivisionError


@pytest.mark.parametrize("error", [AttributeError(), TypeError(), ValueError(), KeyError()], ids=repr)
def test_what_a_reader_stumbles_over_is_damage(error: Any) -> None:
    with pytest.raises(LedgerCorrupt, match="unreadable"), sound():
        raise error
