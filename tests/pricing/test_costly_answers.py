"""A price that nobody typed is not paid by accident."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dovetail as dv
from dovetail.errors import CostlyAnswer
from dovetail.noise import DiscreteGaussian, Geometric
from dovetail.pricing.costly_answers import _price, check_costly
from dovetail.privacy import Remaining


def opened(folder: Path, budget: dv.Budget) -> dv.Session:
    return dv.Session(dv.datasets.adult(), budget=budget, ledger=folder / "a.ledger")


@pytest.mark.parametrize(
    ("limit", "pay", "refused"),
    [
        (100, {"within": 1, "probability": "0.99"}, False),  # epsilon 2.7
        (100, {"within": 1, "probability": "0.99999"}, True),  # epsilon 6.1
        (2, {"within": 2}, True),  # 1.14, more than half of 2
        ("2.4", {"within": 2}, False),
        ("0.6", {"within": 5}, False),  # 0.54, nearly all that remains, but below 1
        (1, {"within": 2}, False),  # cannot be paid at all: that is said instead
    ],
)
def test_what_costs_much_is_refused(tmp_path: Path, limit: Any, pay: dict[str, Any], refused: bool) -> None:
    with opened(tmp_path, dv.Budget.pure(limit)) as session:
        price = session.price(dv.Count(), **pay)
        assert price.epsilon is not None
        fits = price.epsilon <= dv.Budget.pure(limit).epsilon_limit
        if refused:
            with pytest.raises(CostlyAnswer) as caught:
                session.count(**pay)
            assert f"spend=Budget.pure({price.epsilon:f})" in str(caught.value)
            assert "Epsilon 1 would buy ±" in str(caught.value)
            assert not (tmp_path / "a.ledger").exists()
        elif fits:
            assert session.count(**pay).charge == price
        else:
            with pytest.raises(dv.BudgetExceeded):
                session.count(**pay)


def test_what_was_typed_or_looked_at_is_never_asked_about(tmp_path: Path) -> None:
    with opened(tmp_path, dv.Budget.pure(100)) as session:
        with pytest.raises(CostlyAnswer) as caught:
            session.count(within=1, probability="0.99999")
        remedy = next(each for each in caught.value.remedies if hasattr(each, "epsilon"))
        # The price that was named pays for at least the accuracy that was asked for.
        paid = session.count(spend=dv.Budget.pure(remedy.epsilon))
        assert paid.noise.quantile_abs(0.99999) <= 1
        session.count(where="age > 30", noise=Geometric(9))
        quote = session.quote(dv.Count("age > 40"), within=1, probability="0.99999")
        assert session.answer(quote)[0].charge == quote.charge
        # Asked again it is free, so there is nothing to refuse.
        assert session.count(where="age > 40", within=1, probability="0.99999").stored


def test_a_select_and_a_batch_are_asked_about_too(tmp_path: Path) -> None:
    text = "SELECT COUNT(*) AS n FROM adult"
    with opened(tmp_path, dv.Budget.approximate(100, "1e-6")) as session:
        with pytest.raises(CostlyAnswer, match="Epsilon 1 would buy"):
            session.sql(text, within=1, probability="0.99999")
        with pytest.raises(CostlyAnswer) as caught:
            session.batch([dv.Count(), dv.Count("age > 3")], within=1, probability="0.9999")
        assert "Epsilon 1 would buy" not in str(caught.value)
        quote = session.quote(text, within=1, probability="0.99999")
        assert session.lay_out(text, session.answer(quote)).value == pytest.approx(32561, abs=20)


def test_the_price_of_answers_that_are_planned_together_is_asked_about(tmp_path: Path) -> None:
    with opened(tmp_path, dv.Budget.pure(100)) as session:
        pay: dict[str, Any] = {"within": 5, "queries": 20}
        with pytest.raises(CostlyAnswer, match="for 20 answers together") as caught:
            session.count(**pay)
        # An equal share of epsilon 1: geometric noise of 1/20.
        assert f"would buy ±{Geometric('0.05').quantile_abs(0.95)} with" in str(caught.value)
        assert not (tmp_path / "a.ledger").exists()
        quote = session.quote(dv.Count(), **pay)
        session.answer(quote)
        # The plan is open: its other answers cost nothing more.
        assert session.count(where="age > 30", **pay).paid_by is not None


@pytest.mark.parametrize(
    ("before", "after", "price"), [("3", "2.5", "0.5"), (None, "2.5", "0"), ("3", None, "0")]
)
def test_what_has_no_worst_case_costs_what_less_remains(
    before: str | None, after: str | None, price: str
) -> None:
    left = [None if each is None else Remaining.exactly(Fraction(each)) for each in (before, after)]
    charge = dv.privacy_loss(DiscreteGaussian(3)).charge()
    assert charge.epsilon is None
    quote: Any = SimpleNamespace(
        charge=charge, standing=SimpleNamespace(remaining=left[0]), remaining=left[1]
    )
    assert _price(quote) == Fraction(price)


def test_a_price_without_a_worst_case_is_asked_about_by_what_less_would_remain() -> None:
    before, after = (Remaining.exactly(Fraction(each)) for each in ("3", "0.5"))
    quote: Any = SimpleNamespace(
        charge=dv.privacy_loss(DiscreteGaussian(3)).charge(),
        payment=SimpleNamespace(within=Fraction(5), queries=None),
        standing=SimpleNamespace(remaining=before, budget=dv.Budget.approximate(3, "1e-6")),
        remaining=after, stored=None, affordable=True, asked=(None, None), level=Fraction(19, 20),
    )  # fmt: skip
    with pytest.raises(CostlyAnswer, match=r"costs epsilon 2\.5 \(3 remains\)") as caught:
        check_costly(quote)
    assert [each.epsilon for each in caught.value.remedies if hasattr(each, "epsilon")] == ["2.5"]
