"""What opening refuses, and what only `verify` can find."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from dovetail.errors import InvalidParameter, LedgerCorrupt, LedgerError
from dovetail.ledger import DatasetAccount, Head, Ledger
from dovetail.privacy import Budget
from dovetail.release.ports import Reservation
from ledger_cases import TENTH, asked


def filled(ledger: Ledger, answers: int = 3) -> DatasetAccount:
    """Let a ledger hold one of everything."""
    account = ledger.account("visits", budget=Budget.pure(1), source="/data/visits.csv")
    for number in range(answers):
        made = account.reserve(asked(f"count {number}", key=f"k{number}"))
        assert isinstance(made, Reservation)
        account.settle(made, f"noised {number}")
    plan = account.open_plan("design", TENTH, 3, "ann")
    account.reserve(asked("planned", plan=plan.id))
    return account


def changed(ledger: Ledger, statement: str) -> None:
    """Edit the database behind the ledger's back."""
    with ledger._store._own().writer.begin() as connection:
        assert connection.exec_driver_sql(statement).rowcount == 1


OPENING_SEES = {
    "a sum made smaller": "UPDATE dovetail_datasets SET epsilon = epsilon - 1",
    "a Renyi sum": "UPDATE dovetail_datasets SET renyi = replace(renyi, '\"2\":', '\"2\":1')",
    "a budget raised": "UPDATE dovetail_datasets SET budget = replace(budget, '\"1\"', '\"9\"')",
    "the last event": "UPDATE dovetail_events SET content = replace(content, 'ann', 'a') WHERE sequence = 10",
    "the last event's date": "UPDATE dovetail_events SET at = '2020' || substr(at, 5) WHERE sequence = 10",
    "the last event removed": "DELETE FROM dovetail_events WHERE sequence = 10",
    "the head moved back": "UPDATE dovetail_ledger SET sequence = sequence - 1",
    "the head's hash": "UPDATE dovetail_ledger SET hash = 'x' || substr(hash, 2)",
    "the head lost": "DELETE FROM dovetail_ledger",
}
ONLY_VERIFY_SEES = {
    "an old question": "UPDATE dovetail_events SET content = replace(content, 't 0', '') WHERE sequence = 3",
    "an old answer": "UPDATE dovetail_events SET content = replace(content, 'd 0', 'd 9') WHERE sequence = 4",
    "an old event removed": "DELETE FROM dovetail_events WHERE sequence = 4",
    "a question forgotten": "DELETE FROM dovetail_requests WHERE id = 3",
    "a request reopened": "UPDATE dovetail_requests SET state = 'reserved', closing = NULL WHERE id = 3",
    "another analyst": "UPDATE dovetail_requests SET analyst = 'eve' WHERE id = 3",
    "a slot given back": 'UPDATE dovetail_plans SET "left" = 3',
    "a name removed": "DELETE FROM dovetail_names",
    "a source removed": "DELETE FROM dovetail_sources",
    "a looser cap": "UPDATE dovetail_datasets SET cap_epsilon = cap_epsilon + 1",
    "another secret": "UPDATE dovetail_datasets SET secret = 'x'",
}


@pytest.mark.parametrize("statement", OPENING_SEES.values(), ids=OPENING_SEES)
def test_opening_refuses_an_edited(ledger: Ledger, location: str, statement: str) -> None:
    filled(ledger)
    changed(ledger, statement)
    with pytest.raises(LedgerCorrupt):
        Ledger.open(location)
    with pytest.raises(LedgerCorrupt):
        ledger.verify()


@pytest.mark.parametrize("statement", ONLY_VERIFY_SEES.values(), ids=ONLY_VERIFY_SEES)
def test_verify_finds_an_edited(ledger: Ledger, location: str, statement: str) -> None:
    filled(ledger)
    changed(ledger, statement)
    with Ledger.open(location) as opened, pytest.raises(LedgerCorrupt):
        opened.verify()


def test_a_verified_ledger_names_its_head(ledger: Ledger, location: str) -> None:
    filled(ledger)
    with Ledger.open(location) as again:
        assert again.verify() == ledger.head
        assert again.head.sequence == 10


@pytest.mark.slow
def test_one_changed_byte_is_found_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"
    with Ledger.create(path) as ledger:
        filled(ledger)
        before = ledger.export("json"), ledger.account("visits").secret
    data = path.read_bytes()
    found = 0
    step = 131  # a prime, so that all places of a page are met
    for position in range(0, len(data), step):
        hurt = tmp_path / "hurt.ledger"
        hurt.write_bytes(data[:position] + bytes([data[position] ^ 0x01]) + data[position + 1 :])
        try:
            with Ledger.open(hurt) as ledger:
                ledger.verify()
                assert (ledger.export("json"), ledger.account("visits").secret) == before
        except LedgerError:
            found += 1
    # Much of a small file is empty space, where a byte means nothing.
    assert found > 20


def test_a_newer_schema_is_refused(ledger: Ledger, location: str) -> None:
    changed(ledger, "UPDATE dovetail_ledger SET schema_version = 2")
    with pytest.raises(LedgerError, match="newer"):
        Ledger.open(location)


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" * 1000)
    with pytest.raises(LedgerCorrupt):
        Ledger.open(path)


def test_there_must_be_a_ledger_to_open_and_none_to_create(location: str) -> None:
    with pytest.raises(LedgerError, match=r"no ledger at .* Ledger\.create"):
        Ledger.open(location)
    Ledger.create(location).close()
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(location)
    Ledger.open(location).close()


def test_a_missing_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="nowhere"):
        Ledger.create(tmp_path / "nowhere" / "test.ledger")


@pytest.mark.parametrize("bad", ["mysql://host/db", "http://host", "postgresql", "://"])
def test_an_address_that_is_none_is_refused_without_showing_it(bad: str) -> None:
    if "://" in bad:
        with pytest.raises(InvalidParameter, match="a file path or postgresql://"):
            Ledger.open(bad)
    else:
        with pytest.raises(LedgerError, match="no ledger"):
            Ledger.open(bad)


def test_a_password_is_never_shown() -> None:
    with pytest.raises(LedgerError) as failed:
        Ledger.open("postgresql://ann:hunter2@127.0.0.1:1/none", patience=1)
    assert "hunter2" not in str(failed.value)


def test_a_witness_tells_an_old_copy_from_the_ledger(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "elsewhere" / "witness"
    witness.parent.mkdir()
    with Ledger.create(path, witness=witness) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        shutil.copy(path, tmp_path / "old")
        account.reserve(asked())
    Ledger.open(path, witness=witness).close()
    shutil.copy(tmp_path / "old", path)
    Ledger.open(path).close()  # by itself the old copy is sound
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(path, witness=witness)


def test_another_ledger_with_as_many_events_is_not_the_witnessed_one(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    for name in ("a", "b"):
        with Ledger.create(tmp_path / name, witness=witness if name == "a" else None) as ledger:
            ledger.account("visits", budget=Budget.pure(1))
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(tmp_path / "b", witness=witness)


def test_a_noted_head_is_a_witness(ledger: Ledger, location: str) -> None:
    account = filled(ledger)
    noted = ledger.head
    account.reserve(asked("later"))
    Ledger.open(location, witness=noted).close()
    Ledger.open(location, witness=str(noted)).close()
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(location, witness=Head(noted.sequence, "0" * 64))
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(location, witness=Head(99, noted.hash))


def test_a_crash_between_ledger_and_witness_does_no_harm(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    with Ledger.create(path, witness=witness) as ledger:
        ledger.account("visits", budget=Budget.pure(1)).reserve(asked())
    lines = witness.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    witness.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])  # the last line torn
    Ledger.open(path, witness=witness).close()


def test_an_empty_or_missing_witness_is_refused(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    Ledger.create(path).close()
    with pytest.raises(LedgerError, match="missing or empty"):
        Ledger.open(path, witness=witness)
    with Ledger.open(path) as ledger:
        witness.write_text(f"{ledger.head}\n")
    Ledger.open(path, witness=witness).close()


def test_a_witness_that_cannot_be_written_gives_no_permission(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    with Ledger.create(path, witness=witness) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        witness.unlink()
        witness.mkdir()
        with pytest.raises(LedgerError, match=r"witness .* The charge is recorded"):
            account.reserve(asked())
        assert account.spent() == TENTH


def test_sqlite_is_set_to_be_durable(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "test.ledger") as ledger, ledger._store.reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous")
        }
    assert settings == {"journal_mode": "delete", "synchronous": 3}


def test_the_database_itself_refuses_to_overspend(ledger: Ledger) -> None:
    filled(ledger)
    from sqlalchemy.exc import IntegrityError

    for column, value in (("epsilon", "1000000001"), ("epsilon", "NULL"), ("delta", "1"), ("epsilon", "-1")):
        with pytest.raises(IntegrityError):
            changed(ledger, f"UPDATE dovetail_datasets SET {column} = {value}")


def test_a_ledger_in_wal_mode_is_brought_back(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"
    Ledger.create(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    connection.close()
    with Ledger.open(path) as ledger, ledger._store.reading() as reading:
        assert reading.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "delete"
