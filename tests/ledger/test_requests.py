"""Leases and attempts: what a dead worker left is taken over once, and never answered twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from dovetail.errors import LedgerBusy, LedgerError, RequestConflict
from dovetail.ledger import DatasetAccount, Ledger, chain
from dovetail.release.account import Reservation, StoredAnswer
from ledger_cases import TENTH, asked


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return how to set the clock forward."""

    def set_clock(**by: float) -> None:
        monkeypatch.setattr(chain, "now", lambda: datetime.now(UTC) + timedelta(**by))

    return set_clock


def reserved(account: DatasetAccount, **rest: object) -> Reservation:
    made = account.reserve(asked(**rest))  # type: ignore[arg-type]
    assert isinstance(made, Reservation)
    return made


def test_a_lease_that_is_over_passes_the_same_charge_on(
    account: DatasetAccount, ledger: Ledger, later: Callable[..., None]
) -> None:
    first = reserved(account, key="k")
    later(minutes=9)
    with pytest.raises(LedgerBusy, match="takes its charge over"):
        account.reserve(asked(key="k"))
    later(minutes=11)
    second = reserved(account, key="k")
    assert (second.id, second.attempt, second.public) == (first.id, 2, first.public)
    assert account.spent() == TENTH
    for close in (account.settle, account.fail):
        with pytest.raises(LedgerError, match="attempt 2 took it over"):
            close(first, "too late")
    account.settle(second, "in time")
    stored = account.reserve(asked(key="k"))
    assert isinstance(stored, StoredAnswer)
    assert stored.answer == "in time"
    ledger.verify()


def test_a_late_worker_may_still_settle_while_nobody_took_over(
    account: DatasetAccount, later: Callable[..., None]
) -> None:
    made = reserved(account, key="k")
    later(days=3)
    account.settle(made, "slow")
    assert isinstance(account.reserve(asked(key="k")), StoredAnswer)


def test_of_many_retries_after_the_lease_one_takes_over(
    account: DatasetAccount, later: Callable[..., None]
) -> None:
    reserved(account, key="k")
    later(minutes=11)

    def attempt(_: int) -> str:
        try:
            return type(account.reserve(asked(key="k"))).__name__
        except LedgerBusy:
            return "busy"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(12)))
    assert outcomes.count("Reservation") == 1
    assert outcomes.count("busy") == 11
    assert account.spent() == TENTH


def test_a_retry_under_another_question_takes_nothing_over(
    account: DatasetAccount, later: Callable[..., None]
) -> None:
    reserved(account, key="k")
    later(minutes=11)
    with pytest.raises(RequestConflict):
        account.reserve(asked("another", key="k"))
    # Another analyst's key of the same name is another key: it pays.
    reserved(account, key="k", analyst="bob")
    assert account.spent() == TENTH + TENTH


def test_slots_that_a_dead_worker_took_are_not_taken_twice(
    account: DatasetAccount, ledger: Ledger, later: Callable[..., None]
) -> None:
    plan = account.open_plan("design", TENTH, 5, "ann")
    reserved(account, key="k", plan=plan.id, slots=2)
    later(minutes=11)
    reserved(account, key="k", plan=plan.id, slots=2)
    assert account.plans()[0].left == 3
    ledger.verify()


def test_a_lease_can_be_shorter(location: str, account: DatasetAccount) -> None:
    with Ledger.open(location, lease=0.001) as hasty:
        mine = hasty.account("visits")
        assert reserved(mine, key="k").attempt == 1
        for _ in range(1000):
            try:
                assert reserved(mine, key="k").attempt == 2
                break
            except LedgerBusy:
                continue
        else:
            raise AssertionError("the lease never ended")
    assert account.spent() == TENTH


@pytest.mark.parametrize(
    ("first", "second", "stale"),
    [("1", "1", False), ("1", "2", True), (None, "2", True), ("1", None, True), (None, None, False)],
)
def test_an_answer_about_another_version_is_given_and_called_stale(
    account: DatasetAccount, first: str | None, second: str | None, stale: bool
) -> None:
    account.settle(reserved(account, version=first), "7")
    stored = account.reserve(asked(version=second))
    assert isinstance(stored, StoredAnswer)
    assert (stored.answer, stored.version, stored.stale) == ("7", first, stale)
    assert account.spent() == TENTH


def test_the_answer_about_the_version_that_is_asked_for_comes_first(account: DatasetAccount) -> None:
    for version in ("1", "2"):
        account.settle(reserved(account, version=version, fresh=True), f"of {version}")
    for version in ("1", "2"):
        stored = account.reserve(asked(version=version))
        assert isinstance(stored, StoredAnswer)
        assert (stored.answer, stored.stale) == (f"of {version}", False)


def test_the_curators_label_is_the_version_where_none_is_asked_for(
    account: DatasetAccount, ledger: Ledger
) -> None:
    account.set_version("January")
    account.settle(reserved(account), "7")
    stored = account.reserve(asked())
    assert isinstance(stored, StoredAnswer)
    assert (stored.version, stored.stale) == ("January", False)
    account.set_version("February")
    stored = account.reserve(asked())
    assert isinstance(stored, StoredAnswer)
    assert (stored.version, stored.stale) == ("January", True)
    reserved(account, fresh=True)
    ledger.verify()


def test_what_is_stored_is_told_under_its_key_and_to_no_other_question(account: DatasetAccount) -> None:
    made = reserved(account, body="one", key="k")
    assert account.stored(asked("one", key="k")) is None
    account.settle(made, "7")
    for again in (
        asked("one", key="k"),
        asked("one", key="k", fresh=True),
        asked("one"),
        asked("one", key="l"),
    ):
        found = account.stored(again)
        assert found is not None
        assert found.answer == "7"
    assert account.stored(asked("one", fresh=True)) is None
    assert account.stored(asked("two", key="l")) is None
    with pytest.raises(RequestConflict):
        account.stored(asked("two", key="k"))
    # Another analyst's key is another key.
    assert account.stored(asked("two", key="k", analyst="bob")) is None
    assert account.spent() == TENTH
