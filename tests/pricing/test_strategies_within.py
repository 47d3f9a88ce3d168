"""Noise that is fitted to an accuracy: the error is at most the goal, and hardly less."""

from fractions import Fraction

import pytest

import dovetail as dv
from dovetail.pricing.strategies_at_price import DESIGNED, wide_shapes
from dovetail.pricing.strategies_within import _Family

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
