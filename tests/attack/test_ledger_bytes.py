"""Flip bytes of a ledger's file: it opens as it was, or is refused; nothing is ever gained."""

from __future__ import annotations

import random
import shutil
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.errors import DovetailError, LedgerCorrupt, LedgerError
from dovetail.ledger import Ledger
from dovetail.ledger.schema import metadata
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Request, Reservation

SOURCE = "/data/visits.csv"


def spend(book: Ledger, number: int) -> None:
    account = book.account("visits", source=SOURCE)
    charge = Charge.zero() if number < 0 else _charge(100_000_000)
    given = account.reserve(Request(f'{{"question": {number}}}', charge, "ann", key=f"k{number}"))
    assert isinstance(given, Reservation)
    account.settle(given, '{"cells": [[[1]]], "charge": {}}')


def _charge(units: int) -> Charge:
    return Charge(units, units, (units,) * len(Charge.zero().renyi_units), 0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole") / "a.ledger"
    with Ledger.create(place) as book:
        book.account("visits", budget=Budget.pure(1), source=SOURCE)
        for number in range(4):
            spend(book, number)
    return place


def flipped(whole: Path, place: Path, times: int, seed: int) -> Iterator[int]:
    """Yield after each single change of one byte; most changes hit bytes that hold something."""
    original = whole.read_bytes()
    used = [at for at, byte in enumerate(original) if byte]
    choose = random.Random(seed)
    for number in range(times):
        damaged = bytearray(original)
        at = choose.choice(used) if number % 5 else choose.randrange(len(original))
        damaged[at] ^= 1 << choose.randrange(8)
        place.write_bytes(damaged)
        yield at


def what_can_be_spent(place: Path) -> int:
    """Spend as much as the ledger lets us, as an analyst would who opens a session with its budget."""
    sold = 0
    with Ledger.open(place, create=True) as book:
        account = book.account("visits", budget=Budget.pure(1), source=SOURCE)
        for number in range(100, 112):
            try:
                account.reserve(Request(f'{{"question": {number}}}', _charge(100_000_000), "bob"))
            except LedgerError:
                raise
            except DovetailError:
                break
            sold += 1
    return sold


@pytest.mark.filterwarnings("ignore::dovetail.ledger.SharedBudget")
@pytest.mark.parametrize(("times", "seed"), [(60, 1), pytest.param(300, 2, marks=pytest.mark.slow)])
def test_one_flipped_bit_is_refused_or_sells_no_more_than_was_left(
    whole: Path, tmp_path: Path, times: int, seed: int
) -> None:
    refused = 0
    for at in flipped(whole, tmp_path / "a.ledger", times, seed):
        try:
            assert what_can_be_spent(tmp_path / "a.ledger") <= 6, f"byte {at}"
        except LedgerError:
            refused += 1
        (tmp_path / "a.ledger-journal").unlink(missing_ok=True)
    # The power of the test: a good part of the changes matters to opening.
    assert refused > times // 10


@pytest.mark.parametrize(("times", "seed"), [(60, 3), pytest.param(300, 4, marks=pytest.mark.slow)])
def test_verify_finds_every_flip_that_changes_what_is_kept(
    whole: Path, tmp_path: Path, times: int, seed: int
) -> None:
    kept = _rows(whole)
    found = 0
    for at in flipped(whole, tmp_path / "a.ledger", times, seed):
        try:
            changed = _rows(tmp_path / "a.ledger") != kept
        except (sqlite3.Error, UnicodeDecodeError):
            changed = True
        try:
            with warnings.catch_warnings(), Ledger.open(tmp_path / "a.ledger") as book:
                book.verify()
        except LedgerError:
            found += 1
        else:
            assert not changed, f"byte {at}"
    assert found > times // 5


def _rows(place: Path) -> list[object]:
    connection = sqlite3.connect(place)
    try:
        return [
            connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in metadata.tables
        ]
    finally:
        connection.close()


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"\0" * 8192, b"text\n" * 999, b"PK\x03\x04"])
def test_another_file_is_no_ledger(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "a.ledger"
    place.write_bytes(content)
    with pytest.raises(LedgerError):
        Ledger.open(place)
    assert place.read_bytes() == content


def test_a_cut_ledger_is_refused(whole: Path, tmp_path: Path) -> None:
    place = tmp_path / "a.ledger"
    size = whole.stat().st_size
    for kept in (100, size // 2, size - 4096, size - 1):
        shutil.copy(whole, place)
        with place.open("r+b") as file:
            file.truncate(kept)
        with pytest.raises(LedgerError), Ledger.open(place) as book:
            book.verify()


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE dovetail_balances SET epsilon = 0",
        "UPDATE dovetail_balances SET epsilon = -1",
        "UPDATE dovetail_balances SET cap_epsilon = 9000000000",
        "UPDATE dovetail_datasets SET budget = replace(budget, '\"1\"', '\"9\"')",
        "UPDATE dovetail_people SET name = 'eve'",
        "UPDATE dovetail_events SET content = replace(content, '100000000', '1') WHERE sequence = 4",
        "DELETE FROM dovetail_events WHERE sequence = (SELECT max(sequence) FROM dovetail_events)",
        "DELETE FROM dovetail_requests",
        "DELETE FROM dovetail_datasets",
        "UPDATE dovetail_names SET name = 'other'",
        "UPDATE dovetail_ledger SET sequence = 1",
        "DELETE FROM dovetail_ledger",
        "DROP TABLE dovetail_sources",
    ],
)
def test_an_edit_by_hand_is_found(whole: Path, tmp_path: Path, edit: str) -> None:
    place = tmp_path / "a.ledger"
    shutil.copy(whole, place)
    with sqlite3.connect(place) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(edit)
    connection.close()
    with pytest.raises(LedgerError) as caught, Ledger.open(place) as book:
        book.verify()
    assert isinstance(caught.value, LedgerCorrupt) or "DROP" in edit
