"""An old copy that is put in the place of a ledger is noticed by whoever has the ledger open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dovetail.errors import LedgerCorrupt, LedgerError
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.release.account import Reservation, StoredAnswer
from ledger_cases import TENTH, asked


def copied_over(old: Path, place: Path) -> None:
    shutil.copy(old, place)


def moved_over(old: Path, place: Path) -> None:
    os.replace(old, place)


def removed(old: Path, place: Path) -> None:
    place.unlink()


@pytest.mark.parametrize("put_back", [copied_over, moved_over, removed])
def test_a_file_that_is_put_back_sells_nothing(
    tmp_path: Path, put_back: Callable[[Path, Path], None]
) -> None:
    place, old = tmp_path / "a.ledger", tmp_path / "old.ledger"
    with Ledger.create(place) as ledger:
        account = ledger.account("visits", budget=Budget.pure("0.2"))
        account.reserve(asked("first"))
        shutil.copy(place, old)
        account.reserve(asked("second"))
        put_back(old, place)
        for word in ("third", "fourth"):
            with pytest.raises(LedgerError):
                account.reserve(asked(word))
        with pytest.raises(LedgerError):
            ledger.check_ready()


def test_an_old_file_is_noticed_by_who_only_looked_at_the_newer_one(tmp_path: Path) -> None:
    place, old = tmp_path / "a.ledger", tmp_path / "old.ledger"
    with Ledger.create(place) as ledger, Ledger.open(place) as other:
        account = ledger.account("visits", budget=Budget.pure("0.2"))
        shutil.copy(place, old)
        other.account("visits").reserve(asked("first"))
        ledger.check_ready()
        shutil.copy(old, place)
        with pytest.raises(LedgerCorrupt, match="not the one that this process used"):
            account.reserve(asked("second"))


def test_what_others_record_is_no_rollback(location: str) -> None:
    with Ledger.create(location) as one, Ledger.open(location) as other:
        account = one.account("visits", budget=Budget.pure(1))
        for number in range(3):
            account.reserve(asked(f"one {number}"))
            other.account("visits").reserve(asked(f"other {number}"))
        assert account.spent() == TENTH.times(6)


def test_what_was_only_read_may_be_lost_in_a_crash_of_the_server(postgres_url: str) -> None:
    """A charge of somebody else can be seen before it is on disk; when the server crashes, it is undone."""
    with (
        Ledger.create(postgres_url) as ledger,
        Ledger.open(postgres_url) as other,
        psycopg.connect(postgres_url, autocommit=True) as connection,
    ):
        account = ledger.account("visits", budget=Budget.pure(1))
        made = account.reserve(asked("first"))
        assert isinstance(made, Reservation)
        account.settle(made, "7")
        on_disk = kept_tables(connection)
        other.account("visits").reserve(asked("second"))
        assert isinstance(account.reserve(asked("first")), StoredAnswer)
        put_tables(connection, on_disk)
        assert isinstance(account.reserve(asked("third")), Reservation)
        ledger.verify()


def kept_tables(connection: psycopg.Connection[Any]) -> dict[str, list[Any]]:
    """Return all rows of the ledger's tables."""
    named = "SELECT tablename FROM pg_tables WHERE tablename LIKE 'dovetail%' AND schemaname = 'public'"
    names = [row[0] for row in connection.execute(named)]
    return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def put_tables(connection: psycopg.Connection[Any], tables: dict[str, list[Any]]) -> None:
    """Let the ledger's tables hold these rows."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(tables)}")
        for name, rows in tables.items():
            for row in rows:
                cursor.execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)


@pytest.mark.parametrize("behind", [1, 0])
def test_a_server_that_was_set_back_sells_nothing(postgres_url: str, behind: int) -> None:
    """As after a switch to a copy that had not heard of the last commit, or heard of another instead."""
    with Ledger.create(postgres_url) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        account.reserve(asked("first"))
        with psycopg.connect(postgres_url) as connection:
            connection.execute("UPDATE dovetail_ledger SET hash = '', sequence = sequence - %s", [behind])
        with pytest.raises(LedgerCorrupt, match="not the one that this process used"):
            account.reserve(asked("second"))
