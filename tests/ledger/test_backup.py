"""Copies of a ledger: made where nothing is, whole or not at all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dovetail.errors import LedgerCorrupt, LedgerError
from dovetail.ledger import Ledger, backup
from ledger_cases import filled


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        filled(ledger)
    return tmp_path / "some.ledger"


def test_a_copy_is_the_ledger_and_its_owners_alone(place: Path, tmp_path: Path) -> None:
    with Ledger.open(place) as ledger:
        assert ledger.back_up(tmp_path / "copy") == ledger.head
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
    with Ledger.open(tmp_path / "copy", copy=True) as copied:
        assert copied.export("json") == Ledger.open(place).export("json")


def test_a_copy_replaces_nothing(place: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "precious", place):
        if target != place:
            target.write_text("precious")
        before = target.read_bytes()
        with pytest.raises(LedgerError, match="A copy cannot be made at"):
            backup.back_up(place, target)
        assert target.read_bytes() == before
    with pytest.raises(LedgerError, match="A copy cannot be made at"):
        backup.back_up(place, tmp_path / "no folder/copy")


def test_half_a_copy_is_none(place: Path, tmp_path: Path) -> None:
    place.write_bytes(place.read_bytes()[:5000] + b"x" * 50)
    with pytest.raises(LedgerError):
        backup.back_up(place, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_before_a_change_a_copy_is_kept_and_if_the_change_fails_none(place: Path) -> None:
    kept = place.with_name(f"{place.name}.version1")
    with pytest.raises(ZeroDivisionError), backup.keep_copy(place):
        assert 1 / (not kept.exists())
    assert not kept.exists()
    before = Ledger.open(place).head
    with backup.keep_copy(place), sqlite3.connect(place) as edited:
        edited.execute("DELETE FROM dovetail_events")
    edited.close()
    with Ledger.open(kept, copy=True) as copied:
        assert copied.verify() == before
    with pytest.raises(LedgerCorrupt):
        Ledger.open(place)
    with pytest.raises(LedgerError, match="already exists"), backup.keep_copy(place):
        pass
