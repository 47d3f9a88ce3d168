"""Threads that share a commit: each is checked in turn, a refusal undoes one part, all wait for the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest

from dovetail.errors import AccessRefused, BudgetExceeded, LedgerBusy, LedgerError, LedgerUnavailable
from dovetail.ledger import Ledger, shared_commits
from dovetail.privacy import Budget
from dovetail.release.account import Reservation, StoredAnswer
from ledger_cases import TENTH, asked


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Return an embedded ledger with a budget of 1."""
    with Ledger.create(tmp_path / "a.ledger", patience=20) as made:
        made.account("visits", budget=Budget.pure(1))
        made.account("visits").reserve(asked("first"))
        yield made


@contextmanager
def held_up(ledger: Ledger) -> Iterator[None]:
    """Keep the turn until all others wait for it, and take no part in what they record."""
    with suppress(KeyError), ledger._store.writing():
        yield
        raise KeyError


def waiting(ledger: Ledger) -> int:
    """Return how many threads wait for their turn."""
    commits = ledger._store._own().commits
    assert commits is not None
    return len(commits._queue)


def all_at_once(ledger: Ledger, works: list[Any]) -> list[Future[Any]]:
    """Start works that all wait for one turn, in order, and return their outcomes."""
    with ThreadPoolExecutor(len(works)) as pool:
        with held_up(ledger):
            begun = []
            for number, work in enumerate(works):
                begun.append(pool.submit(work))
                _until(lambda number=number: waiting(ledger) == number + 1)
        return begun


def commits_of(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows with every commit from now on."""
    seen: list[int] = []
    writing = ledger._store._own().writing
    commit = writing.commit

    def counted(connection: Any) -> None:
        seen.append(1)
        commit(connection)

    monkeypatch.setattr(writing, "commit", counted)
    return seen


def test_those_who_wait_share_one_commit_and_are_checked_in_turn(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, seen = ledger.account("visits"), commits_of(ledger, monkeypatch)
    # Nine tenths are left for twelve.
    found = all_at_once(ledger, [lambda n=n: account.reserve(asked(f"count {n}", TENTH)) for n in range(12)])
    assert [type(each.exception()) for each in found] == [type(None)] * 9 + [BudgetExceeded] * 3
    assert len(seen) == 1
    assert account.spent() == TENTH.times(10)
    ledger.verify()


def test_a_part_that_fails_undoes_nothing_of_the_others(ledger: Ledger) -> None:
    account = ledger.account("visits")

    def fail() -> None:
        with ledger._store.writing() as writer:
            account.reserve_with(writer, asked("lost", TENTH))
            writer.connection  # noqa: B018 - sends what was written
            raise RuntimeError("on purpose")

    works = [fail, lambda: account.reserve(asked("one")), fail, lambda: account.reserve(asked("two")), fail]
    found = all_at_once(ledger, works)
    assert [type(each.exception()) for each in found] == [RuntimeError, type(None)] * 2 + [RuntimeError]
    assert account.spent() == TENTH.times(3)
    ledger.verify()


def test_nobody_returns_before_the_commit(ledger: Ledger) -> None:
    """Not even who only found an answer that somebody stored in the same transaction."""
    account, place = ledger.account("visits"), ledger._store.path
    assert place is not None
    given = account.reserve(asked("question"))
    assert isinstance(given, Reservation)

    def events() -> int:
        with sqlite3.connect(place) as connection:
            return int(connection.execute("SELECT count(*) FROM dovetail_events").fetchone()[0])

    before = events()

    def settle() -> int:
        account.settle(given, "noised")
        return events()

    def ask_again() -> tuple[Any, int]:
        return account.reserve(asked("question")), events()

    settled, (stored, seen) = (each.result() for each in all_at_once(ledger, [settle, ask_again]))
    assert isinstance(stored, StoredAnswer)
    assert settled == seen == before + 1


def test_a_commit_that_fails_fails_for_all(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    account, spent = ledger.account("visits"), ledger.account("visits").spent()
    monkeypatch.setattr(ledger._store._own().writing, "commit", _full)
    found = all_at_once(ledger, [lambda n=n: account.reserve(asked(f"{n}")) for n in range(4)])
    monkeypatch.undo()
    assert all(isinstance(each.exception(), LedgerError) for each in found)
    assert account.spent() == spent
    assert isinstance(account.reserve(asked("0")), Reservation)
    ledger.verify()


@pytest.mark.parametrize("failure", ["full", "interrupted"])
def test_settings_that_were_undone_are_not_remembered(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    """An event that is undone leaves its number to another one, which may set something else."""
    account = ledger.account("visits")
    ledger.people.grant("ann", "visits", Budget.pure("0.5"))
    monkeypatch.setattr(ledger._store._own().writing, "commit", _full if failure == "full" else _interrupt)
    works = [lambda: ledger.set_policy("visits", answers="own"), lambda: account.reserve(asked("lost"))]
    found = all_at_once(ledger, works)
    monkeypatch.undo()
    assert None not in [each.exception() for each in found]
    with Ledger.open(ledger.place) as elsewhere:
        elsewhere.people.revoke_grant("ann", "visits")
    with pytest.raises(AccessRefused):
        account.reserve(asked("revoked"))


def test_a_commit_that_is_interrupted_leaves_the_ledger_to_others(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "a.ledger", patience=0.2) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1))
        commits = ledger._store._own().writing
        with pytest.MonkeyPatch.context() as interrupted:
            interrupted.setattr(commits, "commit", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                account.reserve(asked("lost"))
        assert isinstance(account.reserve(asked("next")), Reservation)
        assert account.spent() == TENTH
        ledger.verify()


def test_those_who_shared_an_interrupted_commit_are_told(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, spent = ledger.account("visits"), ledger.account("visits").spent()
    monkeypatch.setattr(ledger._store._own().writing, "commit", _interrupt)
    found = all_at_once(ledger, [lambda n=n: account.reserve(asked(f"{n}")) for n in range(3)])
    monkeypatch.undo()
    kinds = {type(each.exception()) for each in found}
    assert kinds == {KeyboardInterrupt, LedgerUnavailable}
    assert account.spent() == spent
    assert isinstance(account.reserve(asked("next")), Reservation)


def test_who_loses_patience_leaves_the_others_to_commit(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "a.ledger") as made:
        made.account("visits", budget=Budget.pure(1))
    with Ledger.open(tmp_path / "a.ledger", patience=0.2) as ledger:
        account, leave = ledger.account("visits"), Event()

        def hold() -> None:
            with ledger._store.writing() as writer:
                account.reserve_with(writer, asked("slow"))
                leave.wait(20)

        holder = Thread(target=hold)
        holder.start()
        _until(lambda: ledger._store._own().commits._group is not None)  # type: ignore[union-attr]
        with pytest.raises(LedgerBusy):
            account.reserve(asked("hurried"))
        leave.set()
        holder.join()
        assert account.spent() == TENTH
        assert isinstance(account.reserve(asked("hurried")), Reservation)


def test_a_stored_answer_writes_nothing(ledger: Ledger) -> None:
    account, place = ledger.account("visits"), ledger._store.path
    assert place is not None
    given = account.reserve(asked("question"))
    assert isinstance(given, Reservation)
    account.settle(given, "noised")
    before = place.stat().st_mtime_ns
    assert isinstance(account.reserve(asked("question")), StoredAnswer)
    assert place.stat().st_mtime_ns == before


def _full(_connection: Any) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    raise error


def _interrupt(_connection: Any) -> None:
    raise KeyboardInterrupt


def _until(done: Any) -> None:
    end = monotonic() + 20
    while not done():
        assert monotonic() < end
        sleep(0.005)


class Steps:
    """A connection, and a store of connections, that write down what is done to them."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.done, self.failure, self.closed = list[str](), failure, False

    def commit(self, connection: Any) -> None:
        assert connection is self
        self.done.append("commit")
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        self.done.append("close")
        self.closed = True

    def invalidate(self) -> None:
        self.done.append("invalidate")


@pytest.mark.parametrize(
    ("members", "error", "done"),
    [
        (2, None, ["commit"]),
        (2, ValueError(), ["invalidate", "close"]),
        (1, sqlite3.OperationalError(), ["invalidate", "close"]),
        (0, sqlite3.OperationalError(), ["invalidate", "close"]),
        (0, ValueError(), ["close"]),
        (0, None, ["close"]),
    ],
)
def test_what_failed_is_never_committed(members: int, error: Any, done: list[str]) -> None:
    steps: Any = Steps()
    commits = shared_commits.SharedCommits(steps, "x", 1)
    group = shared_commits._SharedCommit(steps, members, error=error)
    commits._group = group
    commits._finish(group)
    assert steps.done == done
    assert group.over.is_set()
    assert group.error is error
    assert commits._group is None


@pytest.mark.parametrize("failure", [ValueError("full"), KeyboardInterrupt()], ids=repr)
def test_a_commit_that_failed_is_undone_and_told_to_all(failure: BaseException) -> None:
    steps: Any = Steps(failure)
    commits = shared_commits.SharedCommits(steps, "x", 1)
    group = shared_commits._SharedCommit(steps, 3)
    with nullcontext() if isinstance(failure, Exception) else pytest.raises(KeyboardInterrupt):
        commits._finish(group)
    assert steps.done == ["commit", "invalidate", "close"]
    assert (group.over.is_set(), group.error) == (True, failure)
    with pytest.raises(ValueError if isinstance(failure, Exception) else LedgerUnavailable):
        group.check()
