from fractions import Fraction
from functools import reduce
from typing import Any

import pytest

from dovetail.designer import design
from dovetail.errors import GoalUnreachable, InvalidParameter, InvalidQuery
from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture, StaircaseNoise
from dovetail.pricing import calibration
from dovetail.pricing.calibration import (
    _geometric_of_zeta,
    noise_of_budget,
    noises_at_price,
    noises_composed,
    noises_within,
)
from dovetail.pricing.composition import at_price, charge_of
from dovetail.pricing.plans import plan_charge
from dovetail.pricing.sensitivity import moves
from dovetail.pricing.stretching import scaled_noises
from dovetail.privacy import Budget, Charge, PrivacyLoss, privacy_loss
from dovetail.privacy.normal import normal_sigma
from dovetail.query import Column, Count, Histogram, Mean, Schema, Sum, Variance
from dovetail.query.neighbours import NEIGHBOURS

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
    assert charge.epsilon_units is not None
    assert charge.zeta_units is not None
    assert charge.epsilon_units <= budget.epsilon_limit * 10**9
    if budget.zeta_limit is None:
        assert charge.epsilon_units > budget.epsilon_limit * 10**9 - 100
    else:
        assert charge.zeta_units <= budget.zeta_limit * 10**9


def test_a_zeta_price_buys_a_shape_with_less_error_than_the_geometric() -> None:
    budget = Budget.zeta("0.3", max_epsilon=2)
    (noise,) = noises_at_price(Count().checked(TABLE), budget, "add-remove")
    assert noise.variance() < 0.6 * Geometric("0.3").variance()
    # A sum that one row moves far.
    (noise,) = noises_at_price(Sum("x", low=0, high=10, step=1).checked(TABLE), budget, "add-remove")
    assert noise.variance() < 0.4 * Geometric("0.03").variance()
    # A row that is replaced moves two cells.
    (noise,) = noises_at_price(Histogram("k").checked(TABLE), budget, "replace")
    assert noise.variance() < 0.3 * Geometric("0.15").variance()


@pytest.mark.parametrize(
    ("designed", "kept"),
    [
        (GeometricMixture("0.1", "0.5", 8), True),
        (Geometric("0.5"), False),  # too much zeta
        (GeometricMixture("0.1", "1.5", 12), False),  # too large a worst case
        (Geometric(3), False),
    ],
    ids=repr,
)
def test_a_shape_that_does_not_keep_both_limits_is_not_used(
    designed: Any, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend, question = Budget.zeta("0.3", max_epsilon=1), Count().checked(TABLE)
    charge = privacy_loss(designed).charge()
    assert kept == (charge.zeta <= Fraction("0.3") and charge.epsilon <= 1)
    monkeypatch.setattr(calibration, "_designed", lambda shifts, **wanted: designed)
    expected = designed if kept else Geometric("0.3")
    assert noises_at_price(question, spend, "add-remove") == (expected,)


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


@pytest.mark.parametrize(("slots", "gain"), [(4, 0.6), (20, 1.0001), (40, 1.0001)])
def test_a_planned_zeta_is_never_worse_spent_than_on_the_best_geometric(slots: int, gain: float) -> None:
    budget = Budget.zeta("0.3", max_epsilon=2)
    low, high = 0.3 / slots, 2 / slots
    while high - low > 1e-7:
        rate = (low + high) / 2
        fits = privacy_loss(Geometric(Fraction(rate))).compose(slots).zeta <= 0.3
        low, high = (rate, high) if fits else (low, rate)
    noise = noise_of_budget(budget, slots, "add-remove")
    assert noise.variance() < gain * Geometric(Fraction(low)).variance()
    total = privacy_loss(noise).compose(slots)
    assert total.zeta <= budget.zeta_limit
    assert total.worst <= budget.epsilon_limit


@pytest.mark.parametrize(("zeta", "most"), [("0.3", 2), ("1", 4), ("0.1", 1), ("0.2", "0.25")])
@pytest.mark.parametrize("uses", [2, 7, 20])
def test_geometric_noise_that_shares_a_zeta_keeps_it(zeta: str, most: Any, uses: int) -> None:
    budget = Budget.zeta(zeta, max_epsilon=most)
    noise = _geometric_of_zeta(budget, uses)
    total = privacy_loss(noise).compose(uses)
    assert total.zeta <= Fraction(zeta)
    assert total.worst <= budget.epsilon_limit
    # Noise that is a little narrower costs too much.
    narrow = privacy_loss(Geometric(noise.rates[0] + Fraction(1, 10**6))).compose(uses)
    assert narrow.zeta > Fraction(zeta) or narrow.worst > budget.epsilon_limit


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


def test_a_million_answers_are_planned_and_hardly_worse_than_gaussian_noise() -> None:
    budget = Budget.approximate(1, "1e-6")
    noise = noise_of_budget(budget, 10**6, "add-remove")
    assert privacy_loss(noise).compose(10**6).delta(1) <= 1e-6
    assert noise.variance() < 1.03 * normal_sigma(1, 1e-6, 10**6) ** 2


@pytest.mark.parametrize("delta", ["1e-30", "2.5e-18"])
def test_a_delta_that_no_charge_can_count_does_not_spoil_a_planned_budget(delta: str) -> None:
    budget = Budget.approximate(1, delta)
    noise = noise_of_budget(budget, 1000, "add-remove")
    charge = plan_charge(privacy_loss(noise).compose(1000), budget, Charge.zero())
    assert budget.allows(Charge.zero(), charge)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_a_price_with_delta_buys_many_answers_for_less_error(neighbours: str) -> None:
    spend = Budget.approximate("0.5", "1e-6")
    asked = [*QUERIES, Mean("x", low=0, high=10, step=1)] if neighbours == "add-remove" else QUERIES
    questions = [query.checked(TABLE) for query in asked * 5]
    noises = noises_composed(questions, spend, neighbours)  # type: ignore[arg-type]
    assert noises is not None
    losses = []
    for question, each in zip(questions, noises, strict=True):
        (worst,) = noises_at_price(question, spend, neighbours, len(questions))[:1]  # type: ignore[arg-type]
        assert each[0].variance() < worst.variance()
        moved = moves(question, neighbours, grows=True)  # type: ignore[arg-type]
        losses.append([[privacy_loss(each[s.component], sensitivity=s.by) for s in move] for move in moved])
    for choice in ([each[0] for each in losses], [each[-1] for each in losses]):
        total = reduce(PrivacyLoss.then, [loss for move in choice for loss in move])
        assert total.delta(spend.epsilon_limit) <= spend.delta_limit


def test_where_delta_gains_nothing_the_worst_case_is_paid() -> None:
    spend = Budget.approximate(1, "1e-6")
    assert noises_composed([Count().checked(TABLE)], spend, "add-remove") is None
    assert noises_composed([Count().checked(TABLE)] * 4, spend, "add-remove") is None
    # Variances would gain much, but counts would err more than at their share of the price.
    uneven = [*[Count()] * 6, *[Variance("x", low=0, high=10, step=1)] * 3]
    assert noises_composed([each.checked(TABLE) for each in uneven], spend, "add-remove") is None
    assert (
        noises_composed([Count().checked(TABLE)] * 50, Budget.approximate(1, "1e-19"), "add-remove") is None
    )


def test_a_price_with_delta_is_charged_as_named_or_as_its_own_renyi_curve() -> None:
    budget, spend = Budget.approximate(1, "1e-6"), Budget.approximate(1, "1e-6")
    questions = [Count().checked(TABLE)] * 20
    noises = noises_composed(questions, spend, "add-remove")
    assert noises is not None
    own = charge_of(questions, noises, "add-remove")
    assert own.epsilon_units > 10**9  # type: ignore[operator]
    # The whole budget at once: only as the point that it is.
    assert not budget.allows(Charge.zero(), own)
    assert at_price(own, spend, budget, Charge.zero()) == Charge.approximate(1, "1e-6")
    # A part of a larger one: its delta is not worth closing the Rényi way for good.
    wide = Budget.approximate(10, "1e-6")
    assert at_price(own, spend, wide, Charge.zero()) == own
    # Where there is delta enough, the point that leaves more is taken.
    ample = Budget.approximate(2, "1e-5")
    assert at_price(own, spend, ample, Charge.zero()) == Charge.approximate(1, "1e-6")
    # A worst case within the price needs no delta at all.
    plain = charge_of(questions, [(Geometric("0.05"),)] * 20, "add-remove")
    assert at_price(plain, spend, budget, Charge.zero()) == plain


@pytest.mark.parametrize(("epsilon", "share"), [(Fraction(1, 2), 1), (2, 0.9), (4, 0.9)])
def test_a_sum_that_one_row_moves_far_gets_steps(epsilon: Any, share: float) -> None:
    """One number moves, so its price at the largest shift is the price; the charge is exactly that."""
    question = Sum("x", low=0, high=50, step=1).checked(TABLE)
    (noise,) = noises_at_price(question, Budget.pure(epsilon), "add-remove")
    assert isinstance(noise, StaircaseNoise)
    charge = charge_of([question], [(noise,)], "add-remove")
    assert charge == charge_of([question], [(noise,)], "replace")
    assert privacy_loss(noise, sensitivity=50).worst == epsilon
    assert noise.variance() < Geometric(epsilon).stretched(50).variance() * share
    (within,) = noises_within(question, Fraction(60), Fraction(95, 100), Budget.pure(9), "add-remove")
    assert isinstance(within, StaircaseNoise)
    assert within.error_bound("0.05") <= 60


@pytest.mark.parametrize(
    "query",
    [Count(), Histogram("k"), Mean("x", low=0, high=50, step=1), Sum("x", -30, 50, 1, by=("k",))],
    ids=str,
)
def test_what_moves_by_one_or_in_two_numbers_gets_none(query: Any) -> None:
    question = query.checked(TABLE)
    noises = noises_at_price(question, Budget.pure(4), "replace")
    assert not any(isinstance(noise, StaircaseNoise) for noise in noises)
    assert charge_of([question], [noises], "replace").epsilon <= 4


def test_a_price_that_no_ledger_can_count_is_refused_as_it_was_given():
    question = Count().checked(TABLE)
    with pytest.raises(InvalidParameter, match=r"^spend.*1e-12 must be at least 1e-09 here"):
        noises_at_price(question, Budget.pure("1e-12"), "add-remove")


@pytest.mark.parametrize("sigma", [2, 20, 200])
def test_a_charge_without_a_worst_case_is_charged_as_itself_or_as_the_price(sigma: int) -> None:
    """Whichever leaves more of the budget."""
    spend, budget, spent = Budget.approximate(1, "1e-6"), Budget.approximate(3, "1e-5"), Charge.zero()
    own, point = privacy_loss(DiscreteGaussian(sigma)).charge(), Charge.approximate(1, "1e-6")
    assert own.epsilon is None
    found = at_price(own, spend, budget, spent)
    assert found in (own, point)
    left = [budget.remaining(spent + each).epsilon for each in (own, point) if budget.allows(spent, each)]
    assert Fraction(budget.remaining(spent + found).epsilon) >= Fraction(max(left)) - Fraction(3, 100)
