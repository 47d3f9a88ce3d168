"""A ledger written by schema version 1 goes on in version 2: nothing forgotten, nothing given back."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dovetail.errors import LedgerCorrupt, LedgerError, RequestConflict
from dovetail.ledger import Ledger
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Reservation, StoredAnswer
from ledger_cases import TENTH, asked

# Written by the code as it was before version 2; the last event is its head.
OLD = Path(__file__).parents[1] / "data" / "version1.ledger.gz"
HEAD = "22:ef08c12a280bff11b203e87e43d88d9e8a6f83e566036d55edfe4da1a9c8bd6e"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "test.ledger"
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def old_location(request: pytest.FixtureRequest, old: Path) -> str:
    """Return where a ledger of version 1 is kept."""
    if request.param == "sqlite":
        return str(old)
    url = str(request.getfixturevalue("postgres_url"))
    with sqlite3.connect(old) as source, psycopg.connect(url) as target:
        for name, definition in source.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"):
            target.execute(definition.replace("INTEGER", "BIGINT").replace("BLOB", "BYTEA"))
            for row in source.execute(f"SELECT * FROM {name}"):
                target.execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)
        for (definition,) in source.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql > ''"
        ):
            target.execute(definition)
    source.close()
    return url


def test_an_old_ledger_is_never_migrated_silently(old: Path) -> None:
    before = old.read_bytes()
    for create in (True, False):
        with pytest.raises(LedgerError, match=r"schema version 1.*Ledger\.migrate"):
            Ledger.open(old, create=create)
    assert old.read_bytes() == before


def test_a_migrated_ledger_keeps_every_promise(old_location: str) -> None:
    assert Ledger.migrate(old_location, witness=HEAD).sequence == 23
    with Ledger.open(old_location, witness=HEAD) as ledger:
        ledger.verify()
        visits = ledger.account("visits", budget=Budget.pure(2), source="/data/visits.csv")
        assert visits.spent() == TENTH.times(6)
        stored = visits.reserve(asked("count 0", analyst="bob"))
        assert isinstance(stored, StoredAnswer)
        assert stored.answer == "noised 0"
        with pytest.raises(RequestConflict):
            visits.reserve(asked("another", analyst="ann", key="k0"))
        with pytest.raises(LedgerError, match="failed"):
            visits.reserve(asked("dropped", key="lost"))
        # Interrupted long ago: its key takes the same charge over.
        resumed = visits.reserve(asked("interrupted", analyst="bob", key="open"))
        assert isinstance(resumed, Reservation)
        assert resumed.attempt == 2
        visits.settle(resumed, "at last")
        assert visits.spent() == TENTH.times(6)
        (plan,) = visits.plans()
        assert (plan.slots, plan.left) == (3, 1)
        visits.reserve(asked("last slot", plan=plan.id))
        assert ledger.account("again", share=True).spent() == TENTH.times(6)
        assert ledger.account("trips").spent() == Charge(None, 10, (1000,) * 16, 0)
        assert ledger.account("apart").budget == Budget.zeta("0.5", max_epsilon=2)
        assert [str(each) for each in ledger.people.all()] == ["ann", "bob", "cyd"]
        assert "ann" in str(ledger.show())
        ledger.verify()


def test_the_chain_of_a_migrated_ledger_is_the_old_one_with_more_links(old: Path) -> None:
    Ledger.migrate(old)
    with Ledger.open(old) as ledger:
        events = json.loads(ledger.export("json"))["events"]
    connection = sqlite3.connect(f"{old}.version1")
    kept = connection.execute("SELECT * FROM dovetail_events ORDER BY sequence").fetchall()
    connection.close()
    assert [tuple(event.values()) for event in events[: len(kept)]] == kept
    assert events[-1]["kind"] == "migration"


def test_an_old_question_is_called_by_the_hash_of_its_event(old: Path) -> None:
    Ledger.migrate(old)
    with closing(sqlite3.connect(old)) as connection:
        hashes = dict(connection.execute("SELECT sequence, hash FROM dovetail_events"))
        for table in ("principals", "plans", "requests"):
            called = dict(connection.execute(f"SELECT id, public FROM dovetail_{table}"))
            assert called == {number: hashes[number][:32] for number in called} != {}


def test_the_old_copy_is_kept_and_never_replaced(old: Path) -> None:
    before = gzip.decompress(OLD.read_bytes())
    Ledger.migrate(old)
    copy = Path(f"{old}.version1")
    assert copy.stat().st_mode & 0o077 == 0
    assert _rows(copy) == _rows_of(before, old.parent)
    with pytest.raises(LedgerError, match="schema version 2"):
        Ledger.migrate(old)
    copy.rename(old)
    copy.write_text("something else")
    with pytest.raises(LedgerError, match="already exists"):
        Ledger.migrate(old)
    assert copy.read_text() == "something else"


def test_a_ledger_that_does_not_verify_is_not_migrated(old: Path) -> None:
    for number, edit in enumerate(
        (
            "UPDATE dovetail_datasets SET epsilon = 0",
            'UPDATE dovetail_plans SET "left" = 3',
            "UPDATE dovetail_events SET content = replace(content, 'ann', 'eve') WHERE sequence = 3",
            "UPDATE dovetail_requests SET state = 'answered', closing = 22 WHERE id = 11",
        )
    ):
        hurt = Path(shutil.copy(old, old.with_name(f"{number}.ledger")))
        connection = sqlite3.connect(hurt)
        connection.execute(edit)
        connection.commit()
        connection.close()
        before = hurt.read_bytes()
        with pytest.raises(LedgerCorrupt):
            Ledger.migrate(hurt)
        assert hurt.read_bytes() == before
        assert not Path(f"{hurt}.version1").exists()


def test_an_old_copy_of_an_old_ledger_is_not_migrated(old: Path) -> None:
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.migrate(old, witness="23:" + "0" * 64)


def test_a_witness_of_an_old_ledger_is_remembered_by_the_new_one(old: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    witness.write_text(HEAD + "\n")
    Ledger.migrate(old, witness=witness)
    shutil.copy(old, tmp_path / "before")
    with Ledger.open(old) as ledger:
        ledger.account("visits").reserve(asked("new"))
    shutil.copy(tmp_path / "before", old)
    with pytest.raises(LedgerCorrupt, match="witness"):
        Ledger.open(old)


def _rows(path: Path) -> list[object]:
    connection = sqlite3.connect(path)
    tables = ("ledger", "events", "datasets", "names", "sources", "plans", "requests")
    try:
        return [connection.execute(f"SELECT * FROM dovetail_{name}").fetchall() for name in tables]
    finally:
        connection.close()


def _rows_of(data: bytes, folder: Path) -> list[object]:
    (folder / "plain").write_bytes(data)
    return _rows(folder / "plain")
