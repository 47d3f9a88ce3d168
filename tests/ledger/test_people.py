"""Principals, keys and names: who may ask, and what is forgotten of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from dovetail.errors import AccessRefused, DovetailError, InvalidParameter
from dovetail.ledger import DatasetAccount, Ledger
from dovetail.privacy import Budget
from ledger_cases import TENTH, asked


@pytest.mark.parametrize("identifier", ["\0", "5f\0", "\n", ""])
def test_what_no_store_can_hold_is_unknown(ledger: Ledger, identifier: str) -> None:
    """PostgreSQL fails on such a letter, and whoever asked was told that the ledger is out of reach."""
    ledger.people.add("ann")
    for look in (
        lambda: ledger.people.known_as(identifier),
        lambda: ledger.people.answer("ann", identifier),
        lambda: ledger.people.asked("ann", before=identifier),
        lambda: ledger.people.revoke_key(identifier),
    ):
        with pytest.raises(InvalidParameter):
            look()


def test_the_record_knows_numbers_and_an_erased_name_is_nowhere(
    ledger: Ledger, account: DatasetAccount, location: str
) -> None:
    name = "Ann-Kathrin Unverwechselbar"
    ledger.people.add(name, address="ann@example.org")
    key = ledger.people.make_key(name)
    account.reserve(asked(analyst=name))
    for event in json.loads(ledger.export("json"))["events"]:
        assert name not in event["content"]
    assert name in str(ledger.show())
    ledger.people.erase(name)
    shown = str(ledger.show())
    assert name not in shown
    assert "analyst 3" in shown
    with pytest.raises(AccessRefused):
        ledger.people.whose(key.text)
    ledger.verify()
    Ledger.open(location).close()
    assert account.spent() == TENTH
    # Who comes back under that name is somebody new to the ledger.
    assert ledger.people.add(name).id != 3


def test_who_did_it_is_in_the_record(ledger: Ledger, account: DatasetAccount) -> None:
    ann = ledger.people.add("ann", "curator")
    ledger.people.add("bob", by="ann")
    ledger.people.grant("bob", "visits", Budget.pure("0.5"), by="ann")
    key = ledger.people.make_key("bob", by="ann")
    ledger.people.revoke_key(key.public, by="ann")
    ledger.people.revoke_grant("bob", "visits", by="ann")
    ledger.set_policy("visits", answers="own", by="ann")
    ledger.set_budget("visits", Budget.pure(2), by="ann")
    events = json.loads(ledger.export("json"))["events"]
    done = [event["kind"] for event in events if json.loads(event["content"]).get("by") == ann.id]
    assert done == ["principal", "grant", "key", "revoked key", "revoked grant", "policy", "budget"]
    ledger.verify()


@pytest.mark.parametrize("bad", ["", "a\x00b", "line\nbreak", "\ud800", "x" * 1001, 7, None])
def test_hostile_names_are_refused_in_one_form(ledger: Ledger, bad: object) -> None:
    head = ledger.head
    for use in (
        lambda: ledger.people.add(bad),  # type: ignore[arg-type]
        lambda: ledger.people.add("ann", address=bad) if bad is not None else ledger.people.add(bad),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter, match="printable"):
            use()
    with pytest.raises(InvalidParameter, match="role"):
        ledger.people.add("ann", "boss")
    assert ledger.head == head


def test_odd_but_honest_names_are_kept(ledger: Ledger) -> None:
    for name in ("<script>alert(1)</script>", "'; DROP TABLE dovetail_people; --", "=SUM(A1)", "Zoë"):
        ledger.people.add(name)
        assert ledger.people.whose(ledger.people.make_key(name).text).name == name
    with pytest.raises(InvalidParameter, match="nobody"):
        ledger.people.add("Zoe\u0308")  # looks the same, is the same
    ledger.verify()


def test_ones_own_questions_are_found_by_random_identifiers(ledger: Ledger, account: DatasetAccount) -> None:
    for number in range(5):
        made = account.reserve(asked(f"count {number}", analyst="ann" if number % 2 else "bob"))
        account.settle(made, f"noised {number}")  # type: ignore[arg-type]
    mine = ledger.people.asked("ann")
    assert [each.body for each in mine] == ["count 3", "count 1"]
    assert (mine[0].answer, mine[0].dataset, mine[0].state) == ("noised 3", "visits", "answered")
    assert len({each.public for each in mine} | {each.public for each in ledger.people.asked("bob")}) == 5
    assert ledger.people.asked("ann", before=mine[0].public) == mine[1:]
    assert ledger.people.answer("ann", mine[0].public) == mine[0]
    said = set()
    for unknown in (ledger.people.asked("bob")[0].public, "0" * 32):
        with pytest.raises(DovetailError) as refused:
            ledger.people.answer("ann", unknown)
        said.add(str(refused.value).replace(unknown, ""))
    assert len(said) == 1


def test_keys_and_grants_are_listed_of_one_or_of_all(ledger: Ledger, account: DatasetAccount) -> None:
    ledger.account("other", budget=Budget.pure(1))
    until = datetime.now(UTC) + timedelta(days=1)
    for name in ("ann", "bob"):
        ledger.people.add(name)
        ledger.people.make_key(name, expires=until if name == "ann" else None)
        for dataset in ("visits", "other"):
            ledger.people.grant(name, dataset, Budget.pure("0.5"), expires=until if name == "bob" else None)
    ledger.people.revoke_grant("bob", "other")
    (of_ann,), all_keys = ledger.people.keys("ann"), ledger.people.keys()
    assert [each.expires for each in all_keys] == [until, None]
    assert all_keys[0] == of_ann
    visits, other = (ledger.catalogue.number(name) for name in ("visits", "other"))
    ann, bob = (each.id for each in ledger.people.all())
    listed = [(each.principal, each.dataset, each.revoked) for each in ledger.people.grants()]
    assert listed == [(ann, visits, False), (ann, other, False), (bob, visits, False), (bob, other, True)]
    assert [each.dataset for each in ledger.people.grants("bob")] == [visits, other]
    assert [each.principal for each in ledger.people.grants(dataset="other")] == [ann, bob]
    assert [each.expires for each in ledger.people.grants("bob", "visits")] == [until.isoformat()]
    assert [ledger.people.granted(number) for number in (ann, bob)] == [{visits, other}, {visits}]
