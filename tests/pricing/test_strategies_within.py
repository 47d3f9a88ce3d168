"""Noise that is fitted to an accuracy: the error is at most the goal, and hardly less."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.noise import DiscreteGaussian
from dovetail.pricing.accuracy import noises_reaching
from dovetail.pricing.strategies_at_price import DESIGNED, wide_shapes
from dovetail.pricing.strategies_within import _cost, _Family
from dovetail.privacy import Charge, privacy_loss

TABLE = dv.Schema([dv.Column("a", "integer", values=list(range(6)))]).table()


@pytest.mark.parametrize("within", [10, 20, 30, 100, 10**4])
def test_a_goal_is_kept_and_hardly_missed_wherever_the_search_begins(within: int) -> None:
    """The error of one table is a whole number: it can be just the goal. The search begins at about 2,000."""
    question = dv.Marginals("a", way=1, strategy="plain").checked(TABLE)
    family = _Family(question, wide_shapes()[DESIGNED], (1.0,))
    family.fit(Fraction(within), Fraction(1, 20))
    (noise,) = family.noises
    assert 0.99 * within - 1 <= noise.error_bound("0.05") <= within


@pytest.mark.parametrize("within", [10, 20, 30, 100])
def test_an_error_of_just_the_goal_is_good_enough(within: int) -> None:
    question = dv.Marginals("a", way=1, strategy="plain").checked(TABLE)
    family = _Family(question, wide_shapes()[DESIGNED], (1.0,))
    assert family.near(Fraction(within), Fraction(1, 20))
    family.fit(Fraction(within), Fraction(1, 20))
    assert family.noises[0].error_bound("0.05") <= within


def test_charges_are_ranked_by_what_they_leave_then_by_their_worst_case() -> None:
    """One without a worst case must leave a hundredth of the budget more; those beyond it come last."""
    budget, spent = dv.Budget.approximate(1, "1e-6"), Charge.approximate("0.2")
    gaussian = privacy_loss(dv.DiscreteGaussian(20)).charge()
    assert gaussian.epsilon is None
    left = Fraction(budget.remaining(spent + gaussian).epsilon)
    same, less, hardly, last = (
        Charge.approximate(1 - left - Fraction("0.2") + Fraction(more))
        for more in ("0", "0.02", "0.005", left)
    )
    beyond = Charge.approximate("0.01", "1e-5")
    ranked = sorted([beyond, last, less, gaussian, hardly, same], key=lambda each: _cost(each, budget, spent))
    assert ranked == [same, hardly, gaussian, less, last, beyond]


def test_an_accuracy_for_persons_is_bought_with_noise_that_can_be_priced(tmp_path: Path) -> None:
    """Of several rows of a person, Gaussian noise is not priced: it is not looked at."""
    columns = [f"c{number}" for number in range(7)]
    schema = dv.Schema([dv.Column(name, "integer", values=list(range(4))) for name in columns])
    data = pyarrow.table({name: [0, 1, 2, 3] for name in [*columns, "p"]})
    given: dict[str, Any] = {"schema": schema, "ledger": tmp_path / "t.ledger", "unit": "p", "max_rows": 2}
    with dv.Session(data, name="t", budget=dv.Budget.approximate(50, "1e-6"), **given) as session:
        quote = session.quote(dv.Marginals(*columns, way=2), within=30)
    error = quote.asked[0].error(Fraction(19, 20))
    assert error is not None
    assert 29 <= error <= 30
    assert not any(isinstance(noise, DiscreteGaussian) for noise in quote.asked[0].noises)


def test_an_accuracy_that_takes_more_than_the_largest_rate_is_refused() -> None:
    """At a chance of 1e-40 no noise of a rate up to 64 is certainly 0."""
    question = dv.Marginals("a", way=1, strategy="joint").checked(TABLE)
    with pytest.raises(dv.InvalidParameter, match="some noise can meet"):
        noises_reaching(question, Fraction(1, 2), 1 - Fraction(1, 10**40))
    assert noises_reaching(question, Fraction(1, 2), 1 - Fraction(1, 10**6))
