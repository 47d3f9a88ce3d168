"""A ledger's file is made whole, belongs to its owner, and never begins anew."""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from errno import EACCES, EDQUOT, ENOSPC
from pathlib import Path

import pytest
from sqlalchemy import event

from dovetail.errors import InvalidParameter, LedgerCorrupt, LedgerError, LedgerUnavailable
from dovetail.ledger import Ledger, files, store
from dovetail.privacy import Budget, Charge
from ledger_cases import TENTH, asked


def spent_from(path: Path) -> None:
    """Make a ledger that has spent something."""
    with Ledger.create(path) as ledger:
        ledger.account("visits", budget=Budget.pure(1)).reserve(asked())


def test_a_ledger_that_nobody_closes_lets_go_of_its_file(tmp_path: Path) -> None:
    closed: list[object] = []
    ledger = Ledger.create(tmp_path / "test.ledger")
    ledger.account("visits", budget=Budget.pure(1)).reserve(asked())
    event.listen(ledger._store._own().writer.pool, "close", lambda *_: closed.append(None))
    del ledger
    gc.collect()
    assert closed


@pytest.mark.parametrize("size", [0, 1, 99, 100, 511, 512, 1000, 4095, 4096, 5000, 8192, 20000])
def test_a_ledger_cut_short_never_begins_a_new_budget(tmp_path: Path, size: int) -> None:
    path = tmp_path / "test.ledger"
    spent_from(path)
    os.truncate(path, size)
    for create in (True, False):
        with pytest.raises(LedgerCorrupt):
            Ledger.open(path, create=create)
    with pytest.raises(LedgerCorrupt):
        Ledger.exists(path) and Ledger.open(path)
    assert path.stat().st_size == size


def test_whoever_says_create_may_fill_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"
    path.touch(mode=0o644)
    with Ledger.create(path) as ledger:
        assert ledger.account("visits", budget=Budget.pure(1)).spent() == Charge.zero()
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(path)


@pytest.mark.parametrize("kind", ["plain", "empty file", "dangling link", "link to a link"])
def test_a_ledger_belongs_to_its_owner_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "test.ledger"
    if kind == "empty file":
        path.touch(mode=0o644)
    elif "link" in kind:
        path.symlink_to(tmp_path / "there.ledger")
    if kind == "link to a link":
        (tmp_path / "there.ledger").symlink_to(tmp_path / "farther.ledger")
    spent_from(path)
    assert path.stat().st_mode & 0o077 == 0
    with Ledger.open(path) as ledger:
        assert ledger.account("visits").spent() == TENTH
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_of_many_makers_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"

    def made(number: int) -> bool:
        try:
            Ledger.create(path).close()
        except LedgerError:
            Ledger.open(path, create=True).close()
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(made, range(6))) == 1
    assert os.listdir(tmp_path) == ["test.ledger"]


def test_a_crash_while_it_is_made_leaves_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "test.ledger"

    def broken(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "origin", broken)
        with pytest.raises(KeyboardInterrupt):
            Ledger.create(path)
    assert not path.exists()
    with Ledger.open(path, create=True) as ledger:
        ledger.verify()


def test_where_files_cannot_be_linked_the_ledger_is_made_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    spent_from(tmp_path / "test.ledger")
    assert (tmp_path / "test.ledger").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("odd", ["\x00", "a\x00b", "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(odd: str, tmp_path: Path) -> None:
    """The system's own error came out of it."""
    for place in (odd, tmp_path / odd, f"postgresql://127.0.0.1:1/{odd}"):
        with pytest.raises(InvalidParameter, match="ledger="):
            Ledger.open(place, create=True)
    for use in (Ledger.create, Ledger.open):
        with pytest.raises(InvalidParameter, match="witness="):
            use(tmp_path / "test.ledger", witness=tmp_path / odd)
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="File name too long"):
        Ledger.open(tmp_path / ("x" * 1000), create=True)
    with pytest.raises(LedgerError, match="File name too long"):
        Ledger.create(tmp_path / "test.ledger", witness=tmp_path / ("x" * 1000))


@pytest.mark.parametrize("host", ["a..b", "x" * 1000, "\u202e"])
def test_a_host_that_cannot_be_looked_up_is_said_to_be_the_trouble(host: str) -> None:
    with pytest.raises(LedgerUnavailable, match="host in the address was not found"):
        Ledger.open(f"postgresql://ann:hunter2@{host}/clinic")


def test_a_folder_is_neither_a_ledger_nor_a_witness(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="folder"):
        Ledger.open(tmp_path, create=True)
    for use in (Ledger.create, Ledger.open):
        with pytest.raises(InvalidParameter, match=r"witness=.* must be a file"):
            use(tmp_path / "test.ledger", witness=tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_ledger_whose_disk_is_full_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    with Ledger.create(tmp_path / "test.ledger") as ledger:
        ledger.check_ready()
        with monkeypatch.context() as patch:
            patch.setattr(files, "TemporaryFile", lambda **_: full.open("wb"))
            with pytest.raises(LedgerUnavailable, match=r"The disk .* is full"):
                ledger.check_ready()
        ledger.check_ready()
    assert [each.name for each in tmp_path.iterdir() if not each.name.startswith("test.ledger")] == []


def test_a_folder_in_which_nobody_makes_files_is_not_taken_for_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    with Ledger.create(tmp_path / "test.ledger") as ledger:
        monkeypatch.setattr(files, "TemporaryFile", refused)
        ledger.check_ready()


@pytest.mark.parametrize("when", ["made", "written", "closed"])
@pytest.mark.parametrize(("error", "room"), [(ENOSPC, False), (EDQUOT, False), (EACCES, True), (None, True)])
def test_a_disk_has_room_where_a_little_more_could_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, error: int | None, room: bool
) -> None:
    """What is written may come to the disk only when the file is closed."""
    written: list[bytes] = []

    class Probe:
        def __init__(self, **given: Path) -> None:
            assert given == {"dir": tmp_path}
            self.fails("made")

        def fails(self, now: str) -> None:
            if error is not None and now == when:
                raise OSError(error, "failed")

        def __enter__(self) -> Probe:
            return self

        def __exit__(self, *_given: object) -> None:
            self.fails("closed")

        def write(self, data: bytes) -> None:
            written.append(data)
            self.fails("written")

    monkeypatch.setattr(files, "TemporaryFile", Probe)
    (tmp_path / "link").symlink_to(tmp_path / "some.ledger")
    assert files.has_room(tmp_path / "some.ledger") is room
    assert files.has_room(tmp_path / "link") is room
    assert all(len(data) > 4096 for data in written)
