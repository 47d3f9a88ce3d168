"""A budget's filter holds against an analyst who chooses the next question after the last answer."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, expm1, inf

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian
from dovetail.privacy import ORDERS, Budget, Charge, privacy_loss
from dovetail.privacy.budget import WEIGHTS, renyi_limits
from dovetail.privacy.charge import UNIT

budgets = st.one_of(
    st.builds(Budget.pure, st.fractions("1/1000", 20)),
    st.builds(Budget.approximate, st.fractions("1/1000", 20), st.fractions("1e-9", "1/10")),
    st.builds(
        lambda zeta, worst: Budget.zeta(zeta, max_epsilon=worst),
        st.fractions("1/1000", 5),
        st.fractions("1/1000", 20),
    ),
)
spendings = st.builds(
    lambda e, n: Charge.approximate(e).times(n), st.fractions("1/1000", 2), st.integers(0, 12)
)


def test_the_shares_of_delta_add_up_to_one():
    assert sum(WEIGHTS) == 1
    assert len(WEIGHTS) == len(ORDERS)


def test_a_pure_budget_is_a_sum_that_fits_to_the_last_unit():
    budget, third = Budget.pure("0.3"), Charge.approximate("0.1")
    assert budget.allows(third.times(2), third)
    assert not budget.allows(third.times(3), Charge.approximate("1e-9"))


def test_a_zeta_budget_enforces_both_limits():
    budget = Budget.zeta(1, max_epsilon=2)
    gentle = Charge.rounded_up(epsilon="1.5", zeta="0.3", renyi=None)
    assert budget.allows(Charge.zero(), gentle)
    assert not budget.allows(gentle, gentle)  # worst case 3
    assert not Budget.zeta("0.5", max_epsilon=9).allows(gentle, gentle)  # zeta 0.6


@pytest.mark.parametrize("budget", [Budget.pure(1), Budget.zeta(1, max_epsilon=1)])
def test_only_a_budget_with_delta_pays_for_events(budget):
    assert not budget.allows(Charge.zero(), Charge.approximate("0.1", "1e-18"))
    assert budget.remaining(Charge.approximate("0.1", "1e-18")).epsilon == 0


@given(budgets, spendings)
def test_what_remains_is_admitted_and_one_unit_more_is_not_for_sums(budget, spent):
    assume(budget.currency != "zeta")
    left = Fraction(budget.remaining(spent).epsilon)
    assert left < UNIT or budget.allows(spent, Charge.approximate(left - left % UNIT))
    assert not budget.allows(spent, Charge.approximate(left + 4 * UNIT))


@given(budgets)
def test_a_budget_survives_its_dictionary(budget):
    assert Budget.from_dict(budget.to_dict()) == budget
    assert hash(Budget.from_dict(budget.to_dict())) == hash(budget)


@given(st.fractions("1/100", 20), st.fractions("1e-12", "1/10"))
def test_renyi_limits_lie_just_below_the_conversion(epsilon, delta):
    with mpmath.workdps(60):
        for order, weight, limit in zip(ORDERS, WEIGHTS, renyi_limits(epsilon, delta), strict=True):
            share = (
                mpmath.mpf(delta.numerator) / delta.denominator / 2 * weight.numerator / weight.denominator
            )
            bonus = mpmath.log(share) + mpmath.log(order - 1) - order * mpmath.log1p(-mpmath.mpf(1) / order)
            bound = mpmath.mpf(epsilon.numerator) / epsilon.denominator + bonus / (order - 1)
            assert 0 <= bound * 10**9 - limit < 1.001


def test_many_small_charges_go_further_than_their_sum():
    budget, step = Budget.approximate(1, "1e-6"), Charge.approximate("0.01")
    spent, uses = Charge.zero(), 0
    while budget.allows(spent, step):
        spent, uses = spent + step, uses + 1
    assert uses > 200  # the sum alone ends at 100
    # and what was admitted is private: the exact delta of k randomised responses is below the limit
    assert _delta_of_responses(0.01, uses, 1.0) <= 1e-6


def _delta_of_responses(epsilon: float, uses: int, at: float) -> float:
    yes, total = 1 / (1 + exp(-epsilon)), mpmath.mpf(0)
    for heads in range(uses + 1):
        loss = (2 * heads - uses) * epsilon
        if loss > at:
            mass = comb(uses, heads) * mpmath.mpf(yes) ** heads * mpmath.mpf(1 - yes) ** (uses - heads)
            total += mass * -expm1(at - loss)
    return float(total)


def test_an_event_larger_than_half_of_delta_closes_the_renyi_way():
    budget = Budget.approximate(1, "1e-6")
    plan = Charge.approximate("0.2", "9e-7")
    small = Charge.approximate("0.01")
    assert budget.allows(Charge.zero(), plan)  # first, before any answer was seen
    assert not budget.allows(small, plan)  # later it could depend on answers
    spent, uses = plan, 0
    while budget.allows(spent, small):
        spent, uses = spent + small, uses + 1
    assert uses == 80  # by the sum only
    assert not budget.allows(plan, Charge.approximate("0.01", "2e-7"))


def test_events_within_half_of_delta_keep_the_renyi_way_open():
    budget, key = (
        Budget.approximate(1, "1e-6"),
        Charge.rounded_up(epsilon=0, zeta=0, renyi=None, delta="1e-7"),
    )
    assert budget.allows(Charge.zero(), key.times(5))
    assert not budget.allows(key.times(5), key)
    assert budget.allows(key.times(5), Charge.approximate("0.01").times(200))


@given(budgets)
def test_infinite_loss_is_never_admitted(budget):
    endless = Charge.rounded_up(epsilon=inf, zeta=inf, renyi=None)
    assert not budget.allows(Charge.zero(), endless)
    assert budget.remaining(endless).epsilon == 0


def test_a_finite_renyi_curve_without_pure_guarantee_is_admitted_only_with_delta():
    gaussian = Charge.rounded_up(epsilon=inf, zeta=inf, renyi=lambda order: Fraction(order, 200))
    assert Budget.approximate(1, "1e-6").allows(Charge.zero(), gaussian)
    assert not Budget.pure(9).allows(Charge.zero(), gaussian)


@pytest.mark.parametrize("make", [
    lambda: Budget.pure(0), lambda: Budget.pure(float("nan")), lambda: Budget.pure(True),
    lambda: Budget.approximate(1, 0), lambda: Budget.approximate(1, 1), lambda: Budget.approximate(1, -1),
    lambda: Budget.zeta(1, max_epsilon=inf), lambda: Budget.zeta(0, max_epsilon=1),
    lambda: Budget.from_dict({"currency": "gold", "epsilon": "1", "delta": "0", "zeta": None}),
    lambda: Budget("gold", Fraction(1)),  # type: ignore[arg-type]
    lambda: Budget("pure", Fraction(1), Fraction(1, 2)), lambda: Budget("zeta", Fraction(1)),
])  # fmt: skip
def test_impossible_budgets_are_refused(make):
    with pytest.raises(InvalidParameter):
        make()


@pytest.mark.parametrize(
    ("budget", "shown"),
    [
        (Budget.pure(1), "Budget.pure('1')"),
        (Budget.pure("1/3"), "Budget.pure('1/3')"),
        (Budget.pure("0.123456789"), "Budget.pure('0.123456789')"),
        (Budget.approximate("2.5", "1e-6"), "Budget.approximate('2.5', '1e-6')"),
        (Budget.zeta("0.5", max_epsilon=2), "Budget.zeta('0.5', max_epsilon='2')"),
    ],
)
def test_a_budget_prints_as_what_makes_it(budget: Budget, shown: str) -> None:
    assert repr(budget) == shown
    assert eval(shown) == budget


def test_a_budget_is_read_from_its_whole_description_only() -> None:
    whole = Budget.approximate(1, "1e-6").to_dict()
    assert Budget.from_dict(whole) == Budget.approximate(1, "1e-6")
    parts = [{name: value for name, value in whole.items() if name != left} for left in whole]
    for wrong in [{}, *parts, whole | {"more": 1}, [*whole], "pure", None]:
        with pytest.raises(InvalidParameter, match="currency"):
            Budget.from_dict(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("budget", "other"),
    [
        (Budget.pure(1), {"delta": "1/1000000"}),
        (Budget.pure(1), {"zeta": "1/2"}),
        (Budget.approximate(1, "1e-6"), {"zeta": "1/2"}),
        (Budget.zeta("1/2", max_epsilon=1), {"delta": "1/1000000"}),
    ],
)
def test_a_limit_that_a_budget_does_not_have_is_not_dropped(budget: Budget, other: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter, match=f"a budget in {budget.currency}"):
        Budget.from_dict(budget.to_dict() | other)


def test_what_remains_of_delta_is_half_of_it_once_something_is_spent() -> None:
    """Half pays for events; a first charge may still choose to take all of it."""
    budget = Budget.approximate(1, "1e-6")
    assert budget.remaining(Charge.zero()).delta == Fraction(1, 10**6)
    few = Charge.approximate("0.1", "1e-7")
    assert budget.remaining(few).delta == Fraction(4, 10**7)
    many = Charge.approximate("0.1", "6e-7")
    assert budget.remaining(many).delta == Fraction(4, 10**7)


def test_a_delta_that_is_used_up_to_the_last_unit_leaves_the_rest_of_epsilon() -> None:
    budget, spent = Budget.approximate(1, "1e-6"), Charge.approximate("0.3", "1e-6")
    left = budget.remaining(spent)
    assert (left.epsilon, left.delta) == (Fraction("0.7"), 0)
    assert budget.allows(spent, Charge.approximate("0.7"))
    assert budget.remaining(spent + Charge.approximate(0, "1e-18")).epsilon == 0


def test_what_remains_is_told_in_the_currency_of_the_budget() -> None:
    charge = Charge.rounded_up(epsilon="0.5", zeta="0.125", renyi=None)
    left = Budget.zeta("0.5", max_epsilon=2).remaining(charge)
    assert str(left) == "zeta 0.375, epsilon 1.5"
    assert str(Budget.pure(2).remaining(charge)) == "epsilon 1.5"
    approximate = Budget.approximate(2, "1e-6").remaining(Charge.approximate("0.5", "6e-7"))
    assert str(approximate) == "epsilon 1.5, delta 4e-7"
    assert repr(left) == "<remaining: zeta 0.375, epsilon 1.5>"


@pytest.mark.parametrize("sigma", [60, 20, 6])
def test_what_remains_beside_a_renyi_curve_is_admitted_and_one_unit_more_is_not(sigma: int) -> None:
    budget, spent = Budget.approximate(1, "1e-6"), privacy_loss(DiscreteGaussian(sigma)).charge()
    left = Fraction(budget.remaining(spent).epsilon)
    assert left > 0
    assert budget.allows(spent, Charge.approximate(left))
    assert not budget.allows(spent, Charge.approximate(left + UNIT))
