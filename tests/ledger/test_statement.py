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
