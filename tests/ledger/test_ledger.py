"""What a curator does: name datasets, change budgets, read and export the record."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from dovetail.errors import BudgetExceeded, BudgetMismatch, InvalidParameter, LedgerCorrupt, LedgerError
from dovetail.ledger import DatasetAccount, ExPost, Ledger, SharedBudget
from dovetail.ledger.backup import back_up
from dovetail.ledger.chain import linked, origin
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked

SOURCE = "/data/visits.csv"


def test_a_new_dataset_needs_a_budget(ledger: Ledger) -> None:
    with pytest.raises(InvalidParameter, match="first opened"):
        ledger.account("visits")


def test_another_budget_is_a_mismatch_and_changes_nothing(ledger: Ledger, account: DatasetAccount) -> None:
    for other in (Budget.pure(2), Budget.approximate(1, "1e-6"), Budget.zeta(1, max_epsilon=1)):
        with pytest.raises(BudgetMismatch, match="set_budget"):
            ledger.account("visits", budget=other)
    assert account.budget == Budget.pure(1)
    assert ledger.account("visits", budget=Budget.pure("1.0")).budget == Budget.pure(1)


@pytest.mark.parametrize("created_with", [None, "a row replaced"])
def test_whoever_first_says_what_is_protected_settles_it(
    ledger: Ledger, location: str, created_with: str | None
) -> None:
    ledger.account("visits", budget=Budget.pure(1), protects=created_with)
    ledger.account("visits").reserve(asked("how many?"))
    ledger.account("visits", protects="a row replaced")
    with Ledger.open(location) as reopened:
        for book in (ledger, reopened):
            book.account("visits")
            book.account("visits", protects="a row replaced")
            with pytest.raises(BudgetMismatch, match="protects a row replaced, not a row added or removed"):
                book.account("visits", protects="a row added or removed")
            with pytest.raises(BudgetMismatch, match="protects a row replaced"):
                book.account("visits", source="/data/more.csv", protects="a person added")
            assert book.verify().sequence == 3 + (created_with is None)


def test_a_refused_budget_does_not_settle_what_is_protected(ledger: Ledger) -> None:
    ledger.account("visits", budget=Budget.pure(1))
    with pytest.raises(BudgetMismatch, match="at most 1 in the worst case, not epsilon at most 2"):
        ledger.account("visits", budget=Budget.pure(2), protects="a row replaced")
    ledger.account("visits", protects="a row added or removed")
    assert ledger.verify().sequence == 2


def test_a_second_name_for_a_source_warns_and_shares(ledger: Ledger, account: DatasetAccount) -> None:
    account.reserve(asked())
    with pytest.warns(SharedBudget, match="'visits'"):
        second = ledger.account("again", source=SOURCE)
    assert second.spent() == TENTH
    # Each time it is opened so, until it is opened by its first name or said to be meant.
    with pytest.warns(SharedBudget):
        ledger.account("again")
    assert ledger.account("again", share=True).spent() == TENTH
    with pytest.raises(BudgetMismatch):
        ledger.account("third", source=SOURCE, budget=Budget.pure(5))
    ledger.verify()


def test_the_curator_may_give_a_source_a_second_budget(ledger: Ledger, account: DatasetAccount) -> None:
    account.reserve(asked())
    apart = ledger.account("apart", source=SOURCE, budget=Budget.pure(2), share=False)
    assert apart.spent() == Charge.zero()
    assert apart.budget == Budget.pure(2)
    assert '"apart_from":[1]' in json.loads(ledger.export("json"))["events"][-2]["content"]
    ledger.verify()


def test_a_sharing_name_cannot_become_apart(ledger: Ledger, account: DatasetAccount) -> None:
    ledger.account("again", source=SOURCE, share=True)
    with pytest.raises(LedgerError, match="another name"):
        ledger.account("again", share=False)


def test_a_source_that_moved_keeps_its_budget_under_every_name(
    ledger: Ledger, account: DatasetAccount
) -> None:
    account.reserve(asked())
    assert ledger.account("visits", source="/moved/visits.csv").spent() == TENTH
    with pytest.warns(SharedBudget):
        assert ledger.account("new", source="/moved/visits.csv").spent() == TENTH


def test_a_budget_can_be_raised_before_the_first_answer_without_a_word(ledger: Ledger) -> None:
    account = ledger.account("visits", budget=Budget.pure(1))
    ledger.set_budget("visits", Budget.pure(3))
    assert account.budget == Budget.pure(3)
    assert ledger.show().entries[-1].state == ""


@pytest.mark.parametrize("limit", ["2", "0.5"])
def test_changing_a_limit_after_answers_is_said_to_be_ex_post(
    ledger: Ledger, account: DatasetAccount, limit: str
) -> None:
    account.reserve(asked())
    with pytest.warns(ExPost, match="ex post"):
        ledger.set_budget("visits", Budget.pure(limit))
    assert account.budget == Budget.pure(limit)
    assert ledger.show().entries[-1].state == "ex post"
    ledger.verify()


def test_a_budget_can_be_lowered_to_what_is_spent_and_no_further(
    ledger: Ledger, account: DatasetAccount
) -> None:
    account.reserve(asked())
    with pytest.raises(InvalidParameter, match="at least what is spent"):
        ledger.set_budget("visits", Budget.pure("0.099999999"))
    with pytest.warns(ExPost):
        ledger.set_budget("visits", Budget.pure("0.1"))
    with pytest.raises(BudgetExceeded):
        account.reserve(asked("more"))
    ledger.verify()


def test_a_dataset_that_is_not_there_is_named_with_those_that_are(
    ledger: Ledger, account: DatasetAccount
) -> None:
    with pytest.raises(InvalidParameter, match="It holds 'visits'"):
        ledger.set_budget("visit", Budget.pure(2))


def test_the_statement_says_who_asked_what_when_and_what_remains(
    ledger: Ledger, account: DatasetAccount
) -> None:
    made = account.reserve(asked("count of visits"))
    assert isinstance(made, Reservation)
    account.settle(made, "7")
    account.reserve(asked("interrupted"))
    plan = account.open_plan("design", TENTH, 5, "ann")
    account.reserve(asked("planned", plan=plan.id))
    shown = ledger.show("visits")
    assert shown.standings[0].spent == TENTH.times(3)
    text = str(shown)
    assert "visits: epsilon at most 1 in the worst case" in text
    assert "remains  epsilon 0.7" in text
    states = {entry.what: entry.state for entry in shown.entries}
    assert states["count of visits"] == "answered"
    assert states["interrupted"] == "reserved, no answer"
    assert states["plan design"] == "4 of 5 answers left"
    assert states["planned"] == f"reserved, no answer (plan {plan.id})"
    assert "ann" in text
    assert "epsilon 0.1" in text
    assert "zeta" not in text  # equal to epsilon here
    assert [entry.what for entry in ledger.show(last=1).entries] == ["planned"]


def test_the_json_export_carries_the_chain(ledger: Ledger, account: DatasetAccount) -> None:
    account.reserve(asked())
    export = json.loads(ledger.export("json"))
    assert export["schema"] == "dovetail.ledger/2"
    head = origin(export["identity"]).hash
    for event in export["events"]:
        fields = (event[name] for name in ("sequence", "at", "kind", "dataset", "content"))
        head = linked(head, *fields)
        assert head == event["hash"]
    assert export["head"] == f"{len(export['events'])}:{head}"


def test_the_csv_export_runs_no_formula(ledger: Ledger, account: DatasetAccount) -> None:
    account.reserve(asked("=HYPERLINK()", analyst="@SUM(A1)"))
    rows = list(csv.DictReader(io.StringIO(ledger.export("csv"))))
    assert rows[-1]["body"] == "'=HYPERLINK()"
    assert rows[-1]["analyst"] == "'@SUM(A1)"
    assert rows[-1]["epsilon"] == "0.1"
    with pytest.raises(InvalidParameter, match="'csv', 'json'"):
        ledger.export("xlsx")


def test_a_million_tiny_charges_sum_exactly(ledger: Ledger) -> None:
    """A hundred reservations of ten thousand smallest charges each: no fraction is lost on the way."""
    tiny = Charge.approximate("1e-9")
    account = ledger.account("visits", budget=Budget.pure("0.001"))
    many = Charge.zero()
    for _ in range(10_000):
        many += tiny
    for number in range(100):
        account.reserve(asked(f"{number}", many))
    assert account.spent().epsilon_units == 10**6
    with pytest.raises(BudgetExceeded):
        account.reserve(asked("one more", tiny))


def test_a_part_of_data_is_charged_where_the_whole_is(ledger: Ledger) -> None:
    ledger.account("whole", budget=Budget.pure(1), source="/data")
    ledger.account("other", budget=Budget.pure(1), source="/other.csv")
    with pytest.raises(BudgetMismatch, match="charged to the budget of 'whole', not to that of 'other'"):
        ledger.account("other", source="/data/jan.csv")
    assert ledger.account("whole", source="/data/jan.csv").name == "whole"
    with pytest.raises(BudgetMismatch, match="not to that of 'other'"):
        ledger.account("other", source="/data/jan.csv")


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.ledger").write_bytes(b"no database" * 100)
    with pytest.raises(LedgerCorrupt):
        back_up(tmp_path / "a.ledger", tmp_path / "copy.ledger")
    assert [each.name for each in tmp_path.iterdir()] == ["a.ledger"]
