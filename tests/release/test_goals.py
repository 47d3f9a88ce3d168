from fractions import Fraction

import pytest

from dovetail.design import design
from dovetail.errors import GoalUnreachable, InvalidParameter, InvalidQuery
from dovetail.noise import Geometric
from dovetail.privacy import Budget, privacy_loss
from dovetail.release import Column, Count, Histogram, Mean, Schema, Sum
from dovetail.release.goals import noise_of_budget, noises_at_price, noises_within
from dovetail.release.price import charge_of
from dovetail.release.sensitivity import NEIGHBOURS
from dovetail.release.teller import scaled_noises

TABLE = Schema([Column("x", "number"), Column("k", "text", values=["a", "b"])]).table()
QUERIES = [
    Count(),
    Histogram("k"),
    Sum("x", low=-3, high=10, step="0.5"),
    Sum("x", low=-3, high=10, step="0.5", by=("k",)),
]
BUDGETS = [Budget.pure(1), Budget.approximate(1, "1e-6"), Budget.zeta("0.3", max_epsilon=2)]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_goal_is_met_whatever_the_query_and_the_currency(
    query: Count, budget: Budget, neighbours: str
) -> None:
    question = query.checked(TABLE)
    within = Fraction(30)
    (noise,) = noises_within(question, within, Fraction(19, 20), budget, neighbours)  # type: ignore[arg-type]
    assert noise.within(float(within / question.step)) >= 0.95


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize("query", [*QUERIES, Mean("x", low=0, high=10, step=1)], ids=str)
def test_a_price_is_kept_to_the_last_unit_and_not_wasted(
    query: Count, together: int, budget: Budget, neighbours: str
) -> None:
    question = query.checked(TABLE)
    noises = noises_at_price(question, budget, neighbours, together)  # type: ignore[arg-type]
    charge = charge_of([question] * together, [noises] * together, neighbours)  # type: ignore[arg-type]
    assert charge.epsilon is not None
    assert charge.zeta is not None
    assert charge.epsilon <= budget.epsilon_limit * 10**9
    if budget.zeta_limit is None:
        assert charge.epsilon > budget.epsilon_limit * 10**9 - 100
    else:
        assert charge.zeta <= budget.zeta_limit * 10**9


def test_a_zeta_price_buys_a_shape_with_less_error_than_the_geometric() -> None:
    question = Count().checked(TABLE)
    (noise,) = noises_at_price(question, Budget.zeta("0.3", max_epsilon=2), "add-remove")
    assert noise.variance() < 0.6 * Geometric("0.3").variance()


def test_a_planned_budget_buys_less_error_than_equal_shares() -> None:
    for budget in BUDGETS[1:]:
        noise = noise_of_budget(budget, 20, "add-remove")
        equal = (budget.zeta_limit or budget.epsilon_limit) / 20
        assert noise.variance() < 0.6 * Geometric(equal).variance()
        total = privacy_loss(noise).compose(20)
        if budget.zeta_limit is None:
            assert total.delta(budget.epsilon_limit) <= budget.delta_limit
        else:
            assert total.zeta <= budget.zeta_limit
            assert total.worst <= budget.epsilon_limit


def test_what_no_noise_can_reach_is_said_before_anything_is_spent() -> None:
    budget = Budget.zeta("0.3", max_epsilon=1)
    with pytest.raises(GoalUnreachable):
        noises_within(Count().checked(TABLE), Fraction(0), Fraction(19, 20), budget, "add-remove")
    mean = Mean("x", low=0, high=1, step=1).checked(TABLE)
    with pytest.raises(InvalidQuery, match="which is private"):
        noises_within(mean, Fraction(1), Fraction(19, 20), budget, "add-remove")


def test_a_design_for_a_sensitivity_fits_only_questions_of_that() -> None:
    chosen = design(within=30, sensitivity=20)
    question = Sum("x", low=-3, high=10, step="0.5").checked(TABLE)
    assert scaled_noises(question, chosen.noise, 20) == (chosen.noise,)
    with pytest.raises(InvalidParameter, match="sensitivity 1, that of this question"):
        scaled_noises(Count().checked(TABLE), chosen.noise, 20)
