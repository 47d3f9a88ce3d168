"""Which vintages bear a charge: all of them together, or each its own where rows lie in one of them."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import BudgetExceeded, InvalidParameter, LedgerError
from dovetail.ledger import DatasetAccount, ExPost, Ledger
from dovetail.ledger.balances import all_balances, spent_of
from dovetail.ledger.vintages import state_label
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Reservation, StoredAnswer
from ledger_cases import TENTH, asked

ROWS = "a row added or removed"
PERSONS = "a person ('id') added or removed"


def months(ledger: Ledger, budget: Budget, protects: str = ROWS, disjoint: bool = True) -> DatasetAccount:
    """Return the account of a dataset that comes in months."""
    account = ledger.account("visits", budget=budget, protects=protects)
    if disjoint:
        account.declare_disjoint()
    for label in ("January", "February"):
        account.declare_vintage(label, complete=True)
    return account


def spends(account: DatasetAccount, body: str, *labels: str, charge: Charge = TENTH) -> None:
    assert isinstance(account.reserve(asked(body, charge, vintages=labels)), Reservation)


def test_by_default_a_second_month_finds_the_same_budget(ledger: Ledger) -> None:
    account = months(ledger, Budget.pure("0.2"), disjoint=False)
    spends(account, "count", "January")
    spends(account, "count", "February")
    with pytest.raises(BudgetExceeded):
        spends(account, "sum", "February")
    assert account.spent() == TENTH.times(2)
    ledger.verify()


def test_disjoint_complete_months_have_the_whole_budget_each(ledger: Ledger) -> None:
    account = months(ledger, Budget.approximate("0.25", "1e-6"))
    for label in ("January", "February"):
        for body in ("count", "sum"):
            spends(account, body, label)
        with pytest.raises(BudgetExceeded):
            spends(account, "mean", label)
    # The record shows the most that anybody bears.
    assert account.spent() == TENTH.times(2)
    assert account.position(["January"])[1] == TENTH.times(2)
    account.declare_vintage("March", complete=True)
    assert account.position(["March"])[1] == Charge.zero()
    ledger.verify()


def test_a_question_over_several_months_is_charged_to_each(ledger: Ledger) -> None:
    account = months(ledger, Budget.pure("0.2"))
    spends(account, "both", "January", "February")
    spends(account, "january", "January")
    with pytest.raises(BudgetExceeded):
        spends(account, "both again", "January", "February")
    assert account.position(["February"])[1] == TENTH
    spends(account, "february", "February")
    ledger.verify()


def test_open_months_share_what_is_not_pure(ledger: Ledger) -> None:
    account = ledger.account("visits", budget=Budget.approximate(1, "1e-6"), protects=ROWS)
    account.declare_disjoint()
    account.declare_vintage("January", complete=True)
    account.declare_vintage("February")
    spends(account, "count", "February")
    account.declare_vintage("March")
    assert account.position(["January"])[1] == Charge.zero()
    for open_month in ("February", "March"):
        assert account.position([open_month])[1] == TENTH
    account.complete_vintage("February")
    spends(account, "sum", "February")
    assert account.position(["March"])[1] == TENTH
    assert account.position(["February"])[1] == TENTH.times(2)
    ledger.verify()


def test_open_months_of_a_pure_budget_are_apart(ledger: Ledger) -> None:
    account = ledger.account("visits", budget=Budget.pure(1), protects=ROWS)
    account.declare_disjoint()
    for label in ("January", "February"):
        account.declare_vintage(label)
        spends(account, "count", label)
        assert account.position([label])[1] == TENTH
    assert account.spent() == TENTH


def test_a_pure_budget_that_open_months_have_spent_apart_stays_pure(ledger: Ledger) -> None:
    """Under another kind open months share what they bear, and what was spent apart would not be shared."""
    account = ledger.account("visits", budget=Budget.pure(1), protects=ROWS)
    account.declare_disjoint()
    account.declare_vintage("January")
    ledger.set_budget("visits", Budget.approximate(1, "1e-6"))
    ledger.set_budget("visits", Budget.pure(1))
    spends(account, "count", "January")
    for other in (Budget.approximate(2, "1e-6"), Budget.zeta(2, max_epsilon=2)):
        with pytest.raises(InvalidParameter, match="disjoint"):
            ledger.set_budget("visits", other)
    with pytest.warns(ExPost):
        ledger.set_budget("visits", Budget.pure(2))
    ledger.verify()


@pytest.mark.parametrize("protects", [PERSONS, None, "a household"])
def test_persons_lie_in_several_months_so_their_charges_add(ledger: Ledger, protects: str | None) -> None:
    account = ledger.account("visits", budget=Budget.pure(1), protects=protects)
    with pytest.raises(LedgerError, match="charges add"):
        account.declare_disjoint()
    account.declare_vintage("January")
    spends(account, "count", "January")
    assert account.spent() == TENTH


def test_declaring_disjoint_late_is_ex_post_and_forgets_nothing(ledger: Ledger) -> None:
    account = months(ledger, Budget.pure("0.2"), disjoint=False)
    spends(account, "count", "January")
    with pytest.warns(ExPost, match="disjoint"):
        account.declare_disjoint()
    for label in ("January", "February"):
        assert account.position([label])[1] == TENTH
    account.declare_disjoint()
    ledger.verify()


def test_months_are_declared_before_they_are_asked_about(ledger: Ledger) -> None:
    account = months(ledger, Budget.pure(1))
    for labels in ([], ["March"], ["January", "march"]):
        with pytest.raises(InvalidParameter, match="declared before" if labels else "must be named"):
            spends(account, "count", *labels)
    with pytest.raises(InvalidParameter, match="does not have yet"):
        account.declare_vintage("January")
    assert account.spent() == Charge.zero()


def test_answers_plans_and_allotments_are_per_month(ledger: Ledger) -> None:
    account = months(ledger, Budget.pure(1))
    ledger.people.add("ann")
    ledger.people.grant("ann", "visits", Budget.pure("0.2"))
    made = account.reserve(asked("count", vintages=("January",)))
    assert isinstance(made, Reservation)
    account.settle(made, "of January")
    assert isinstance(account.reserve(asked("count", vintages=("January",))), StoredAnswer)
    spends(account, "count", "February")
    plan = account.about("January").open_plan("design", TENTH, 3, "ann")
    other = account.about("February").open_plan("design", TENTH, 3, "ann")
    assert plan.id != other.id
    with pytest.raises(InvalidParameter, match="vintages that are asked about"):
        account.reserve(asked("planned", plan=plan.id, vintages=("February",)))
    account.reserve(asked("planned", plan=plan.id, vintages=("January",)))
    for label in ("January", "February"):
        with pytest.raises(BudgetExceeded, match="your allotment"):
            spends(account, "more", label)
    account.declare_vintage("March", complete=True)
    spends(account, "count", "March", charge=TENTH.times(2))
    ledger.verify()


def test_versions_are_kept_per_month(ledger: Ledger) -> None:
    account = months(ledger, Budget.pure(1), disjoint=False)
    account.set_version("1", vintage="January")
    made = account.reserve(asked(vintages=("January",)))
    assert isinstance(made, Reservation)
    account.settle(made, "7")
    account.set_version("9", vintage="February")
    assert account.reserve(asked(vintages=("January",))).stale is False  # type: ignore[union-attr]
    account.set_version("2", vintage="January")
    assert account.reserve(asked(vintages=("January",))).stale is True  # type: ignore[union-attr]
    # Another version is no other vintage: it pays from the same balance.
    account.reserve(asked(vintages=("January",), fresh=True))
    assert account.spent() == TENTH.times(2)
    ledger.verify()


def test_a_question_over_several_months_is_stale_once_any_of_them_has_changed(ledger: Ledger) -> None:
    account = months(ledger, Budget.pure(1), disjoint=False)

    def stale(*labels: str) -> bool:
        given = account.reserve(asked(vintages=labels))
        assert isinstance(given, StoredAnswer)
        return given.stale

    both = ("January", "February")
    for versions in (("1", "1"), ("1", "2"), ("2", "3")):
        for label, version in zip(both, versions, strict=True):
            account.set_version(version, vintage=label)
        made = account.reserve(asked(vintages=both, fresh=True))
        assert isinstance(made, Reservation)
        account.settle(made, "7")
        assert not stale(*both)
        for label, version in zip(both, versions, strict=True):
            account.set_version("9", vintage=label)
            assert stale(*both), (versions, label)
            account.set_version(version, vintage=label)
            assert not stale(*both)
    ledger.verify()


@pytest.mark.parametrize("labels", [("January",), ("January", "February")])
@pytest.mark.parametrize("before", [None, "January", "February"])
@pytest.mark.parametrize("changed", [None, "January", "February"])
def test_an_answer_is_stale_once_a_version_is_named_that_was_not(
    ledger: Ledger, labels: tuple[str, ...], before: str | None, changed: str | None
) -> None:
    """None is the whole dataset, whose version is that of all months."""
    account = months(ledger, Budget.pure(1), disjoint=False)
    account.set_version("corrected", vintage=before)
    made = account.reserve(asked(vintages=labels))
    assert isinstance(made, Reservation)
    account.settle(made, "7")
    account.set_version("corrected", vintage=changed)
    given = account.reserve(asked(vintages=labels))
    assert isinstance(given, StoredAnswer)
    assert given.stale is (changed != before and (changed is None or changed in labels))


def test_no_two_states_of_the_data_that_follow_each_other_have_one_label() -> None:
    names = (None, "a", "b", "a; b", '[null, "a", "b"]')
    states = list(product(names, repeat=3))
    for one, other in product(states, repeat=2):
        # A version that was named is never unnamed.
        follows = all(new is not None or old is None for old, new in zip(one, other, strict=True))
        if follows and one != other:
            assert state_label(one[0], one[1:]) != state_label(other[0], other[1:]), (one, other)


@pytest.mark.parametrize(
    ("whole", "parts", "label"),
    [
        ("7", [None], "7"),
        ("7", [None, None], "7"),
        (None, ["2"], "2"),
        (None, ["2", "3"], "2; 3"),
        (None, [None, None], None),
        ("7", ["2"], '["7", "2"]'),
        (None, ["2", None], '[null, "2", null]'),
        (None, ["2; 3"], '[null, "2; 3"]'),
        (None, ["[2"], '[null, "[2"]'),
        ("é", ["2"], '["é", "2"]'),
    ],
)
def test_a_label_is_as_plain_as_it_can_be(
    whole: str | None, parts: list[str | None], label: str | None
) -> None:
    assert state_label(whole, parts) == label


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("declare"), st.booleans()),
        st.tuples(st.just("complete"), st.integers(0, 3)),
        st.tuples(st.just("ask"), st.sets(st.integers(0, 3), min_size=1, max_size=3)),
    ),
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(steps=STEPS, pure=st.booleans())
def test_a_month_bears_what_its_rows_may_have_suffered(steps: list[tuple[str, object]], pure: bool) -> None:
    """Against a plain list of who was asked when.

    A row of v suffers all charges on v, and (where the budget is not pure) all on months that were open while
    a row could still have entered v instead.
    """
    with TemporaryDirectory() as folder, Ledger.create(Path(folder) / "a.ledger") as ledger:
        budget = Budget.pure(100) if pure else Budget.approximate(100, "1e-6")
        account = ledger.account("visits", budget=budget, protects=ROWS)
        account.declare_disjoint()
        done: list[set[str]] = []  # per month: the questions that its rows bear
        complete: list[bool] = []
        pool: set[str] = set()
        for number, (kind, what) in enumerate(steps):
            body = f"question {number}"
            if kind == "declare":
                account.declare_vintage(f"v{len(done)}", complete=bool(what))
                done.append(set(pool))
                complete.append(bool(what))
            elif kind == "complete" and isinstance(what, int) and what < len(done):
                account.complete_vintage(f"v{what}")
                complete[what] = True
            elif kind == "ask" and isinstance(what, set) and (chosen := [v for v in what if v < len(done)]):
                spends(account, body, *(f"v{each}" for each in chosen))
                asked_open = not pure and any(not complete[each] for each in chosen)
                for month, borne in enumerate(done):
                    if month in chosen or (asked_open and not complete[month]):
                        borne.add(body)
                if asked_open:
                    pool.add(body)
        with ledger._store.reading() as connection:
            kept = [spent_of(row) for row in all_balances(connection, 1)]
        assert kept == [TENTH.times(len(pool))] + [TENTH.times(len(borne)) for borne in done]
        ledger.verify()
