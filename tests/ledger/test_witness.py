"""An old copy put in the ledger's place is noticed, because every writer feeds the witness."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dovetail.errors import LedgerCorrupt, LedgerError
from dovetail.ledger import Head, Ledger, store
from dovetail.privacy import Budget, Charge
from dovetail.session import Session
from ledger_cases import TENTH, asked, filled


def put_back(path: Path, old: Path) -> None:
    shutil.copy(old, path)


@pytest.mark.filterwarnings("ignore::dovetail.ledger.ExPost")
@pytest.mark.parametrize("writer", ["reserve", "session", "raise", "another process that opened before"])
def test_every_writer_feeds_the_witness(tmp_path: Path, writer: str) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "elsewhere" / "witness"
    witness.parent.mkdir()
    data = tmp_path / "visits.csv"
    data.write_text("a\n1\n2\n")
    with Ledger.create(path) as early:
        account = early.account("visits", budget=Budget.pure(1), protects="a row added or removed")
        with Ledger.open(path) as ledger:
            ledger.start_witness(witness)
        put_back(tmp_path / "old", path)
        if writer == "another process that opened before":
            account.reserve(asked())
    if writer == "session":
        with Session(data, ledger=path, name="visits") as session:
            session.count(within=100)
    elif writer == "raise":
        with Ledger.open(path) as ledger:
            ledger.set_budget("visits", Budget.pure(2))
    elif writer == "reserve":
        with Ledger.open(path) as ledger:
            ledger.account("visits").reserve(asked())
    Ledger.open(path).close()
    put_back(path, tmp_path / "old")
    # Nobody names the witness: the ledger itself remembers it.
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(path)


def test_a_witness_named_when_the_ledger_is_made_is_remembered(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    with Ledger.create(path, witness=witness) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        shutil.copy(path, tmp_path / "old")
        account.reserve(asked())
    for named in (None, witness):
        Ledger.open(path, witness=named).close()
    shutil.copy(tmp_path / "old", path)
    for named in (None, witness):
        with pytest.raises(LedgerCorrupt, match="witness"):
            Ledger.open(path, witness=named)


def test_a_witness_that_is_given_is_remembered_from_the_first_write_on(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    with Ledger.create(path) as ledger:
        witness.write_text(f"{ledger.head}\n")
    with Ledger.open(path, witness=witness) as ledger:
        ledger.account("visits", budget=Budget.pure(1))
    shutil.copy(path, tmp_path / "old")
    with Ledger.open(path) as ledger:
        ledger.account("visits").reserve(asked())
        ledger.verify()
    shutil.copy(tmp_path / "old", path)
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(path)


def test_another_ledger_with_as_many_events_is_not_the_witnessed_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with Ledger.create(tmp_path / name, witness=tmp_path / f"{name}.witness") as ledger:
            ledger.account("visits", budget=Budget.pure(1))
    shutil.copy(tmp_path / "b.witness", tmp_path / "a.witness")
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(tmp_path / "a")
    with pytest.raises(LedgerError, match="start_witness"):
        Ledger.open(tmp_path / "b", witness=tmp_path / "a.witness")


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
    assert len(lines) == 4
    witness.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])  # the last line torn
    Ledger.open(path).close()


def test_an_empty_or_missing_witness_is_refused(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    Ledger.create(path, witness=witness).close()
    noted = witness.read_text().splitlines()[-1]
    witness.unlink()
    with pytest.raises(LedgerError, match="missing or empty"):
        Ledger.open(path)
    # Lost for good: the head that the operator noted counts instead, and another witness is started.
    with Ledger.open(path, witness=noted) as ledger:
        with pytest.raises(LedgerError, match="Nothing was recorded"):
            ledger.account("visits", budget=Budget.pure(1))
        ledger.start_witness(tmp_path / "another")
        ledger.account("visits", budget=Budget.pure(1))
    with Ledger.open(path) as ledger:
        assert ledger.verify() == Head.parse((tmp_path / "another").read_text().splitlines()[-1])


def test_a_witness_that_cannot_be_written_gives_no_permission(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    with Ledger.create(path, witness=witness) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        witness.unlink()
        with pytest.raises(LedgerError, match=r"witness .* Nothing was recorded"):
            account.reserve(asked())
        assert account.spent() == Charge.zero()


def test_a_writer_that_never_saw_the_newer_ledger_is_stopped_by_the_witness(tmp_path: Path) -> None:
    """As another worker of a service, which has the ledger open and has written nothing yet."""
    path, old = tmp_path / "test.ledger", tmp_path / "old"
    with Ledger.create(path, witness=tmp_path / "witness") as ledger, Ledger.open(path) as other:
        account = ledger.account("visits", budget=Budget.pure("0.2"))
        shutil.copy(path, old)
        account.reserve(asked())
        shutil.copy(old, path)
        with pytest.raises(LedgerCorrupt, match="an old copy was put back"):
            other.account("visits").reserve(asked("other"))


def test_a_used_witness_is_not_started_again(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    Ledger.create(tmp_path / "a", witness=witness).close()
    with pytest.raises(LedgerCorrupt, match="another ledger"):
        Ledger.create(tmp_path / "b", witness=witness)
    assert not (tmp_path / "b").exists()


def test_a_backup_is_read_without_its_witness_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"
    with Ledger.create(path, witness=tmp_path / "witness") as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        head = ledger.back_up(tmp_path / "backup")
        account.reserve(asked())
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0
    with Ledger.open(tmp_path / "backup", copy=True) as backup:
        assert backup.verify() == head
        with pytest.raises(LedgerError, match="only read"):
            backup.account("visits").reserve(asked())
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(tmp_path / "backup")


def test_each_host_of_a_server_names_a_witness_of_its_own(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "gethostname", lambda: "one")
    with Ledger.create(postgres_url, witness=tmp_path / "one") as ledger:
        ledger.account("visits", budget=Budget.pure(1))
    monkeypatch.setattr(store, "gethostname", lambda: "two")
    with Ledger.open(postgres_url) as ledger:
        account = ledger.account("visits")
        with pytest.raises(LedgerError, match="of its own"):
            account.reserve(asked())
        assert account.spent() == Charge.zero()
        ledger.start_witness(tmp_path / "two")
        account.reserve(asked())
        assert account.spent() == TENTH
        ledger.verify()
        assert (tmp_path / "two").read_text().splitlines()[-1] == str(ledger.head)
    monkeypatch.setattr(store, "gethostname", lambda: "one")
    Ledger.open(postgres_url).close()


def test_a_head_after_a_line_cut_short_still_counts(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    with Ledger.create(path, witness=witness) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        account.reserve(asked("one"))
        witness.write_bytes(witness.read_bytes()[:-7])
        shutil.copy(path, tmp_path / "old")
        account.reserve(asked("two"))
    put_back(path, tmp_path / "old")
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(path)


def test_a_folder_in_the_place_of_the_witness_is_named(tmp_path: Path) -> None:
    path, witness = tmp_path / "test.ledger", tmp_path / "witness"
    Ledger.create(path, witness=witness).close()
    witness.unlink()
    witness.mkdir()
    with pytest.raises(LedgerError, match=r"witness .* cannot be read: Is a directory"):
        Ledger.open(path)
