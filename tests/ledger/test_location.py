"""Where a ledger is kept by default."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest

from dovetail.errors import LedgerCorrupt
from dovetail.ledger import Ledger, default_path, location, source_name

pytestmark = pytest.mark.usefixtures("home")


def test_a_ledger_is_kept_beside_the_data(tmp_path: Path) -> None:
    data = tmp_path / "visits.csv"
    data.touch()
    assert default_path(data) == tmp_path / "visits.csv.ledger"


def test_a_folder_that_cannot_be_written_sends_it_home(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "visits.csv"
    monkeypatch.setattr(os, "access", lambda *_: False)
    path = default_path(data)
    assert path.parent == home
    path.touch()
    # Once it is there it stays, even if the folder opens up: no second budget by accident.
    monkeypatch.undo()
    monkeypatch.setattr(location, "_user_folder", lambda: home)
    assert default_path(data) == path


def test_a_database_has_its_ledger_at_home_without_its_password(home: Path) -> None:
    path = default_path("postgresql://ann:hunter2@db/clinic?password=hunter2")
    assert path.parent == home
    assert "hunter2" not in path.name
    assert path == default_path("postgresql://ann:other@db/clinic")
    assert path != default_path("postgresql://ann@db/other")


def test_one_file_has_one_name_however_it_is_reached(tmp_path: Path) -> None:
    data = tmp_path / "visits.csv"
    data.touch()
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    assert source_name(link) == source_name(tmp_path / "home" / ".." / "visits.csv") == str(data)
    assert source_name(data, "t") == f"{data}#t"


@pytest.mark.parametrize("text", ["2026/01/01 opening balance", "SQL"])
def test_a_file_of_another_program_beside_the_data_keeps_no_budget(tmp_path: Path, text: str) -> None:
    data = tmp_path / "visits.csv"
    data.touch()
    # The plain-text accounts of other programs end in .ledger as well; SQL is the beginning of a database.
    (tmp_path / "accounts.ledger").write_text(text)
    if text == "SQL":
        with pytest.raises(LedgerCorrupt, match=r"accounts\.ledger was cut to 3 bytes"):
            location.ledger_path(str(data), name="visits")
    else:
        assert location.ledger_path(str(data), name="visits") == tmp_path / "visits.csv.ledger"


def test_a_damaged_ledger_beside_the_data_is_named(tmp_path: Path) -> None:
    data, other = tmp_path / "visits.csv", tmp_path / "other.ledger"
    data.touch()
    Ledger.create(other).close()
    with sqlite3.connect(other) as edited:
        edited.execute("UPDATE dovetail_ledger SET hash = 'x'")
    edited.close()
    with pytest.raises(LedgerCorrupt, match=re.escape(str(other))):
        location.ledger_path(str(data), name="visits")
