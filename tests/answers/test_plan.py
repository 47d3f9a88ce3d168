"""Plans: what their price says of all their answers together."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dovetail.answers.plan import Plan
from dovetail.noise import Geometric, PiecewiseGeometric
from dovetail.privacy import Charge


@pytest.mark.parametrize(("rate", "slots"), [("0.1", 3), ("0.1", 7), ("0.7", 3), ("1/3", 3)])
def test_the_worst_case_of_all_answers_is_their_sum_to_the_last_digit(rate: str, slots: int) -> None:
    total = Fraction(rate) * slots
    plan = Plan(1, Geometric(rate), slots, Charge.approximate(total), "add-remove")
    assert Fraction(plan.to_dict()["worst_epsilon"]) == total
    assert plan.price().startswith(f"epsilon {float(total):g} in the worst case")


def test_zeta_of_all_answers_is_not_rounded_down() -> None:
    noise = PiecewiseGeometric(("0.1", "0.3"), (4,))
    plan = Plan(1, noise, 5, Charge.approximate("1.5"), "replace")
    assert Fraction(plan.to_dict()["zeta"]) >= Fraction(plan.total.zeta)
