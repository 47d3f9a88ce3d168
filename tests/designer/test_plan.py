"""A designed noise as a plan: exactly as many adaptive queries as it was designed for."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail as dv
from dovetail.errors import BudgetExceeded


@pytest.mark.parametrize("queries", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_plan_gives_exactly_the_designed_number_of_adaptive_queries(tmp_path: Path, queries: int) -> None:
    chosen = dv.design(epsilon=1, delta="1e-6", queries=queries)
    budget = dv.Budget.approximate(1, "1e-6")
    with dv.Session(dv.datasets.adult(), budget=budget, ledger=tmp_path / "a.ledger") as session:
        plan = session.plan(chosen, queries=queries)
        assert plan.noise == chosen.noise
        age = 0
        for _ in range(queries):
            # Each question depends on the answer before it; a repeated one would be free, so ask anew.
            answer = session.count(where=f"age > {age % 97}", plan=plan, fresh=True)
            age += 1 + abs(int(answer.value)) % 13
        with pytest.raises(BudgetExceeded):
            session.count(where="age > 3", plan=plan, fresh=True)
        assert session.remaining.epsilon < 1
    assert chosen.total.delta(1) <= 1e-6


def test_one_more_query_at_the_same_noise_would_not_fit(tmp_path: Path) -> None:
    chosen = dv.design(epsilon=1, delta="1e-6", queries=10)
    budget = dv.Budget.approximate(1, "1e-6")
    with dv.Session(dv.datasets.adult(), budget=budget, ledger=tmp_path / "a.ledger") as session:
        with pytest.raises(BudgetExceeded):
            session.plan(chosen, queries=11)
        session.plan(chosen, queries=10)
