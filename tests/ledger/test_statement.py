"""A statement prints questions as words, and nothing that a terminal obeys."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow
import pytest

import dovetail as dv
from dovetail.ledger import Ledger
from dovetail.ledger.statement import Statement, StatementEntry
from dovetail.privacy import Charge
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked


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


def everything(place: Path) -> Ledger:
    """Return a ledger in which somebody was granted, asked, planned, and was given up."""
    ledger = Ledger.create(place)
    ledger.people.add("cat", "curator")
    account = ledger.account("visits", budget=dv.Budget.pure(1), protects="a row added or removed")
    ledger.account("other", budget=dv.Budget.pure(3))
    ledger.people.add("ann", by="cat")
    until = datetime(2999, 1, 2, 3, 4, 5, tzinfo=UTC)
    ledger.people.grant("ann", "visits", dv.Budget.pure("0.5"), expires=until, by="cat")
    account.declare_vintage("jan", complete=True)
    account.declare_vintage("feb")
    account.declare_disjoint(by="cat")
    first = account.reserve(asked("count", key="k", vintages=("jan",)))
    assert isinstance(first, Reservation)
    account.settle(first, "7")
    plan = account.about("jan").open_plan("design", TENTH, 3, "ann")
    account.reserve(asked("planned", Charge.zero(), plan=plan.id, vintages=("jan",)))
    account.reserve(asked("bob's", analyst="bob", vintages=("feb",)))
    ledger.set_budget("other", dv.Budget.pure(2))
    ledger.retire("other", by="cat")
    return ledger


def test_a_statement_lists_who_did_what_and_what_came_of_it(tmp_path: Path) -> None:
    with everything(tmp_path / "all.ledger") as ledger:
        whole = ledger.show()
        plan = next(each.sequence for each in whole.entries if each.what == "plan design")
        assert [(e.dataset, e.analyst, e.what, e.state) for e in whole.entries] == [
            ("", "", "curator added: cat", ""),
            ("visits", "", "created with epsilon at most 1 in the worst case", ""),
            ("other", "", "created with epsilon at most 3 in the worst case", ""),
            ("", "cat", "analyst added: ann", ""),
            ("visits", "cat", "grant to ann: epsilon at most 0.5 in the worst case", ""),
            ("visits", "", "vintage jan", ""),
            ("visits", "", "vintage feb", ""),
            ("visits", "cat", "vintages declared disjoint", ""),
            ("visits", "ann", "count", "answered (jan)"),
            ("visits", "ann", "plan design", "2 of 3 answers left (jan)"),
            ("visits", "ann", "planned", f"reserved, no answer (plan {plan}) (jan)"),
            ("", "", "analyst added: bob", ""),
            ("visits", "bob", "bob's", "reserved, no answer (feb)"),
            ("other", "", "budget: epsilon at most 2 in the worst case", ""),
            ("other", "cat", "retired", ""),
        ]
        assert [e.charge for e in whole.entries if e.charge is not None] == [TENTH] * 3
        about = ledger.show("other")
        assert [e.what for e in about.entries] == [
            "created with epsilon at most 3 in the worst case",
            "budget: epsilon at most 2 in the worst case",
            "retired",
        ]
        assert ([each.name for each in about.standings], about.shares) == (["other"], ())
        assert ledger.show(last=2).entries == whole.entries[-2:]
        mine = ledger.show(analyst="ann")
        assert [e.what for e in mine.entries] == ["count", "plan design", "planned"]
        assert mine.shares == whole.shares


def test_a_statement_prints_what_is_spent_and_what_remains(tmp_path: Path) -> None:
    with everything(tmp_path / "all.ledger") as ledger:
        lines = str(ledger.show()).split("\n")
        ledger.people.revoke_grant("ann", "visits")
        assert "ann may ask about visits: epsilon at most 0.5 in the worst case (revoked)" in str(
            ledger.show()
        )
    assert lines[:14] == [
        "visits: epsilon at most 1 in the worst case",
        "  spent    epsilon 0.2",
        "  remains  epsilon 0.8",
        "  protects a row added or removed",
        "  remains  epsilon 0.8 of jan",
        "  remains  epsilon 0.9 of feb",
        "other: epsilon at most 2 in the worst case (retired)",
        "  spent    epsilon 0",
        "  remains  epsilon 2",
        "ann may ask about visits: epsilon at most 0.5 in the worst case (until 2999-01-02T03:04)",
        "  spent    epsilon 0.2",
        "  remains  epsilon 0.3",
        "",
        lines[13],
    ]
    columns = [lines[13].index(word) for word in ("no.", "when", "who", "what", "state", "charge")]
    assert columns[0] == 0
    rows = [
        [line[start:end].strip() for start, end in zip(columns, [*columns[1:], None], strict=True)]
        for line in lines[14:]
    ]
    assert rows[8][2:] == ["ann", "count", "answered (jan)", "epsilon 0.1"]
    assert rows[0][2:] == ["", "curator added: cat", "", "-"]
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=int)
    assert all(len(row[1]) == len("2025-01-31T12:00:00") for row in rows)
    assert not any(line.endswith(" ") for line in lines)


def test_a_statement_of_nothing_is_its_heading() -> None:
    assert str(Statement((), ())).split() == ["no.", "when", "(UTC)", "who", "what", "state", "charge"]


@pytest.mark.parametrize(("letters", "shown"), [(60, 60), (61, 60), (200, 60)])
def test_a_long_question_is_cut_in_print(letters: int, shown: int) -> None:
    entry = StatementEntry(1, "2025-01-31T12:00:00", "visits", "ann", "x" * letters, "", None)
    printed = str(Statement((), (entry,))).split()
    (word,) = (each for each in printed if each.startswith("xx"))
    assert len(word) == shown
    assert word.endswith("…") == (letters > shown)
