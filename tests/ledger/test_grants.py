"""Allotments: what one analyst may spend, inside of what all may spend."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from dovetail.errors import AccessRefused, BudgetExceeded, DovetailError, InvalidParameter
from dovetail.ledger import AboveBudget, DatasetAccount, Ledger, keys
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Reservation, StoredAnswer
from ledger_cases import TENTH, asked


@pytest.fixture
def granted(ledger: Ledger, account: DatasetAccount) -> DatasetAccount:
    """Return an account with a budget of 1, of which ann was granted 0.3."""
    ledger.people.add("ann")
    ledger.people.grant("ann", "visits", Budget.pure("0.3"))
    return account


def test_an_allotment_ends_before_the_budget_does(ledger: Ledger, granted: DatasetAccount) -> None:
    for number in range(3):
        granted.reserve(asked(f"count {number}"))
    head = ledger.head
    with pytest.raises(
        BudgetExceeded, match=r"only epsilon 0 remains of your allotment for 'visits'"
    ) as refused:
        granted.reserve(asked("more"))
    assert refused.value.remaining.epsilon == 0
    with pytest.raises(BudgetExceeded, match="your allotment"):
        granted.open_plan("design", TENTH, 3, "ann")
    assert ledger.head == head
    assert str(granted.allotted("ann")) == "epsilon 0"
    # Where anyone may ask, whoever has no allotment is held by the budget alone.
    assert isinstance(granted.reserve(asked("more", analyst="bob")), Reservation)
    assert granted.allotted("bob") is None
    ledger.verify()


def test_the_budget_ends_before_a_larger_allotment_does(ledger: Ledger, account: DatasetAccount) -> None:
    ledger.people.add("ann")
    with pytest.warns(AboveBudget, match="holds first"):
        ledger.people.grant("ann", "visits", Budget.pure(5))
    account.reserve(asked(charge=Charge.approximate("0.95")))
    with pytest.raises(BudgetExceeded, match="the budget of 'visits'"):
        account.reserve(asked("more"))
    ledger.verify()


def test_plans_are_paid_from_the_allotment(ledger: Ledger, granted: DatasetAccount) -> None:
    plan = granted.open_plan("design", Charge.approximate("0.25"), 3, "ann")
    granted.reserve(asked("planned", plan=plan.id))
    with pytest.raises(BudgetExceeded, match="your allotment"):
        granted.reserve(asked("more"))
    (grant,) = ledger.people.grants("ann")
    assert grant.spent == Charge.approximate("0.25")


@pytest.mark.parametrize(
    "budget", [Budget.pure(1), Budget.approximate(1, "1e-6"), Budget.zeta(1, max_epsilon=3)], ids=str
)
def test_an_allotment_is_in_the_currency_of_the_dataset(ledger: Ledger, budget: Budget) -> None:
    account = ledger.account("visits", budget=budget)
    ledger.people.add("ann")
    small = {
        "pure": Budget.pure("0.1"),
        "approximate": Budget.approximate("0.1", "1e-7"),
        "zeta": Budget.zeta("0.1", max_epsilon="0.3"),
    }
    for currency, allotment in small.items():
        if currency != budget.currency:
            with pytest.raises(InvalidParameter, match="of the same kind as"):
                ledger.people.grant("ann", "visits", allotment)
    ledger.people.grant("ann", "visits", small[budget.currency])
    account.reserve(asked(charge=Charge.approximate("0.1")))
    with pytest.raises(BudgetExceeded, match="your allotment"):
        account.reserve(asked("more", charge=Charge.approximate("0.3")))
    ledger.verify()


def test_an_allotment_never_falls_below_what_was_spent_of_it(ledger: Ledger, granted: DatasetAccount) -> None:
    granted.reserve(asked())
    with pytest.raises(InvalidParameter, match="at least what was spent"):
        ledger.people.grant("ann", "visits", Budget.pure("0.05"))
    ledger.people.grant("ann", "visits", Budget.pure("0.1"))
    with pytest.raises(BudgetExceeded, match="your allotment"):
        granted.reserve(asked("more"))
    ledger.people.grant("ann", "visits", Budget.pure("0.2"))
    granted.reserve(asked("more"))
    ledger.verify()


def test_a_grant_given_again_remembers_what_was_spent(ledger: Ledger, granted: DatasetAccount) -> None:
    granted.reserve(asked())
    ledger.people.revoke_grant("ann", "visits")
    with pytest.raises(InvalidParameter, match="at least what was spent"):
        ledger.people.grant("ann", "visits", Budget.pure("0.05"))
    ledger.people.grant("ann", "visits", Budget.pure("0.3"))
    assert ledger.people.grants("ann")[0].spent == TENTH
    ledger.verify()


def test_without_a_grant_nobody_asks_where_grants_are_needed(
    ledger: Ledger, granted: DatasetAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.set_policy("visits", access="granted")
    made = granted.reserve(asked())
    assert isinstance(made, Reservation)
    granted.settle(made, "7")
    ledger.people.add("bob")
    number = ledger.people.add("cyd").id
    soon = datetime.now(UTC) + timedelta(hours=1)
    ledger.people.grant("cyd", "visits", Budget.pure("0.1"), expires=soon)
    assert isinstance(granted.reserve(asked(analyst="cyd")), StoredAnswer)
    assert len(ledger.people.granted(number)) == 1
    monkeypatch.setattr(keys.chain, "now", lambda: soon)
    assert ledger.people.granted(number) == set()
    head, said = ledger.head, set()
    for analyst in ("bob", "nobody", "cyd"):
        for ask in (granted.reserve, granted.stored):
            with pytest.raises(AccessRefused) as refused:
                ask(asked(analyst=analyst))
            said.add(str(refused.value))
        with pytest.raises(AccessRefused):
            granted.open_plan("design", TENTH, 1, analyst)
    assert len(said) == 1
    assert ledger.head == head
    ledger.people.revoke_grant("ann", "visits")
    with pytest.raises(AccessRefused):
        granted.reserve(asked())


def test_a_paid_answer_is_stored_also_where_the_grant_is_gone_meanwhile(
    ledger: Ledger, granted: DatasetAccount
) -> None:
    ledger.set_policy("visits", access="granted")
    own = ledger.catalogue.account("visits", "ann")
    first, second = own.reserve(asked()), own.reserve(asked("more"))
    assert isinstance(first, Reservation)
    assert isinstance(second, Reservation)
    at, standing = own.settle_with_standing(first, "7")
    assert standing == own.standing()
    assert (standing.budget, standing.spent) == (Budget.pure("0.3"), TENTH + TENTH)
    ledger.people.revoke_grant("ann", "visits")
    with pytest.raises(AccessRefused, match="The charge stays spent") as refused:
        own.settle_with_standing(second, "8")
    assert "Nothing was spent" not in str(refused.value)
    ledger.people.grant("ann", "visits", Budget.pure("0.3"))
    stored = own.stored(asked("more"))
    assert stored is not None
    assert (stored.answer, stored.answered_at > at) == ("8", True)
    ledger.verify()


def test_own_answers_tell_nothing_of_others(ledger: Ledger, account: DatasetAccount) -> None:
    ledger.set_policy("visits", answers="own")
    made = account.reserve(asked(analyst="ann"))
    assert isinstance(made, Reservation)
    account.settle(made, "7")
    assert account.stored(asked(analyst="bob")) is None
    again = account.reserve(asked(analyst="bob"))
    assert isinstance(again, Reservation)
    stored = account.stored(asked(analyst="ann"))
    assert stored is not None
    assert stored.answer == "7"
    account.reserve(asked("all the rest", Charge.approximate("0.8")))
    with pytest.raises(BudgetExceeded, match=r"limit of 'visits' is reached") as refused:
        account.reserve(asked("more"))
    # No figure of what others spent: neither in the words nor in the fields.
    assert "remains" not in str(refused.value)
    assert refused.value.remaining is None


def test_prices_above_an_allotment_do_not_sound_out_what_others_left(
    ledger: Ledger, granted: DatasetAccount
) -> None:
    """Otherwise somebody bisects it for nothing: either refusal would tell on which side it lies."""
    ledger.set_policy("visits", answers="own")
    ledger.people.add("bob")
    ledger.people.grant("bob", "visits", Budget.pure("0.1"))
    told = set()
    for left in ("0.9", "0.5", "0.2"):
        with pytest.raises(BudgetExceeded) as refused:
            granted.reserve(asked("too much", Charge.approximate("0.6"), analyst="bob"))
        told.add((str(refused.value), str(refused.value.remaining)))
        with pytest.raises(BudgetExceeded) as refused:
            granted.open_plan("too much", Charge.approximate("0.6"), 3, "bob")
        told.add((str(refused.value), str(refused.value.remaining)))
        ledger.set_budget("visits", Budget.pure(left), reason="on purpose")
    assert len(told) == 1
    assert "your allotment" in str(told)


@pytest.mark.parametrize("subject", ["budget", "allotment"])
def test_the_database_itself_refuses_to_overspend_either(
    ledger: Ledger, granted: DatasetAccount, subject: str
) -> None:
    (grant,) = ledger.people.grants("ann")
    number = grant.id if subject == "allotment" else grant.dataset
    with pytest.raises(IntegrityError), ledger._store._own().writer.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE dovetail_balances SET epsilon = 1000000001 WHERE subject = {number}"
        )


def test_a_hundred_requests_at_once_sell_the_allotment_and_no_more(
    ledger: Ledger, granted: DatasetAccount
) -> None:
    def attempt(number: int) -> bool:
        try:
            analyst = "ann" if number % 2 else "bob"
            return isinstance(granted.reserve(asked(f"{number}", TENTH, analyst=analyst)), Reservation)
        except DovetailError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(40))) == 10
    assert ledger.people.grants("ann")[0].spent in [TENTH.times(uses) for uses in range(4)]
    assert granted.spent() == TENTH.times(10)
    ledger.verify()


def test_a_statement_by_person(ledger: Ledger, granted: DatasetAccount) -> None:
    granted.reserve(asked("by ann"))
    granted.reserve(asked("by bob", analyst="bob"))
    mine = ledger.show(analyst="ann")
    assert [entry.what for entry in mine.entries] == ["by ann"]
    (share,) = mine.shares
    assert (share.analyst, share.dataset, str(share.remaining)) == ("ann", "visits", "epsilon 0.2")
    assert "ann may ask about visits" in str(mine)
    assert ledger.show(analyst="bob").shares == ()


def test_a_renamed_dataset_is_found_by_all_its_names_and_a_retired_one_answers_nothing(
    ledger: Ledger, account: DatasetAccount
) -> None:
    account.reserve(asked())
    ledger.rename("visits", "visits of 2026")
    assert ledger.account("visits of 2026").spent() == TENTH
    assert ledger.account("visits", share=True).spent() == TENTH
    assert ledger.show().standings[0].name == "visits of 2026"
    ledger.account("other", budget=Budget.pure(1))
    with pytest.raises(InvalidParameter, match="no other dataset"):
        ledger.rename("other", "visits")
    ledger.retire("visits")
    for use in (lambda: account.reserve(asked()), lambda: account.open_plan("design", TENTH, 1, "ann")):
        with pytest.raises(DovetailError, match="retired"):
            use()
    assert account.spent() == TENTH
    ledger.verify()


def test_only_a_grant_that_was_given_can_be_revoked(ledger: Ledger, granted: DatasetAccount) -> None:
    ledger.people.add("bob")
    head = ledger.head
    with pytest.raises(InvalidParameter, match="'bob' must be somebody with a grant for this dataset"):
        ledger.people.revoke_grant("bob", "visits")
    assert ledger.head == head


def test_an_answer_is_stored_and_not_shown_where_the_grant_has_ended_meanwhile(
    ledger: Ledger, granted: DatasetAccount
) -> None:
    ledger.set_policy("visits", access="granted")
    mine = ledger.catalogue.account("visits", "ann")
    made = mine.reserve(asked("one"))
    assert isinstance(made, Reservation)
    ledger.people.revoke_grant("ann", "visits")
    with pytest.raises(AccessRefused, match=r"any more.*The answer is stored"):
        mine.settle_with_standing(made, "7")
    assert ledger.people.answer("ann", made.public).answer == "7"
    ledger.verify()


@pytest.mark.parametrize(
    ("allotment", "budget", "above"),
    [
        (Budget.pure(1), Budget.pure(1), False),
        (Budget.pure("1.1"), Budget.pure(1), True),
        (Budget.approximate(1, "1e-6"), Budget.approximate(1, "1e-6"), False),
        (Budget.approximate(1, "2e-6"), Budget.approximate(1, "1e-6"), True),
        (Budget.approximate(2, "1e-7"), Budget.approximate(1, "1e-6"), True),
        (Budget.zeta("0.5", max_epsilon=1), Budget.zeta("0.5", max_epsilon=1), False),
        (Budget.zeta("0.6", max_epsilon=1), Budget.zeta("0.5", max_epsilon=1), True),
        (Budget.zeta("0.4", max_epsilon=2), Budget.zeta("0.5", max_epsilon=1), True),
    ],
)
def test_an_allotment_is_above_a_budget_where_any_of_its_limits_is(
    ledger: Ledger, allotment: Budget, budget: Budget, above: bool
) -> None:
    ledger.account("visits", budget=budget)
    ledger.people.add("ann")
    with pytest.warns(AboveBudget) if above else nullcontext():
        ledger.people.grant("ann", "visits", allotment)
    assert f'"above":{"true" if above else "false"}' in ledger.export("json").replace("\\", "")


def test_an_allotment_is_lowered_to_what_was_spent_of_it_and_no_further(
    ledger: Ledger, granted: DatasetAccount
) -> None:
    granted.reserve(asked())
    with pytest.raises(InvalidParameter, match="at least what was spent of it"):
        ledger.people.grant("ann", "visits", Budget.pure("0.09"))
    ledger.people.grant("ann", "visits", Budget.pure("0.1"))
    with pytest.raises(BudgetExceeded):
        granted.reserve(asked("more", Charge.approximate("0.01")))
    ledger.people.revoke_grant("ann", "visits")
    until = datetime.now(UTC) + timedelta(days=1)
    ledger.people.grant("ann", "visits", Budget.pure("0.2"), expires=until)
    (grant,) = ledger.people.grants("ann")
    assert (grant.revoked, grant.expires, grant.spent) == (False, until.isoformat(), TENTH)
    granted.reserve(asked("more"))
    ledger.verify()
