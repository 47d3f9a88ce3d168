"""A crash at any point leaves a ledger that holds every promise made, and never more spent than allowed.

Steps of the disk are enumerated through SQLite's own file layer: every write, sync, truncate and delete of a
scenario, as a killed process leaves it and as a power cut may leave it (nothing unsynced, or a random part of
it, torn at sectors). Folder entries follow POSIX: a removal is lasting only once the folder is synced.
"""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sqlite_disk
from dovetail.errors import AccessRefused, DovetailError, LedgerError
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.release.account import Reservation, StoredAnswer
from ledger_cases import TENTH, asked
from sqlite_disk import Disk, Step

pytestmark = pytest.mark.skipif(
    not sqlite_disk.available(), reason="this Python hides SQLite's file layer; the kill -9 tests still run"
)

NAME = "test.ledger"


def scenario(ledger: Ledger, disk: Disk) -> None:
    """Use every kind of write once, noting each promise right after it was made."""
    account = ledger.account("visits", budget=Budget.pure(1), protects="a row added or removed")
    disk.promise("account")
    first = account.reserve(asked("first"))
    disk.promise("spent 1")
    assert isinstance(first, Reservation)
    account.settle(first, "noised first")
    disk.promise("answer first")
    plan = account.open_plan("design", TENTH, 2, "ann")
    disk.promise("spent 2")
    second = account.reserve(asked("second", plan=plan.id))
    disk.promise("slots 1")
    assert isinstance(second, Reservation)
    account.fail(second, "lost")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ledger.set_budget("visits", Budget.pure(2))
    disk.promise("budget 2")
    account.reserve(asked("third", fresh=True))
    disk.promise("spent 3")


def scenario_of_people(ledger: Ledger, disk: Disk) -> None:
    """Use every write that concerns people, online runs and vintages once."""
    account = ledger.account("visits", budget=Budget.pure(1), protects="a row added or removed")
    disk.promise("account")
    ledger.people.add("bob")
    key = ledger.people.make_key("bob")
    disk.promise(f"key {key.text}")
    ledger.people.grant("bob", "visits", Budget.pure("0.3"))
    account.reserve(asked("by bob", analyst="bob"))
    disk.promise("spent 1")
    disk.promise("allotted 1")
    ledger.people.revoke_key(key.public)
    disk.promise("revoked")
    run = account.open_run("curve", TENTH, 3, "ann", (41, -17))
    disk.promise("spent 2")
    disk.promise("thresholds")
    made = account.reserve(asked("batch", plan=run.id, hold=True))
    assert isinstance(made, Reservation)
    disk.promise("updates 2")
    account.fire(made, "measured")
    disk.promise("updates 1")
    disk.promise("fired")
    account.settle(made, "the rest")
    account.declare_vintage("January")
    account.declare_vintage("February", complete=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        account.declare_disjoint()
    account.reserve(asked("monthly", vintages=("January",)))
    disk.promise("spent 3")
    ledger.people.erase("bob")
    disk.promise("erased")


def check_promises(ledger: Ledger, promises: list[str]) -> None:
    """Hold what is left against what had been promised."""
    if "account" not in promises:
        return
    account = ledger.account("visits")
    kept = account.spent()
    promised = max((int(p.split()[1]) for p in promises if p.startswith("spent")), default=0)
    # At most one reservation was under way and not yet promised.
    assert kept in (TENTH.times(promised), TENTH.times(promised + 1))
    if "answer first" in promises:
        stored = account.reserve(asked("first"))
        assert isinstance(stored, StoredAnswer)
        assert stored.answer == "noised first"
    if "slots 1" in promises:
        assert account.plans()[0].left == 1
    if "budget 2" in promises:
        assert account.budget == Budget.pure(2)


def check_people(ledger: Ledger, promises: list[str]) -> None:
    """Hold what is left against what was promised to people and online runs."""
    check_promises(ledger, promises)
    said = {promise.split()[0] for promise in promises}
    for text in (promise.split()[1] for promise in promises if promise.startswith("key")):
        if "revoked" in said:
            with pytest.raises(AccessRefused):
                ledger.people.whose(text)
        else:
            # Revoking may be under way.
            try:
                assert ledger.people.whose(text).name == "bob"
            except AccessRefused:
                assert "spent" in said
    if "allotted" in said:
        assert ledger.people.grants()[0].spent == TENTH
    if "erased" in said:
        assert "bob" not in [each.name for each in ledger.people.all()]
    if "thresholds" in said:
        account = ledger.account("visits")
        (run,) = account.plans()
        assert account.thresholds(run.id) == (41, -17)
        # A hold or a firing that was promised is never given back by a crash.
        promised = min((int(p.split()[1]) for p in promises if p.startswith("updates")), default=3)
        assert run.left <= promised + ("fired" in said)
        assert len(account.told(run.id)) >= ("fired" in said)


def recorded(
    folder: Path, play: Callable[[Ledger, Disk], None] = scenario
) -> tuple[dict[str, bytes], list[Step]]:
    """Run a scenario on a fresh ledger and return its files before, and all steps."""
    disk = Disk()
    path = folder / NAME
    Ledger.create(path).close()
    start = {NAME: path.read_bytes()}
    with sqlite_disk.watched(disk), Ledger.open(path) as ledger:
        play(ledger, disk)
    return start, disk.steps


def states(
    start: dict[str, bytes], steps: list[Step], fates: list[Callable[[Step], bytes | None]]
) -> Iterator[tuple[dict[str, bytes], list[str]]]:
    """Return every different state of the disk that a crash can leave, with the promises made by then."""
    seen = set()
    for length, fate in itertools.product(range(len(steps) + 1), fates):
        files = sqlite_disk.crashed(steps[:length], start, fate)
        promises = [step.name for step in steps[:length] if step.kind == "promise"]
        state = (tuple(sorted(files.items())), len(promises))
        if state not in seen:
            seen.add(state)
            yield files, promises


def broken_promises(
    folder: Path,
    fates: list[Callable[[Step], bytes | None]],
    play: Callable[[Ledger, Disk], None] = scenario,
    check: Callable[[Ledger, list[str]], None] = check_promises,
) -> tuple[int, int]:
    """Return how many states were looked at and how many break a promise or do not verify."""
    start, steps = recorded(folder, play)
    count = failures = 0
    for files, promises in states(start, steps, fates):
        place = folder / f"crash{count}"
        place.mkdir()
        for name, data in files.items():
            (place / name).write_bytes(data)
        count += 1
        try:
            with Ledger.open(place / NAME) as ledger:
                ledger.verify()
                check(ledger, promises)
        except (AssertionError, DovetailError):
            failures += 1
    return count, failures


@pytest.mark.slow
def test_every_step_of_the_disk_may_be_the_last(tmp_path: Path) -> None:
    fates = [sqlite_disk.everything, sqlite_disk.nothing, sqlite_disk.some(1), sqlite_disk.some(2)]
    count, failures = broken_promises(tmp_path, fates)
    assert count > 300
    assert failures == 0


@pytest.mark.slow
def test_every_step_of_people_and_runs_may_be_the_last(tmp_path: Path) -> None:
    fates = [sqlite_disk.everything, sqlite_disk.nothing, sqlite_disk.some(3)]
    count, failures = broken_promises(tmp_path, fates, scenario_of_people, check_people)
    assert count > 300
    assert failures == 0


@pytest.mark.parametrize("weakly", ["journal_mode=DELETE; synchronous=FULL", "synchronous=OFF"])
def test_a_weaker_sync_breaks_a_promise_when_the_power_goes(
    tmp_path: Path, weakly: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: with synchronous=FULL a removed journal can come back and undo a charge."""
    from dovetail.ledger import store

    make = store.sqlite_engine

    def weak(path: Path, patience: float) -> object:
        from sqlalchemy import event

        engine = make(path, patience)
        for pragma in weakly.split("; "):
            event.listen(engine, "connect", lambda made, _, said=pragma: made.execute(f"PRAGMA {said}"))
        return engine

    monkeypatch.setattr(store, "sqlite_engine", weak)
    _, failures = broken_promises(tmp_path, [sqlite_disk.nothing])
    assert failures > 0


def _eio(kind: str) -> int:
    codes = {"write": sqlite_disk.IOERR_WRITE, "sync": sqlite_disk.IOERR_FSYNC}
    return codes.get(kind, sqlite_disk.IOERR_DELETE if kind == "delete" else sqlite_disk.IOERR_TRUNCATE)


def _enospc(kind: str) -> int:
    # A full disk lets files be cut and removed.
    return sqlite_disk.FULL if kind == "write" else sqlite_disk.IOERR_FSYNC if kind == "sync" else 0


@pytest.mark.slow
@pytest.mark.parametrize("failure", [_eio, _enospc])
@pytest.mark.parametrize("stays", [False, True], ids=["once", "for good"])
def test_an_io_error_at_any_step_is_a_ledger_error_and_spends_no_more_than_recorded(
    tmp_path: Path, failure: Callable[[str], int], stays: bool
) -> None:
    reached = 0
    with Ledger.create(tmp_path / NAME) as ledger:
        ledger.account("visits", budget=Budget.pure(1))
    for step in itertools.count():
        path = Path(shutil.copy(tmp_path / NAME, tmp_path / f"{step}.ledger"))
        disk = Disk(fail_at=step, failure=failure, stays=stays)
        permitted = 0
        failed = False
        with sqlite_disk.watched(disk), Ledger.open(path) as ledger:
            account = ledger.account("visits")
            for number in range(2):
                try:
                    account.reserve(asked(f"count {number}"))
                    permitted += 1
                except LedgerError:
                    failed = True
        reached += failed
        with Ledger.open(path) as ledger:
            ledger.verify()
            # Whatever was permitted is recorded; what failed may be recorded, which errs on the safe side.
            spent = ledger.account("visits").spent()
            assert spent in [TENTH.times(n) for n in range(permitted, 3)]
        if not failed:
            break
    assert reached > 15


def test_the_shim_sees_what_sqlite_does(tmp_path: Path) -> None:
    disk = Disk()
    with sqlite_disk.watched(disk):
        connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    kinds = [step.kind for step in disk.steps]
    assert {"open", "write", "sync", "delete"} <= set(kinds)
    rebuilt = sqlite_disk.crashed(disk.steps, {}, sqlite_disk.everything)
    assert rebuilt["x.db"] == (tmp_path / "x.db").read_bytes()
