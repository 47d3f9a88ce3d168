"""Several processes on one run, some of them killed: no firing is unpaid, nothing unstored is shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dovetail.ledger import Ledger, chain
from ledger_sellers import processes_context
from online_workers import QUESTIONS, UPDATES, ask_all, die_at, ledger_place, opened, write_towns

METHODS = ["open_run", "reserve", "reserve_batch", "settle", "fire"]
STORES = ["sqlite", "postgresql"]
WRITES = [(name, after) for name in METHODS for after in (False, True)]
# On a server, the writes after which something is held.
DEATHS = [("sqlite", *write) for write in WRITES] + [
    ("postgresql", "reserve_batch", True),
    ("postgresql", "fire", True),
    ("postgresql", "settle", False),
]


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder with data; the ledger is a file in it, or on a server that it names."""
    write_towns(tmp_path)
    if getattr(request, "param", "sqlite") == "postgresql":
        (tmp_path / "ledger-url").write_text(str(request.getfixturevalue("postgres_url")))
    return tmp_path


def check_record(folder: Path) -> None:
    """Everything that was shown is stored, firings are within what was paid, and that was paid once."""
    ledger = Ledger.open(ledger_place(folder))
    ledger.verify()
    account = ledger.account("towns")
    (state,) = account.plans()
    told = account.told(state.id)
    fired = [each for each in told if each.fired]
    assert len(fired) + state.left <= UPDATES + 1
    assert account.spent() == state.charge
    stored = set()
    for each in told:
        body = json.loads(each.body)
        if not each.fired and "asked" in body:
            for asked, cells in zip(body["asked"], json.loads(each.answer)["answers"], strict=False):
                stored.add((asked["question"]["where"]["value"], *map(tuple, cells)))
    for place in folder.glob("told-*"):
        for line in place.read_text().splitlines():
            where, value, origin = json.loads(line)
            assert (int(where.split()[-1]), (value, origin)) in stored
    ledger.close()


@pytest.mark.parametrize("folder", STORES, indirect=True)
def test_eight_processes_share_one_run(folder: Path) -> None:
    context = processes_context()
    workers = [context.Process(target=ask_all, args=(folder, number)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    check_record(folder)


@pytest.mark.parametrize(("folder", "method", "after"), DEATHS, indirect=["folder"])
def test_a_process_killed_at_a_write_loses_nothing_that_was_shown(
    folder: Path, method: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = processes_context().Process(target=die_at, args=(folder, method, after))
    worker.start()
    worker.join(60)
    assert worker.exitcode == -9
    monkeypatch.setattr(chain, "now", lambda: datetime.now(UTC) + timedelta(minutes=11))
    session, run = opened(folder)
    with session, session._ledger:
        fired = sum(each.fired for each in session._account.begun.told(run.plan.id))  # type: ignore[union-attr]
        died_holding = method == "fire" or (method == "reserve_batch" and after)
        assert run.updates_left == UPDATES - fired - died_holding
        for where in QUESTIONS[:3]:
            run.count(where, unchecked=True)
    check_record(folder)


@pytest.mark.parametrize("folder", STORES, indirect=True)
def test_two_open_runs_learn_from_each_other(folder: Path) -> None:
    one, first = opened(folder)
    two, second = opened(folder)
    with one, two, one._ledger, two._ledger:
        measured = first.count("town = 11")
        assert measured.origin == "measured"
        assert second.count("town = 11").value == measured.value
        assert second.count("town = 10", unchecked=True).origin in ("measured", "checked")
        assert abs(second._run.learner.hypothesis.total - first._run.learner.hypothesis.total) < 1e-6
        assert second._run.learner.latest[0].value == measured.value


def test_an_answer_of_another_process_has_the_time_at_which_it_was_given(folder: Path) -> None:
    one, first = opened(folder)
    two, second = opened(folder)
    with one, two, one._ledger, two._ledger:
        given = first.count("town = 11")
        again = second.count("town = 11")
        assert (again.stored, again.answered_at) == (True, given.answered_at)
