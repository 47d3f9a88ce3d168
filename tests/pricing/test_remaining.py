"""What a refusal says of the rest of a budget is true: the next question at that accuracy is answered."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.noise import Geometric
from dovetail.pricing.calibration import error_of_rest
from dovetail.privacy import Charge

PEOPLE = pyarrow.table({"age": [20, 30, 40], "sex": ["F", "M", "F"], "id": ["a", "b", "b"]})
PERSONS = {"unit": "id", "max_rows": 3, "max_cells": 2}
QUESTIONS = {
    "count": dv.Count(),
    "histogram": dv.Histogram("sex", keys=["F", "M"]),
    "sum": dv.Sum("age", 0, 100, "0.5"),
}
BUDGETS = [
    dv.Budget.pure(1),
    dv.Budget.approximate(1, "1e-6"),
    dv.Budget.zeta("0.5", max_epsilon=2),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "approximate", "zeta"])
@pytest.mark.parametrize("query", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("persons", [{"protects": "rows"}, PERSONS], ids=["rows", "persons"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_accuracy_that_a_refusal_offers_can_be_had(
    tmp_path: Path, budget: dv.Budget, query: Any, persons: dict[str, Any], neighbours: Any
) -> None:
    options = {"name": "people", "budget": budget, "neighbours": neighbours, **persons}
    with dv.Session(PEOPLE, ledger=tmp_path / "a.ledger", **options) as session:
        session.count(noise=dv.Geometric("0.05"))
        with pytest.raises(dv.BudgetExceeded) as refused:
            session.batch([query], noise=dv.Geometric(3))
        offered = re.search(r"pays for ±([0-9.]+) with probability 95 %\.$", str(refused.value))
        assert offered, refused.value
        assert refused.value.remaining == session.remaining
        left = session.remaining
        spend = dv.Budget.pure(left.epsilon)
        if left.zeta is not None:
            spend = dv.Budget.zeta(left.zeta, max_epsilon=left.epsilon)
        answer = session.batch([query], spend=spend)[0]
        bar = answer.bars()[0]
        best = Fraction(bar.high - bar.low) / 2
        # Of the rest three digits count, so that the offer is at most a hundredth above the best.
        assert best <= Fraction(offered[1]) <= best * Fraction(101, 100) + 1


def test_nothing_is_offered_where_nothing_is_known_or_left(tmp_path: Path) -> None:
    options = {"name": "people", "budget": dv.Budget.pure(1), "ledger": tmp_path / "a.ledger"}
    with dv.Session(PEOPLE, protects="rows", **options) as session:
        for queries in ([dv.Mean("age", 0, 100, 1)], [dv.Count(), dv.Count("age > 20")]):
            with pytest.raises(dv.BudgetExceeded) as refused:
                session.batch(queries, noise=dv.Geometric(3))
            assert "pays for" not in str(refused.value)
        session.count(spend=dv.Budget.pure(1))
        with pytest.raises(dv.BudgetExceeded) as refused:
            session.count(where="age > 20", noise=dv.Geometric(1))
        assert "pays for" not in str(refused.value)


@pytest.mark.parametrize("spent", ["0.876544", "0.00017", "0.9999"])
def test_a_rest_of_many_digits_buys_what_is_said(spent: str) -> None:
    """Rounded down to three digits it can be paid; rounded up it could not, and nothing would be offered."""
    budget, before = dv.Budget.pure(1), Charge.approximate(spent)
    question = dv.Count().checked(dv.Schema([dv.Column("x", "integer")]).table())
    error = error_of_rest(question, budget, before, "add-remove", Fraction(19, 20))
    rest = 1 - Fraction(spent)
    assert error is not None
    assert (
        Geometric(rest).error_bound("0.05")
        <= error
        <= Geometric(rest * Fraction(99, 100)).error_bound("0.05")
    )
