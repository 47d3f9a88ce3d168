"""Where a ledger is kept by default."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest

from dovetail.errors import LedgerCorrupt, LedgerError
from dovetail.ledger import Ledger, default_path, location, source_name
from dovetail.ledger.location import _user_folder as user_folder
from dovetail.privacy import Budget

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


def book(place: Path, name: str, *source: str) -> Path:
    """Make a ledger that keeps a budget for a source."""
    with Ledger.create(place) as ledger:
        ledger.account(name, budget=Budget.pure(1), source=source)
    return place


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a file and, in a folder of its own, another one."""
    folder = tmp_path / "data"
    (folder / "months").mkdir(parents=True)
    for place in (folder / "a.csv", folder / "months/jan.csv"):
        place.touch()
    return folder


def test_the_ledger_of_a_folder_around_the_data_pays(data: Path, tmp_path: Path) -> None:
    assert location.ledger_path(str(data / "months/jan.csv")) == data / "months/jan.csv.ledger"
    kept = book(tmp_path / "data.ledger", "all", str(data))
    assert location.ledger_path(str(data / "months/jan.csv")) == kept
    assert location.ledger_path(str(data / "a.csv")) == kept
    assert location.ledger_path(str(data)) == kept
    # One of another folder that happens to have that name knows nothing of these data.
    other = book(tmp_path / "data" / "months.ledger", "other", "/elsewhere")
    assert location.ledger_path(str(data / "months/jan.csv")) == kept
    assert other.exists()


def test_a_folder_that_is_called_like_a_ledger_is_none(data: Path, tmp_path: Path) -> None:
    (tmp_path / "data.ledger").mkdir()
    assert location.ledger_path(str(data / "a.csv")) == data / "a.csv.ledger"


def test_the_users_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "new"))
    folder = user_folder()
    assert folder.is_dir()
    assert folder.name == "dovetail"


def test_two_ledgers_around_the_data_are_refused(data: Path, tmp_path: Path) -> None:
    book(tmp_path / "data.ledger", "all", str(data))
    book(data / "months.ledger", "months", str(data / "months"))
    with pytest.raises(LedgerError, match="budgets in several ledgers"):
        location.ledger_path(str(data / "months/jan.csv"))
    assert location.ledger_path(str(data / "a.csv")) == tmp_path / "data.ledger"


@pytest.mark.parametrize("where", ["beside", "home"])
def test_a_folder_whose_files_have_ledgers_is_refused(data: Path, home: Path, where: str) -> None:
    inner = data / "months/jan.csv"
    place = inner.with_name("jan.csv.ledger") if where == "beside" else home / location._home_name(str(inner))
    book(place, "jan", str(inner))
    with pytest.raises(LedgerError, match="already, and two budgets would add up"):
        location.ledger_path(str(data))
    book(data / "a.csv.ledger", "a", str(data / "a.csv"))
    with pytest.raises(LedgerError, match="budgets in several ledgers"):
        location.ledger_path(str(data))
    assert location.ledger_path(str(data / "a.csv")) == data / "a.csv.ledger"


def test_ledgers_inside_a_folder_are_those_of_its_files(data: Path) -> None:
    """A ledger whose data are gone, or that was named by hand, belongs to none of them."""
    book(data / "a.csv.ledger", "a", str(data / "a.csv"))
    for stray in ("gone.csv.ledger", "byhand.ledger"):
        book(data / stray, "stray", "/elsewhere")
    assert list(location._inside(data)) == [data / "a.csv.ledger"]


def test_the_next_month_is_charged_where_its_name_is_known(data: Path, home: Path) -> None:
    kept = book(data / "a.csv.ledger", "visits", str(data / "a.csv"))
    assert location.ledger_path(str(data / "b.csv"), name="visits") == kept
    assert location.ledger_path(str(data / "b.csv"), name="letters") == data / "b.csv.ledger"
    assert location.ledger_path(str(data / "b.csv")) == data / "b.csv.ledger"
    second = book(home / "other.ledger", "visits", "/elsewhere")
    with pytest.raises(LedgerError, match="Several ledgers keep a budget of 'visits'"):
        location.ledger_path(str(data / "b.csv"), name="visits")
    # Whose rows are known is not asked by name.
    assert location.ledger_path(str(data / "a.csv"), name="visits") == kept
    second.unlink()
    assert location.ledger_path(str(data / "b.csv"), name="visits") == kept


def test_a_linked_file_has_the_ledger_of_what_it_leads_to(data: Path) -> None:
    kept = book(data / "a.csv.ledger", "visits", str(data / "a.csv"))
    assert location.ledger_path(str(data / "link.csv"), str(data / "a.csv")) == kept


def test_what_cannot_be_looked_at_may_be_a_ledger(tmp_path: Path) -> None:
    """Whoever opens it is told why it cannot be read."""
    for name, content, may in (("sqlite", b"SQLite format 3\0more", True), ("empty", b"", True)):
        (tmp_path / name).write_bytes(content)
        assert location._may_be_ledger(tmp_path / name) is may
    (tmp_path / "text").write_bytes(b"SQLite format 4\0")
    assert not location._may_be_ledger(tmp_path / "text")
    assert location._may_be_ledger(tmp_path)
    assert location._may_be_ledger(tmp_path / "gone")


def test_the_newest_ledgers_beside_the_data_come_first(data: Path, home: Path) -> None:
    for age, place in enumerate((data / "x.ledger", home / "y.ledger", data / "z.ledger")):
        place.touch()
        os.utime(place, ns=(0, 10**9 * (10 - age)))
    (data / "folder.ledger").mkdir()
    assert location.beside(str(data / "a.csv#t"), "postgresql://db/clinic") == [
        data / "x.ledger",
        home / "y.ledger",
        data / "z.ledger",
    ]


@pytest.mark.parametrize(
    ("named", "short"),
    [
        ("/data/visits.csv", "visits-csv"),
        ("postgresql://db/clinic/", "clinic"),
        ("/data/-x-", "x"),
        ("/data/" + "long" * 20, "long" * 10),
        ("///", "data"),
    ],
)
def test_a_ledger_at_home_is_recognised_by_its_name(named: str, short: str) -> None:
    assert location._short(named) == short
    assert re.fullmatch(re.escape(short) + r"-[0-9a-f]{16}\.ledger", location._home_name(named))


def test_all_tables_of_a_database_have_one_ledger(home: Path) -> None:
    one, other = (location.ledger_path(f"postgresql://db/clinic#{table}") for table in ("visits", "letters"))
    assert one == other
    assert one.parent == home


def test_a_budget_of_the_same_name_is_found_however_many_ledgers_are_newer(
    tmp_path: Path, home: Path
) -> None:
    """Where only the newest hundred were looked at, the next month got a second budget without a word."""
    kept = home / "visits.ledger"
    with Ledger.create(kept) as ledger:
        ledger.account("visits", budget=Budget.pure(1), source="/elsewhere/january.csv")
    for number in range(101):
        (home / f"{number}.ledger").write_text("accounts of another program")
    data = tmp_path / "february.csv"
    data.touch()
    assert location.ledger_path(str(data), name="visits") == kept
