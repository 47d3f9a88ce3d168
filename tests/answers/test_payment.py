"""Noise that ends somewhere is refused by every way to release an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail as dv
from dovetail.errors import InvalidParameter

ENDING = dv.TruncatedGeometric("0.3", 10)


def test_truncated_noise_is_never_released(tmp_path: Path) -> None:
    budget = dv.Budget.approximate(10, "1e-2")
    with dv.Session(dv.datasets.adult(), budget=budget, ledger=tmp_path / "a.ledger") as session:
        before = session.remaining
        for refused in (ENDING, dv.TruncatedLaplace(1, 5)):
            with pytest.raises(InvalidParameter):
                session.count(noise=refused)
            with pytest.raises(InvalidParameter):
                session.plan(refused, queries=2)
            with pytest.raises(InvalidParameter):
                session.price(dv.Count(), noise=refused)
        with pytest.raises(InvalidParameter, match="reaches every integer"):
            session.histogram("sex", noise=ENDING)
        assert session.remaining == before


def test_a_discrete_gaussian_is_released_under_a_budget_with_delta_only(tmp_path: Path) -> None:
    budget = dv.Budget.approximate(1, "1e-6")
    with dv.Session(dv.datasets.adult(), budget=budget, ledger=tmp_path / "a.ledger") as session:
        answer = session.count(noise=dv.DiscreteGaussian(40))
        assert answer.charge.epsilon is None
        assert abs(answer.value - 32_561) < 1000
    pure = dv.Budget.pure(1)
    with (
        dv.Session(dv.datasets.adult(), budget=pure, ledger=tmp_path / "b.ledger") as session,
        pytest.raises(dv.BudgetExceeded),
    ):
        session.count(noise=dv.DiscreteGaussian(40))
