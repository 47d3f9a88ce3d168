"""A statement prints questions as words, and nothing that a terminal obeys."""

from __future__ import annotations

from pathlib import Path

import pyarrow

import dovetail as dv
from dovetail.ledger import Ledger


def test_questions_and_plans_are_shown_in_words(tmp_path: Path) -> None:
    place, rows = tmp_path / "visits.ledger", pyarrow.table({"ward": ["a", "b"], "age": [1, 2]})
    with dv.Session(rows, name="visits", budget=dv.Budget.pure(1), ledger=place) as session:
        session.histogram("ward", keys=["a"], where="age >= 40", noise=dv.Geometric("0.1"))
        session.plan(dv.Geometric("0.01"), queries=3)
        session.count(where="ward = 'red: \x1b[31m'", noise=dv.Geometric("0.1"))
    with Ledger.open(place) as ledger:
        text = str(ledger.show())
    assert "count by ward where age >= 40" in text
    assert "plan of answers with PiecewiseGeometric(rates=('0.01',))" in text
    assert "{" not in text
    assert "\x1b" not in text


def test_an_entry_says_whom_and_what_it_is_about(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "visits.ledger") as ledger:
        account = ledger.account("visits", budget=dv.Budget.pure(1))
        for name in ("ann", "bob"):
            ledger.people.add(name)
        ledger.people.grant("ann", "visits", dv.Budget.pure("0.5"))
        ledger.people.revoke_grant("ann", "visits")
        ledger.people.revoke_key(ledger.people.make_key("ann").public)
        ledger.people.erase("bob")
        ledger.set_policy("visits", access="granted")
        account.declare_vintage("January")
        account.complete_vintage("January")
        account.set_version("corrected", vintage="January")
        said = [entry.what for entry in ledger.show().entries][4:]
    assert said == [
        "revoked grant of ann",
        "key of ann",
        "revoked key of ann",
        "erasure of analyst 3",
        "policy: answers shared, access granted",
        "vintage January",
        "complete January",
        "version January corrected",
    ]
