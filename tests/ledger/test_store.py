"""The connections of a ledger: opened where they are needed, given back, and never written to a copy."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from dovetail.errors import LedgerError, LedgerUnavailable
from dovetail.ledger import Ledger, store
from dovetail.ledger.kept_connections import KeptConnections
from dovetail.privacy import Budget
from ledger_cases import asked


def held(ledger: Ledger) -> int:
    """How many connections of this ledger are open or kept."""
    own = ledger._store._own()
    return sum(engine.pool.checkedin() + engine.pool.checkedout() for engine in {own.reader, own.writer})  # type: ignore[attr-defined]


def test_a_ledger_that_is_closed_holds_no_connection_and_can_be_used_again(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        account.reserve(asked())
        assert held(ledger) > 0
        ledger.close()
        assert held(ledger) == 0
        account.reserve(asked("again"))
        assert held(ledger) > 0
    assert held(ledger) == 0
    with Ledger.open(tmp_path / "some.ledger") as again:
        again.verify()
    assert held(again) == 0


def test_what_cannot_be_opened_holds_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[object] = []
    close = store.Store.close
    monkeypatch.setattr(store.Store, "close", lambda each: closed.append(each) or close(each))
    with pytest.raises(LedgerError, match="There is no ledger"):
        Ledger.open(tmp_path / "none.ledger")
    assert len(closed) == 1
    assert not Ledger.exists(tmp_path / "none.ledger")
    assert len(closed) == 2
    Ledger.create(tmp_path / "some.ledger").close()
    with pytest.raises(LedgerError, match="already a ledger"):
        Ledger.create(tmp_path / "some.ledger")
    assert len(closed) == 4


def test_connections_are_kept_up_to_a_number_and_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.ledger.kept_connections._MOST_KEPT", 2)
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        kept = KeptConnections(ledger._store._own().reader)
        taken = [kept.take() for _ in range(4)]
        assert len({id(each) for each in taken}) == 4
        for each in taken:
            kept.commit(each)
        assert [each.closed for each in taken] == [False, False, True, True]
        assert kept.take() is taken[1]
        kept.commit(taken[1])
        kept.close()
        assert all(each.closed for each in taken)


def test_a_ledger_has_the_witness_that_it_remembers_and_no_other(tmp_path: Path) -> None:
    place, mine, other = tmp_path / "some.ledger", tmp_path / "mine", tmp_path / "other"
    Ledger.create(place, witness=mine).close()
    for witness in (None, mine):
        with Ledger.open(place, witness=witness) as ledger:
            ledger.account(f"visits {witness is None}", budget=Budget.pure(1))
    with pytest.raises(LedgerError, match=f"The witness of the ledger .* is {mine}, not {other}"):
        Ledger.open(place, witness=other)
    unwitnessed = tmp_path / "plain.ledger"
    Ledger.create(unwitnessed).close()
    with Ledger.open(unwitnessed) as ledger:
        ledger.account("visits", budget=Budget.pure(1))
        assert ledger._store.given is None


@pytest.mark.parametrize(
    ("broken", "words"),
    [("gone", "is not there any more"), ("read-only", "can only be read"), ("full", "is full")],
)
def test_a_file_that_cannot_be_written_is_named_before_anything_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, words: str
) -> None:
    place = tmp_path / "some.ledger"
    with Ledger.create(place) as ledger:
        ledger.check_ready()
        if broken == "gone":
            place.rename(tmp_path / "moved.ledger")
        elif broken == "read-only":
            monkeypatch.setattr(store.os, "access", lambda _path, _mode: False)
        else:
            monkeypatch.setattr(store, "has_room", lambda _path: False)
        with pytest.raises(LedgerUnavailable, match=words):
            ledger._store.check_writable()


def test_a_copy_is_only_read(tmp_path: Path) -> None:
    place = tmp_path / "some.ledger"
    with Ledger.create(place) as ledger:
        ledger.account("visits", budget=Budget.pure(1))
    with Ledger.open(place, copy=True) as copied:
        assert copied.verify() == copied.head
        with pytest.raises(LedgerError, match="which is only read"), copied._store.writing():
            pass


def test_a_ledger_is_filled_once(tmp_path: Path) -> None:
    made: Any = store.Store(tmp_path / "some.ledger", 1)
    assert [made.exists(), made.create(), made.exists(), made.create()] == [False, True, True, False]
    made.close()


def locked(place: Path) -> bool:
    """Whether somebody else holds the right to write to a file."""
    with closing(sqlite3.connect(place, timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            return "locked" in str(error)
        other.execute("ROLLBACK")
        return False


def test_who_writes_holds_the_file_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two who read the same sum and then wrote would both have spent it."""
    seen: list[bool] = []
    create_tables, place = store.create_tables, tmp_path / "some.ledger"

    def watched(connection: Any) -> None:
        seen.append(locked(Path(connection.engine.url.database)))
        create_tables(connection)

    monkeypatch.setattr(store, "create_tables", watched)
    with Ledger.create(place) as ledger:
        assert not locked(place)
        with ledger._store.writing():
            seen.append(locked(place))
        with ledger._store.rebuilding():
            seen.append(locked(place))
        with ledger._store.reading():
            assert not locked(place)
    assert seen == [True] * 3


def test_the_connection_that_made_a_ledger_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    opened = store.sqlite_engine
    monkeypatch.setattr(store, "sqlite_engine", lambda *given: made.append(opened(*given)) or made[-1])
    Ledger.create(tmp_path / "some.ledger").close()
    assert len(made) == 2
    assert [each.pool.checkedin() + each.pool.checkedout() for each in made] == [0, 0]


def test_connections_of_a_process_that_forked_are_left_alone(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        inside = ledger._store
        parents = inside._engines = inside._engines._replace(owner=0)
        assert inside._own() is not parents
        assert inside._own() is inside._own()
        # Collected, they would be closed, and that would be told to the parent's server.
        assert inside._inherited == [parents]


def test_a_head_to_be_noted_elsewhere_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may show what a crash undoes; who noted that would take the ledger for an older one."""
    asked_for: list[dict[str, bool]] = []
    reading = store.Store.reading
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        monkeypatch.setattr(
            store.Store, "reading", lambda each, **given: asked_for.append(given) or reading(each, **given)
        )
        assert ledger.head.sequence == 0
        ledger.verify()
        ledger.export("json")
        ledger.statements()
    assert asked_for == [{"durable": True}, {"long": True}, {"long": True}, {"long": True}]


@pytest.mark.parametrize("can_wait", [False, True])
def test_what_is_read_to_be_kept_waits_for_the_disk_of_a_server_that_lets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_wait: bool
) -> None:
    monkeypatch.setattr(store, "WAIT_FOR_DISK", "SELECT 'on disk'")
    said: list[str] = []
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        inside = ledger._store
        event.listen(inside._own().reader, "before_cursor_execute", lambda *given: said.append(given[2]))
        for how in ({}, {"long": True}, {"durable": True}):
            with inside.reading(**how) as connection:
                connection.info[store.CAN_WAIT] = can_wait
    assert said == ["SELECT 'on disk'"] * (2 if can_wait else 0)
