"""Online runs: thresholds are drawn once and stay private; no firing is unpaid, whoever dies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from dovetail.errors import BudgetExceeded, InvalidParameter, LedgerCorrupt, LedgerError
from dovetail.ledger import DatasetAccount, Ledger, chain
from dovetail.release.account import PlanState, Reservation
from ledger_cases import TENTH, asked


@pytest.fixture
def run(account: DatasetAccount) -> PlanState:
    """Return an online run with two updates."""
    return account.open_run("curve", TENTH, 2, "ann", (41, -91703))


def batch(account: DatasetAccount, run: PlanState, body: str = "batch", **rest: object) -> Reservation:
    made = account.reserve(asked(body, plan=run.id, hold=True, **rest))
    assert isinstance(made, Reservation)
    return made


def left(account: DatasetAccount) -> int:
    return account.plans()[0].left


def test_thresholds_are_drawn_once_for_the_life_of_a_run(
    account: DatasetAccount, run: PlanState, ledger: Ledger
) -> None:
    again = account.open_run("curve", TENTH, 2, "ann", (3, 4))
    assert again.id == run.id
    assert account.thresholds(run.id) == (41, -91703)
    assert account.spent() == TENTH
    ledger.verify()


def test_thresholds_and_nonce_never_leave(account: DatasetAccount, run: PlanState, ledger: Ledger) -> None:
    with ledger._store.reading() as connection:
        ((nonce,),) = connection.exec_driver_sql("SELECT nonce FROM dovetail_runs").all()
    for kind in ("json", "csv"):
        said = ledger.export(kind)
        assert bytes(nonce).hex() not in said
        assert "-91703" not in said
    assert "-91703" not in str(ledger.show())
    # Two runs with the same thresholds have different commitments: nothing can be looked up.
    account.open_run("curve", TENTH, 2, "bob", (41, -91703))
    assert ledger.export("json").count("commitment") == 2
    assert len({line for line in ledger.export("json").splitlines() if "commitment" in line}) == 2


@pytest.mark.parametrize("loss", ["DELETE FROM dovetail_runs", "UPDATE dovetail_runs SET above = 0"])
def test_lost_thresholds_end_the_run(
    account: DatasetAccount, run: PlanState, ledger: Ledger, location: str, loss: str
) -> None:
    with ledger._store._own().writer.begin() as connection:
        connection.exec_driver_sql(loss)
    with pytest.raises(LedgerError, match="the run is over"):
        account.thresholds(run.id)
    with pytest.raises(LedgerCorrupt):
        Ledger.open(location)


def test_a_batch_holds_one_update_and_returns_it(
    account: DatasetAccount, run: PlanState, ledger: Ledger
) -> None:
    made = batch(account, run)
    assert left(account) == 1
    account.settle(made, "none fired")
    assert left(account) == 2
    ledger.verify()


def test_a_firing_uses_the_hold_and_takes_the_next(
    account: DatasetAccount, run: PlanState, ledger: Ledger
) -> None:
    made = batch(account, run)
    assert account.fire(made, "first") is True
    assert left(account) == 0
    assert account.fire(made, "second") is False
    with pytest.raises(LedgerError, match="holds no update"):
        account.fire(made, "third")
    account.settle(made, "the rest")
    assert left(account) == 0
    assert [(told.answer, told.fired) for told in account.told(run.id)] == [
        ("first", True),
        ("second", True),
        ("the rest", False),
    ]
    with pytest.raises(BudgetExceeded, match="0 left"):
        batch(account, run, "more")
    ledger.verify()


def test_a_failed_or_dead_batch_keeps_its_hold(
    account: DatasetAccount, run: PlanState, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch(account, run, "dies", key="k")
    assert left(account) == 1
    monkeypatch.setattr(chain, "now", lambda: datetime.now(UTC) + timedelta(minutes=11))
    # Whoever takes over cannot know whether the dead one saw a firing: it holds another update.
    resumed = batch(account, run, "dies", key="k")
    assert resumed.attempt == 2
    assert left(account) == 0
    account.settle(resumed, "none fired")
    assert left(account) == 1
    account.fail(batch(account, run, "fails"), "stopped on the way")
    assert left(account) == 0
    ledger.verify()


def test_two_workers_cannot_both_fire_the_last_update(account: DatasetAccount, run: PlanState) -> None:
    account.fire(batch(account, run, "uses one"), "first")
    # That batch died with the last update in its hands: nobody can test any more.
    with pytest.raises(BudgetExceeded):
        batch(account, run, "another")


def test_many_workers_fire_no_more_than_was_paid(ledger: Ledger, account: DatasetAccount) -> None:
    run = account.open_run("curve", TENTH, 7, "ann", (1, 2))

    def work(number: int) -> int:
        fired = 0
        try:
            made = batch(account, run, f"batch {number}")
            for _ in range(2):
                more = account.fire(made, "measured")
                fired += 1
                if not more:
                    break
            account.settle(made, "done")
        except BudgetExceeded:
            pass
        return fired

    with ThreadPoolExecutor(8) as pool:
        fired = sum(pool.map(work, range(16)))
    assert fired <= 7
    assert fired + left(account) == 7
    ledger.verify()


@pytest.mark.parametrize("wrong", ["a plain plan", "two slots", "another dataset"])
def test_only_one_update_of_a_run_can_be_held(
    ledger: Ledger, account: DatasetAccount, run: PlanState, wrong: str
) -> None:
    plan = account.open_plan("design", TENTH, 5, "ann")
    other = ledger.account("other", budget=account.budget)
    head = ledger.head
    asks = {
        "a plain plan": lambda: batch(account, plan),
        "two slots": lambda: batch(account, run, slots=2),
        "another dataset": lambda: batch(other, run),
    }
    with pytest.raises(InvalidParameter):
        asks[wrong]()
    with pytest.raises(InvalidParameter, match="run"):
        account.thresholds(plan.id)
    assert ledger.head == head


def test_a_questions_answer_is_stored_for_the_run_too(account: DatasetAccount, run: PlanState) -> None:
    account.settle(batch(account, run), "7")
    again = account.reserve(asked("batch", plan=run.id, hold=True))
    assert not isinstance(again, Reservation)
    assert left(account) == 2
