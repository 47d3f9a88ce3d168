"""A budget is fixed by its first charge, in one transaction, and by nothing that is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dovetail.errors import BudgetExceeded, BudgetMismatch, DovetailError, InvalidParameter
from dovetail.ledger import Ledger
from dovetail.ledger.new_account import NewAccount
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Request, Reservation

TENTH = Charge.approximate("0.1")


def prospective(location: str, budget: Budget | None, name: str = "visits"):
    ledger = Ledger.open(location, create="later")
    return ledger, ledger.prospective_account(
        name, budget=budget, source="/data/visits.csv", protects="a row added or removed"
    )


def test_nothing_is_made_before_the_first_charge_and_then_all_of_it(location: str) -> None:
    ledger, account = prospective(location, Budget.pure(1))
    assert account.standing().budget == Budget.pure(1)
    assert account.standing().spent == Charge.zero()
    assert account.begun is None
    assert not Ledger.exists(location)
    given = account.reserve(Request("a", TENTH, "ann"))
    assert isinstance(given, Reservation)
    assert account.settle(given, "{}")
    assert account.standing("ann").spent == TENTH
    assert len(account.secret) == 32
    with Ledger.open(location) as other:
        assert other.account("visits").spent() == TENTH
        assert [entry.state for entry in other.show().entries][-1] == "answered"
        other.verify()
    ledger.close()


@pytest.mark.parametrize(
    "request_",
    [
        Request("a", Charge.approximate(2), "ann"),
        Request("a", TENTH, "\x01"),
        Request("a", TENTH, "ann", key="\x01"),
    ],
)
def test_a_refused_request_leaves_no_trace(location: str, request_: Request) -> None:
    ledger, account = prospective(location, Budget.pure(1))
    with pytest.raises(DovetailError):
        account.reserve(request_)
    for slots, charge, analyst in ((0, TENTH, "ann"), (3, Charge.approximate(2), "ann"), (3, TENTH, "\x01")):
        with pytest.raises(DovetailError):
            account.open_plan("design", charge, slots, analyst)
    assert not Ledger.exists(location)
    ledger.close()


def test_a_refusal_in_a_ledger_that_is_there_registers_nothing(location: str) -> None:
    with Ledger.create(location) as ledger:
        account = ledger.prospective_account("visits", budget=Budget.pure(1), source="/data/visits.csv")
        with pytest.raises(BudgetExceeded):
            account.reserve(Request("a", Charge.approximate(2), "ann"))
        with pytest.raises(InvalidParameter):
            account.reserve(Request("a", TENTH, "ann", plan=7))
        assert ledger.show().standings == ()
        assert ledger.head.sequence == 0
        other = ledger.prospective_account("visits", budget=Budget.pure(3), source="/data/visits.csv")
        other.reserve(Request("a", Charge.approximate(2), "ann"))
        # Somebody else was first: their budget holds, and nothing is charged under another.
        for use in (account.standing, lambda: account.reserve(Request("b", TENTH, "ann"))):
            with pytest.raises(BudgetMismatch):
                use()
        assert ledger.account("visits").spent() == Charge.approximate(2)


def test_without_a_budget_there_is_a_standing_but_no_charge(location: str) -> None:
    ledger, account = prospective(location, None)
    assert account.standing().budget is None
    for use in (
        lambda: account.reserve(Request("a", TENTH, "ann")),
        lambda: account.open_plan("design", TENTH, 3, "ann"),
    ):
        with pytest.raises(InvalidParameter, match="first opened"):
            use()
    assert not Ledger.exists(location)
    ledger.close()


def test_a_plan_can_be_the_first_charge(location: str) -> None:
    ledger, account = prospective(location, Budget.pure(1))
    plan = account.open_plan("design", TENTH, 3, "ann")
    assert (plan.left, account.standing().spent) == (3, TENTH)
    assert account.open_plan("design", TENTH, 3, "ann").id == plan.id
    account.reserve(Request("a", Charge.zero(), "ann", plan=plan.id))
    assert account.standing().spent == TENTH
    ledger.close()


def test_a_ledger_that_the_first_charge_makes_has_the_witness_that_was_named(
    location: str, tmp_path: Path
) -> None:
    seen = tmp_path / "elsewhere.heads"
    with Ledger.open(location, create="later", witness=seen) as ledger:
        account = ledger.prospective_account("visits", budget=Budget.pure(1))
        assert isinstance(account.reserve(Request("a", TENTH, "ann")), Reservation)
        assert seen.read_text().splitlines()[-1] == str(ledger.head)
    with Ledger.open(location) as again:
        assert again.account("visits").spent() == TENTH


@pytest.mark.parametrize("late", [False, True])
def test_of_two_first_charges_with_different_budgets_the_second_is_refused(
    location: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both were opened before there was a record. The first may come after the second has looked for one."""
    opened = [prospective(location, budget) for budget in (Budget.pure(1), Budget.pure(2))]
    (one, mine), (other, yours) = opened
    assert isinstance(mine.reserve(Request("a", TENTH, "ann")), Reservation)
    if late:
        monkeypatch.setattr(NewAccount, "begun", None)
    with pytest.raises(BudgetMismatch):
        yours.reserve(Request("b", TENTH, "ann"))
    with Ledger.open(location) as ledger:
        assert ledger.account("visits").spent() == TENTH
        ledger.verify()
    one.close()
    other.close()


def test_of_many_first_charges_all_count_against_one_budget(location: str) -> None:
    def ask(number: int) -> bool:
        ledger, account = prospective(location, Budget.pure(1))
        try:
            account.reserve(Request(str(number), Charge.approximate("0.3"), "ann"))
        except BudgetExceeded:
            return False
        finally:
            ledger.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(8))) == 3
    with Ledger.open(location) as ledger:
        assert len(ledger.show().standings) == 1
        assert ledger.account("visits").spent() == Charge.approximate("0.3").times(3)
        ledger.verify()


def test_known_rows_under_a_new_name_share_their_budget_at_once(location: str) -> None:
    with Ledger.create(location) as ledger:
        ledger.account("visits", budget=Budget.pure(1), source="/data/visits.csv").reserve(
            Request("a", TENTH, "ann")
        )
        with pytest.warns(UserWarning, match="second name"):
            account = ledger.prospective_account("again", source="/data/visits.csv")
        assert account.standing().spent == TENTH


def test_two_sessions_on_a_folder_and_on_a_file_of_it_begin_one_budget(tmp_path: Path) -> None:
    import dovetail as dv

    folder = tmp_path / "months"
    folder.mkdir()
    (folder / "may.csv").write_text("sex\nF\nM\n")
    whole = dv.Session(folder, budget=dv.Budget.pure(1))
    part = dv.Session(folder / "may.csv", budget=dv.Budget.pure(1))
    whole.count(spend=dv.Budget.pure("0.1"))
    with pytest.raises(dv.LedgerError, match="another ledger"):
        part.count(spend=dv.Budget.pure("0.1"))
    assert len(list(tmp_path.rglob("*.ledger"))) == 1
    whole.close()
    part.close()


def test_a_place_that_known_data_are_found_in_as_well_is_recorded_too(location: str) -> None:
    """Whoever names it later shares the budget: that one of two places is known is not enough."""
    with Ledger.open(location, create=True) as ledger:
        account = ledger.account("visits", budget=Budget.pure(1), source="/data/a.csv")
        assert isinstance(account.reserve(Request("a", TENTH, "ann")), Reservation)
        ledger.account("visits", source=["/data/a.csv", "/data/b.csv"])
        assert ledger.account("other", source="/data/b.csv", share=True).spent() == TENTH
        ledger.verify()
