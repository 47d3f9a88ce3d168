"""What opening refuses, and what only `verify` can find."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import pytest
from sqlalchemy import Connection, delete, insert, select

from dovetail.errors import InvalidParameter, LedgerCorrupt, LedgerError
from dovetail.ledger import DatasetAccount, Ledger
from dovetail.ledger.integrity import check_opening
from dovetail.ledger.schema import metadata, runs
from dovetail.privacy import Budget
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked, filled


def changed(ledger: Ledger, statement: str) -> None:
    """Edit the database behind the ledger's back."""
    with ledger._store._own().writer.begin() as connection:
        assert connection.exec_driver_sql(statement).rowcount == 1


OPENING_SEES = {
    "a sum made smaller": "UPDATE dovetail_balances SET epsilon = epsilon - 1",
    "a Renyi sum": "UPDATE dovetail_balances SET renyi = replace(renyi, '\"2\":', '\"2\":1')",
    "a looser cap": "UPDATE dovetail_balances SET cap_epsilon = cap_epsilon + 1",
    "a budget raised": "UPDATE dovetail_datasets SET budget = replace(budget, '\"1\"', '\"9\"')",
    "whom it protects": "UPDATE dovetail_datasets SET protects = 'nobody'",
    "a policy": "UPDATE dovetail_datasets SET answers = 'own'",
    "another secret": "UPDATE dovetail_datasets SET secret = 'x'",
    "a slot given back": 'UPDATE dovetail_plans SET "left" = 3',
    "a plan for all": "UPDATE dovetail_plans SET shared = 1",
    "an attempt at a closed request": (
        "INSERT INTO dovetail_attempts (request, attempt, until, held) VALUES (4, 1, '2000-01-01', 0)"
    ),
    "a lease shortened": "UPDATE dovetail_attempts SET until = '2000-01-01T00:00:00+00:00'",
    "a name removed": "DELETE FROM dovetail_names",
    "a source removed": "DELETE FROM dovetail_sources",
    "another's name": "UPDATE dovetail_people SET name = 'eve'",
    "another role": "UPDATE dovetail_principals SET role = 'curator'",
    "the last event": "UPDATE dovetail_events SET content = replace(content, 'lan', '') WHERE sequence = 11",
    "the last event's date": "UPDATE dovetail_events SET at = '2020' || substr(at, 5) WHERE sequence = 11",
    "the last event removed": "DELETE FROM dovetail_events WHERE sequence = 11",
    "the head moved back": "UPDATE dovetail_ledger SET sequence = sequence - 1",
    "the head's hash": "UPDATE dovetail_ledger SET hash = 'x' || substr(hash, 2)",
    "the head's digest": "UPDATE dovetail_ledger SET state = 'x' || substr(state, 2)",
    "the head lost": "DELETE FROM dovetail_ledger",
}
ONLY_VERIFY_SEES = {
    "an old question": "UPDATE dovetail_events SET content = replace(content, 't 0', '') WHERE sequence = 4",
    "an old answer": "UPDATE dovetail_events SET content = replace(content, 'd 0', 'd 9') WHERE sequence = 5",
    "an old event removed": "DELETE FROM dovetail_events WHERE sequence = 5",
    "a question forgotten": "DELETE FROM dovetail_requests WHERE id = 4",
    "a request reopened": "UPDATE dovetail_requests SET state = 'reserved', closing = NULL WHERE id = 4",
    "another analyst": "UPDATE dovetail_requests SET principal = 1 WHERE id = 4",
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


RIGHTS = ("datasets", "balances", "plans", "attempts", "keys", "grants", "vintages", "runs")


@pytest.mark.parametrize("table", RIGHTS)
def test_opening_refuses_one_old_row_put_back(ledger: Ledger, location: str, table: str) -> None:
    """Whatever gives a right comes back from an older copy: a sum, slots, a hold, a key, a grant."""
    account = everything(ledger)
    before = rows_of(ledger, table)
    use_everything(ledger, account)
    after = rows_of(ledger, table)
    gone = [row for row in before if row not in after]
    assert gone
    with ledger._store._own().writer.begin() as connection:
        target = metadata.tables[f"dovetail_{table}"]
        key = next(iter(target.primary_key.columns))
        old = gone[0]
        same = target.c[key.name] == old[key.name]
        if table == "balances":
            same &= target.c.vintage == old["vintage"]
        connection.execute(delete(target).where(same))
        connection.execute(insert(target).values(**old))
    with pytest.raises(LedgerCorrupt, match="edited or restored"):
        Ledger.open(location)


def everything(ledger: Ledger) -> DatasetAccount:
    """Let a ledger hold one of every right."""
    account = filled(ledger)
    ledger.people.add("bob")
    ledger.people.make_key("bob")
    ledger.people.grant("bob", "visits", Budget.pure("0.2"))
    account.declare_vintage("January")
    account.open_run("run", TENTH, 3, "ann", (5, -7))
    return account


def use_everything(ledger: Ledger, account: DatasetAccount) -> None:
    """Change every right, mostly by using it."""
    account.reserve(asked("more", analyst="bob"))
    account.reserve(asked("from the plan", plan=account.plans()[0].id))
    for reservation in [entry.sequence for entry in ledger.show().entries if "reserved" in entry.state]:
        account.settle(Reservation(reservation), "closed")
    ledger.people.revoke_key(ledger.people.keys()[0].public)
    ledger.people.revoke_grant("bob", "visits")
    account.complete_vintage("January")
    account.set_version("2")
    with ledger._store.writing() as writer:
        (row,) = writer.connection.execute(select(runs)).mappings()
        writer.delete(runs, dict(row))
        writer.record("name", 1, {"name": "makes the digest fit"})


def rows_of(ledger: Ledger, table: str) -> list[dict[str, object]]:
    with ledger._store.reading() as connection:
        found = connection.execute(select(metadata.tables[f"dovetail_{table}"])).mappings()
        return [dict(row) for row in found]


def test_one_old_page_put_back_sells_nothing_again(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"
    with Ledger.create(path) as ledger:
        everything(ledger)
        old = path.read_bytes()
        account = ledger.account("visits")
        for number in range(4):
            made = account.reserve(asked(f"later {number}"))
            assert isinstance(made, Reservation)
            account.settle(made, "noised")
        account.reserve(asked("from the plan", plan=account.plans()[0].id))
        kept = account.spent(), [plan.left for plan in account.plans()]
    new = path.read_bytes()
    pages = range(0, len(old), 4096)
    refused = 0
    for page in (at for at in pages if old[at : at + 4096] != new[at : at + 4096]):
        hurt = tmp_path / "hurt.ledger"
        hurt.write_bytes(new[:page] + old[page : page + 4096] + new[page + 4096 :])
        try:
            with Ledger.open(hurt) as ledger:
                account = ledger.account("visits")
                assert (account.spent(), [plan.left for plan in account.plans()]) == kept
        except LedgerError:
            refused += 1
    assert refused > 4


def test_opening_reads_no_more_rows_after_a_long_history(tmp_path: Path) -> None:
    """The steps that SQLite's machine takes to open do not grow with the record."""
    with Ledger.create(tmp_path / "test.ledger") as ledger:
        account = ledger.account("visits", budget=Budget.pure(100))
        steps = []
        for answers in (5, 200):
            with (
                ledger._store.writing() as writer,
                mock.patch.object(ledger._store, "writing", return_value=nullcontext(writer)),
            ):
                for number in range(answers):
                    made = account.reserve(asked(f"{answers}/{number}"))
                    assert isinstance(made, Reservation)
                    account.settle(made, "noised")
            with ledger._store.reading() as connection:
                steps.append(steps_of(connection))
    assert steps[1] == steps[0] > 100


def steps_of(connection: Connection) -> int:
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    driver = connection.connection.driver_connection
    assert driver is not None
    driver.set_progress_handler(count, 1)
    check_opening(connection, "here", None)
    driver.set_progress_handler(None, 0)
    return taken


def test_a_verified_ledger_names_its_head(ledger: Ledger, location: str) -> None:
    filled(ledger)
    with Ledger.open(location) as again:
        assert again.verify() == ledger.head
        assert again.head.sequence == 11


@pytest.mark.slow
def test_one_changed_byte_is_found_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"
    with Ledger.create(path) as ledger:
        filled(ledger)
        before = ledger.export("json"), ledger.account("visits").secret
    data = path.read_bytes()
    found = 0
    # Steps are primes, so that all places of a page are met; of empty space, fewer are enough.
    written = [at for at in range(0, len(data), 61) if any(data[max(at - 8, 0) : at + 8])]
    empty = range(0, len(data), 1009)
    for position in sorted({*written, *empty}):
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
    changed(ledger, "UPDATE dovetail_ledger SET schema_version = 3")
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


@pytest.mark.parametrize("nothing", ["", ".", Path(), None, 7, ":memory:", "sqlite:///:memory:", "sqlite://"])
def test_a_ledger_is_a_place_that_was_named(nothing: object) -> None:
    with pytest.raises(InvalidParameter, match="a file path or postgresql://"):
        Ledger.open(nothing)  # type: ignore[arg-type]


def test_a_password_is_never_shown() -> None:
    with pytest.raises(LedgerError) as failed:
        Ledger.open("postgresql://ann:hunter2@127.0.0.1:1/none", patience=1)
    assert "hunter2" not in str(failed.value)


def test_sqlite_is_set_to_be_durable(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "test.ledger") as ledger, ledger._store.reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous")
        }
    assert settings == {"journal_mode": "persist", "synchronous": 3}


def test_the_database_itself_refuses_to_overspend(ledger: Ledger) -> None:
    filled(ledger)
    from sqlalchemy.exc import IntegrityError

    for column, value in (("epsilon", "1000000001"), ("epsilon", "NULL"), ("delta", "1"), ("epsilon", "-1")):
        with pytest.raises(IntegrityError):
            changed(ledger, f"UPDATE dovetail_balances SET {column} = {value}")


def test_a_ledger_in_wal_mode_is_brought_back(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"
    Ledger.create(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    connection.close()
    with Ledger.open(path) as ledger, ledger._store.reading() as reading:
        assert reading.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "persist"


def test_a_last_event_without_one_before_it_is_no_link(ledger: Ledger, location: str) -> None:
    filled(ledger)
    changed(ledger, f"DELETE FROM dovetail_events WHERE sequence = {ledger.head.sequence - 1}")
    with pytest.raises(LedgerCorrupt, match="does not match its last event"):
        Ledger.open(location)
