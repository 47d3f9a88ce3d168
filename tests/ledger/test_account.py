"""The life of a query, on both stores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from dovetail.errors import BudgetExceeded, InvalidParameter, LedgerBusy, LedgerError, RequestConflict
from dovetail.errors.remedies import AskForLess
from dovetail.ledger import DatasetAccount, Ledger, chain
from dovetail.ledger import account as accounts
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Account, Reservation, StoredAnswer
from ledger_cases import TENTH, asked


def test_a_dataset_account_is_an_account(account: DatasetAccount) -> None:
    keeps: Account = account
    assert keeps.budget == Budget.pure(1)


def test_a_reservation_is_spent_before_it_is_answered(account: DatasetAccount) -> None:
    assert isinstance(account.reserve(asked()), Reservation)
    assert account.spent() == TENTH
    assert str(account.remaining()) == "epsilon 0.9"


def test_what_does_not_fit_is_refused_and_spends_nothing(account: DatasetAccount, ledger: Ledger) -> None:
    for number in range(10):
        account.reserve(asked(f"count {number}"))
    before = ledger.head
    with pytest.raises(BudgetExceeded) as refused:
        account.reserve(asked("one more"))
    assert refused.value.requested == TENTH
    assert refused.value.remaining.epsilon == 0
    assert account.spent() == TENTH.times(10)
    assert ledger.head == before
    ledger.verify()


def test_an_identical_question_gets_the_stored_answer_free(account: DatasetAccount) -> None:
    reservation = account.reserve(asked())
    assert isinstance(reservation, Reservation)
    at = account.settle(reservation, '{"value": 7}')
    again = account.reserve(asked(analyst="bob"))
    assert again == StoredAnswer("count", '{"value": 7}', at, versioned=False)
    assert account.spent() == TENTH


def test_fresh_pays_again_and_is_what_later_askers_get(account: DatasetAccount) -> None:
    for value in ("1", "2"):
        reservation = account.reserve(asked(fresh=True))
        assert isinstance(reservation, Reservation)
        account.settle(reservation, value)
    assert account.spent() == TENTH + TENTH
    stored = account.reserve(asked())
    assert isinstance(stored, StoredAnswer)
    assert stored.answer == "2"


def test_a_retry_returns_the_stored_answer_even_when_it_says_fresh(account: DatasetAccount) -> None:
    reservation = account.reserve(asked(key="k", fresh=True))
    assert isinstance(reservation, Reservation)
    account.settle(reservation, "5")
    stored = account.reserve(asked(key="k", fresh=True))
    assert isinstance(stored, StoredAnswer)
    assert stored.answer == "5"
    assert account.spent() == TENTH


def test_a_retry_of_an_unanswered_request_is_told_to_wait(account: DatasetAccount) -> None:
    account.reserve(asked(key="k"))
    with pytest.raises(LedgerBusy, match="not answered yet"):
        account.reserve(asked(key="k"))
    assert account.spent() == TENTH


def test_one_key_for_two_questions_is_a_conflict(account: DatasetAccount) -> None:
    account.reserve(asked("count", key="k"))
    with pytest.raises(RequestConflict, match="another question"):
        account.reserve(asked("sum", key="k"))


def test_keys_of_two_analysts_do_not_meet(account: DatasetAccount) -> None:
    account.reserve(asked("count", key="k"))
    assert isinstance(account.reserve(asked("sum", key="k", analyst="bob")), Reservation)


def test_a_failed_request_stays_charged_and_its_key_stays_used(account: DatasetAccount) -> None:
    reservation = account.reserve(asked(key="k"))
    assert isinstance(reservation, Reservation)
    account.fail(reservation, "the table was dropped")
    assert account.spent() == TENTH
    with pytest.raises(LedgerError, match="new key"):
        account.reserve(asked(key="k"))
    # The question itself may be asked again: it pays again.
    assert isinstance(account.reserve(asked()), Reservation)
    assert account.spent() == TENTH + TENTH


def test_a_reservation_is_closed_once(account: DatasetAccount) -> None:
    reservation = account.reserve(asked())
    assert isinstance(reservation, Reservation)
    account.settle(reservation, "1")
    for close in (lambda: account.settle(reservation, "2"), lambda: account.fail(reservation, "late")):
        with pytest.raises(LedgerError, match="not open"):
            close()
    stored = account.reserve(asked())
    assert isinstance(stored, StoredAnswer)
    assert stored.answer == "1"


def test_no_reservation_of_another_dataset_can_be_settled(ledger: Ledger, account: DatasetAccount) -> None:
    other = ledger.account("other", budget=Budget.pure(1))
    reservation = other.reserve(asked())
    assert isinstance(reservation, Reservation)
    with pytest.raises(LedgerError, match="not open"):
        account.settle(reservation, "1")


def test_concurrent_retries_never_both_run(account: DatasetAccount) -> None:
    def attempt(_: int) -> str:
        try:
            return type(account.reserve(asked(key="k"))).__name__
        except LedgerBusy:
            return "busy"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(16)))
    assert outcomes.count("Reservation") == 1
    assert outcomes.count("busy") == 15
    assert account.spent() == TENTH


def test_a_plan_is_paid_once_and_gives_its_answers_free(account: DatasetAccount, ledger: Ledger) -> None:
    plan = account.open_plan("design", Charge.approximate("0.5"), 3, "ann")
    for number in range(3):
        assert isinstance(account.reserve(asked(f"count {number}", plan=plan.id)), Reservation)
    with pytest.raises(BudgetExceeded, match="All 3 answers"):
        account.reserve(asked("count 3", plan=plan.id))
    assert account.spent() == Charge.approximate("0.5")
    (kept,) = account.plans()
    assert (kept.left, kept.slots, kept.body, kept.charge) == (0, 3, "design", plan.charge)
    ledger.verify()


def test_a_stored_answer_takes_no_slot(account: DatasetAccount) -> None:
    plan = account.open_plan("design", TENTH, 2, "ann")
    reservation = account.reserve(asked(plan=plan.id))
    assert isinstance(reservation, Reservation)
    account.settle(reservation, "1")
    assert isinstance(account.reserve(asked(plan=plan.id)), StoredAnswer)
    assert account.plans()[0].left == 1


def test_slots_are_taken_atomically(account: DatasetAccount) -> None:
    plan = account.open_plan("design", TENTH, 10, "ann")

    def attempt(number: int) -> bool:
        try:
            return isinstance(account.reserve(asked(f"count {number}", plan=plan.id)), Reservation)
        except BudgetExceeded:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(24))) == 10
    assert account.plans()[0].left == 0


def test_a_plan_of_another_dataset_does_not_pay(ledger: Ledger, account: DatasetAccount) -> None:
    other = ledger.account("other", budget=Budget.pure(1)).open_plan("design", TENTH, 3, "ann")
    with pytest.raises(InvalidParameter, match="plan"):
        account.reserve(asked(plan=other.id))


def test_a_plan_that_does_not_fit_is_refused(account: DatasetAccount) -> None:
    with pytest.raises(BudgetExceeded):
        account.open_plan("design", Charge.approximate(2), 3, "ann")
    assert account.plans() == []
    assert account.spent() == Charge.zero()


def test_a_charge_without_bound_is_kept_as_such(ledger: Ledger) -> None:
    account = ledger.account("visits", budget=Budget.approximate(1, "1e-6"))
    gaussian = Charge(None, 10, (1000,) * len(Charge.zero().renyi_units), 0)
    account.reserve(asked(charge=gaussian))
    assert account.spent() == gaussian
    ledger.verify()
    pure = ledger.account("other", budget=Budget.pure(1))
    with pytest.raises(BudgetExceeded, match=r"without bound.* can never pay") as refused:
        pure.reserve(asked(charge=gaussian))
    assert not any(isinstance(each, AskForLess) for each in refused.value.remedies)


def test_the_smallest_delta_adds_up(ledger: Ledger) -> None:
    account = ledger.account("visits", budget=Budget.approximate(1, "1e-17"))
    tiny = Charge.approximate("1e-9", "1e-18")
    for _ in range(5):
        account.reserve(asked(charge=tiny, fresh=True))
    assert account.spent() == tiny.times(5)
    with pytest.raises(BudgetExceeded):
        account.reserve(asked(charge=tiny, fresh=True))


def test_a_sum_beyond_64_bits_is_refused_not_wrapped(ledger: Ledger) -> None:
    account = ledger.account("visits", budget=Budget.approximate(1, "1e-6"))
    huge = Charge(2**62, 0, (0,) * len(Charge.zero().renyi_units), 0)
    account.reserve(asked(charge=huge))
    with pytest.raises(LedgerError, match="2\\^63"):
        account.reserve(asked(charge=huge, fresh=True))
    assert account.spent() == huge
    ledger.verify()


def test_a_clock_set_back_changes_no_order(
    account: DatasetAccount, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for days in (0, -400, 3):
        monkeypatch.setattr(chain, "now", lambda days=days: datetime.now(UTC) + timedelta(days=days))
        reservation = account.reserve(asked(fresh=True))
        assert isinstance(reservation, Reservation)
        account.settle(reservation, str(days))
    stored = account.reserve(asked())
    assert isinstance(stored, StoredAnswer)
    assert stored.answer == "3"
    assert account.spent() == TENTH.times(3)
    ledger.verify()


@pytest.mark.parametrize("bad", ["", "a\x00b", "line\nbreak", "\ud800", "x" * 1001, 7, None])
def test_analysts_and_keys_are_plain_text(account: DatasetAccount, bad: object) -> None:
    with pytest.raises(InvalidParameter, match="printable"):
        account.reserve(asked(analyst=bad))
    if bad is not None:
        with pytest.raises(InvalidParameter, match="printable"):
            account.reserve(asked(key=bad))
    assert account.spent() == Charge.zero()


def test_any_text_can_be_a_question_and_an_answer(account: DatasetAccount, ledger: Ledger) -> None:
    odd = "nul \x00, lone \ud800, quote ', snowman \u2603"
    reservation = account.reserve(asked(odd))
    assert isinstance(reservation, Reservation)
    account.settle(reservation, odd)
    stored = account.reserve(asked(odd))
    assert isinstance(stored, StoredAnswer)
    assert stored.answer == odd
    ledger.verify()


def test_the_secret_is_fixed_and_never_leaves(account: DatasetAccount, ledger: Ledger) -> None:
    secret = account.secret
    assert len(secret) == 32
    assert ledger.account("visits").secret == secret
    assert ledger.account("other", budget=Budget.pure(1)).secret != secret
    for kind in ("csv", "json"):
        assert secret.hex() not in ledger.export(kind)


def test_a_tick_is_waited_for_and_one_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(accounts, "sleep", waited.append)
    for now in (100.0, 101.5, 102.0, 105.0):
        monkeypatch.setattr(accounts, "monotonic", lambda now=now: now)
        accounts.wait_for_tick(100.0, 2.0)
    assert waited == [2.0, 0.5, 2.0, 1.0]


def test_whatever_becomes_of_a_paced_reservation_is_recorded_at_its_tick(
    account: DatasetAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[tuple[float, float]] = []
    monkeypatch.setattr(accounts, "wait_for_tick", lambda begun, tick: waited.append((begun, tick)))
    paced = account.paced(2.5)
    begun = []
    for number in range(3):
        made = paced.reserve(asked(f"count {number}"))
        assert isinstance(made, Reservation)
        begun.append((made.begun, 2.5))
        if number == 0:
            paced.settle(made, "7")
        elif number == 1:
            paced.fail(made, "no rows")
        else:
            paced.settle_with_standing(made, "8")
    assert waited == begun
    assert account.paced(None) is account
    made = account.reserve(asked("more"))
    assert isinstance(made, Reservation)
    account.settle(made, "9")
    assert len(waited) == 3


def test_what_was_interrupted_is_closed_as_such_and_stays_charged(
    account: DatasetAccount, ledger: Ledger
) -> None:
    account.reserve(asked("first", public="a" * 32))
    account.reserve(asked("second", public="b" * 32))
    account.abandon("a" * 32)
    account.abandon("c" * 32)
    account.abandon("a" * 32)
    assert [entry.state for entry in ledger.show().entries if entry.charge] == [
        "failed",
        "reserved, no answer",
    ]
    assert "stopped on the way" in ledger.export("json")
    assert account.spent() == TENTH + TENTH
    ledger.verify()


def test_names_and_keys_that_no_record_could_hold_are_refused_by_what_they_are(
    account: DatasetAccount, ledger: Ledger
) -> None:
    head = ledger.head
    for wrong, parameter in (({"analyst": "a\x01"}, "analyst"), ({"key": "a\x01"}, "request")):
        with pytest.raises(InvalidParameter) as refused:
            account.reserve(asked(**wrong))
        assert refused.value.parameter == parameter
    assert ledger.head == head
