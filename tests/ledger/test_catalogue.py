"""What a service asks of a ledger: descriptions, an analyst's own standing, keys that work once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dovetail.errors import AccessRefused, BudgetExceeded, InvalidParameter
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger.create(tmp_path / "a.ledger")
    made.account("visits", budget=Budget.pure(1))
    made.set_policy("visits", answers="own", access="granted")
    for name in ("ann", "bob"):
        made.people.add(name)
        made.people.grant(name, "visits", Budget.pure("0.5"))
    return made


def test_a_description_is_an_event_that_verifies(ledger: Ledger) -> None:
    before = ledger.catalogue.changed
    ledger.catalogue.describe("visits", {"title": "Visits"}, by="ann")
    ledger.catalogue.describe("visits", {"title": "Visits of 2025", "public": True})
    (entry,) = ledger.catalogue.entries()
    assert entry.said == {"title": "Visits of 2025", "public": True}
    assert (entry.name, entry.answers, entry.access, entry.retired) == ("visits", "own", "granted", False)
    assert ledger.catalogue.changed > before
    assert ledger.verify() == ledger.head


def test_an_amendment_keeps_what_others_said_meanwhile(ledger: Ledger) -> None:
    ledger.catalogue.describe("visits", {"title": "Visits"})
    with Ledger.open(ledger.place) as elsewhere:
        elsewhere.catalogue.amend("visits", lambda said: {**said, "places": {"May": "may.csv"}})
        ledger.catalogue.amend("visits", lambda said: {**said, "title": "All visits"}, by="ann")
        assert elsewhere.catalogue.entry("visits").said == {
            "title": "All visits",
            "places": {"May": "may.csv"},
        }


def test_a_vintage_and_its_place_are_recorded_together_or_not_at_all(ledger: Ledger) -> None:
    ledger.catalogue.declare_vintage("visits", "May", lambda said: {**said, "May": "may.csv"}, by="ann")
    head = ledger.head
    with pytest.raises(InvalidParameter, match="does not have yet"):
        ledger.catalogue.declare_vintage("visits", "May", lambda said: {**said, "May": "other.csv"})
    assert ledger.head == head
    assert ledger.catalogue.entry("visits").said == {"May": "may.csv"}
    assert [each.label for each in ledger.catalogue.account("visits").vintages()] == ["May"]
    ledger.verify()


def test_an_analyst_sees_the_allotment_and_not_what_others_spent(ledger: Ledger) -> None:
    whole = ledger.catalogue.account("visits")
    made = whole.reserve(asked("count", TENTH, analyst="bob"))
    assert isinstance(made, Reservation)
    seen = ledger.catalogue.account("visits", "ann").standing()
    assert seen.budget == Budget.pure("0.5")
    assert seen.remaining is not None
    assert seen.remaining.epsilon == Fraction(1, 2)
    assert ledger.catalogue.account("visits", "bob").standing().remaining.epsilon == Fraction(2, 5)  # type: ignore[union-attr]
    with pytest.raises(AccessRefused):
        ledger.catalogue.account("visits", "eve").standing()


def test_a_refusal_by_the_cap_tells_nothing_of_what_is_left(ledger: Ledger) -> None:
    for name in ("ann", "bob"):
        ledger.people.grant(name, "visits", Budget.pure("0.9"))
    account = ledger.catalogue.account("visits", "ann")
    account.reserve(asked("first", TENTH.times(8), analyst="bob"))
    with pytest.raises(BudgetExceeded) as refused:
        account.reserve(asked("second", TENTH.times(3), analyst="ann"))
    assert refused.value.remaining is None
    assert "0.2" not in str(refused.value)


def test_a_code_lets_one_in(ledger: Ledger) -> None:
    code = ledger.people.make_key("ann").text
    assert code is not None
    assert ledger.people.use_up(code).name == "ann"
    with pytest.raises(AccessRefused):
        ledger.people.use_up(code)


def test_a_key_is_held_until_it_is_revoked(ledger: Ledger) -> None:
    key = ledger.people.make_key("ann")
    holder, held = ledger.people.holder(key.public)
    assert (holder.name, held.text) == ("ann", None)
    ledger.people.revoke_key(key.public)
    with pytest.raises(AccessRefused):
        ledger.people.holder(key.public)


def test_people_and_questions_are_found_by_what_outsiders_see(ledger: Ledger) -> None:
    ann = next(each for each in ledger.people.all() if each.name == "ann")
    assert ledger.people.known_as(ann.public) == ann
    with pytest.raises(InvalidParameter):
        ledger.people.known_as("nobody")
    made = ledger.catalogue.account("visits", "ann").reserve(asked("count", TENTH, key="k"))
    assert isinstance(made, Reservation)
    found = ledger.people.asked_under("ann", "visits", "k")
    assert found is not None
    assert (found.public, found.state, found.charge) == (made.public, "reserved", TENTH)
    assert ledger.people.asked_under("bob", "visits", "k") is None


def test_a_raise_keeps_its_reason(ledger: Ledger) -> None:
    ledger.set_budget("visits", Budget.pure(2), reason="a second study")
    assert "a second study" in ledger.export("json")
    assert ledger.verify() == ledger.head
