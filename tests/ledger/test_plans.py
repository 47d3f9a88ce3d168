"""A plan is opened once however often it is asked for, and used by who opened it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from dovetail.errors import BudgetExceeded, InvalidParameter
from dovetail.ledger import DatasetAccount, Ledger
from dovetail.privacy import Charge
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked


def test_the_same_plan_opened_again_is_the_same_plan(account: DatasetAccount, ledger: Ledger) -> None:
    first = account.open_plan("design", TENTH, 5, "ann")
    account.reserve(asked(plan=first.id))
    again = account.open_plan("design", Charge.approximate("0.2"), 5, "ann")
    assert (again.id, again.left, again.charge) == (first.id, 4, TENTH)
    assert account.spent() == TENTH
    ledger.verify()


def test_six_at_once_open_one_plan(account: DatasetAccount, location: str) -> None:
    def opened(_: int) -> int:
        with Ledger.open(location) as ledger:
            return ledger.account("visits").open_plan("design", TENTH, 5, "ann").id

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(opened, range(6)))) == 1
    assert account.spent() == TENTH
    assert len(account.plans()) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"body": "another design"},
        {"slots": 4},
        {"analyst": "bob"},
        {"name": "on purpose"},
    ],
)
def test_another_plan_is_one_that_differs(account: DatasetAccount, other: dict[str, object]) -> None:
    asked_for = {"body": "design", "charge": TENTH, "slots": 5, "analyst": "ann"}
    first = account.open_plan(**asked_for)  # type: ignore[arg-type]
    second = account.open_plan(**(asked_for | other))  # type: ignore[arg-type]
    assert first.id != second.id
    assert account.spent() == TENTH + TENTH
    assert account.open_plan(**(asked_for | other)).id == second.id  # type: ignore[arg-type]


def test_another_analysts_plan_is_no_plan(account: DatasetAccount, ledger: Ledger) -> None:
    plan = account.open_plan("design", TENTH, 5, "ann")
    head = None
    for analyst in ("bob", "eve"):
        head = ledger.head
        with pytest.raises(InvalidParameter, match="that you opened or that is shared"):
            account.reserve(asked(analyst=analyst, plan=plan.id))
        with pytest.raises(InvalidParameter, match="that you opened or that is shared"):
            account.reserve(asked(analyst=analyst, plan=plan.id + 100))
        assert ledger.head == head
    assert account.plans()[0].left == 5


def test_a_shared_plan_is_everyones_and_one(account: DatasetAccount) -> None:
    plan = account.open_plan("design", TENTH, 5, "ann", shared=True)
    assert account.open_plan("design", TENTH, 5, "bob", shared=True).id == plan.id
    assert isinstance(account.reserve(asked(analyst="bob", plan=plan.id)), Reservation)
    assert account.spent() == TENTH


def test_a_plan_that_is_used_up_names_the_way_to_another(account: DatasetAccount) -> None:
    plan = account.open_plan("design", TENTH, 1, "ann")
    account.reserve(asked(plan=plan.id))
    assert account.open_plan("design", TENTH, 1, "ann").left == 0
    with pytest.raises(BudgetExceeded, match="another name"):
        account.reserve(asked("more", plan=plan.id))
    second = account.open_plan("design", TENTH, 1, "ann", name="second")
    assert (second.left, second.name, plan.name) == (1, "second", None)
    assert {each.name for each in account.plans()} == {None, "second"}


@pytest.mark.parametrize("slots", [0, -1, 10**9, "x"])
def test_answers_of_a_plan_are_used_in_whole_numbers_from_one(account: DatasetAccount, slots: object) -> None:
    plan = account.open_plan("design", TENTH, 3, "ann")
    with pytest.raises((InvalidParameter, BudgetExceeded)):
        account.reserve(asked("one", plan=plan.id, slots=slots))
    assert account.plan_state(plan.id).left == 3
    account.reserve(asked("one", Charge.zero(), plan=plan.id, slots=3))
    assert account.plan_state(plan.id).left == 0
    with pytest.raises(BudgetExceeded, match="0 left"):
        account.reserve(asked("two", Charge.zero(), plan=plan.id))
