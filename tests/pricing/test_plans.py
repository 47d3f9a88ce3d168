from fractions import Fraction

import pytest

from dovetail.answers import Plan
from dovetail.noise import Geometric, GeometricMixture, IntegerNoise
from dovetail.pricing.composition import charge_of, cheapest, planned_charge
from dovetail.pricing.plans import noises_for, plan_charge, slots_for
from dovetail.privacy import Budget, Charge, privacy_loss
from dovetail.query import Column, Count, Histogram, Linear, Mean, Schema, Sum

TABLE = Schema([Column("x", "integer"), Column("k", "text", values=["a", "b"])]).table()


def planned(noise: IntegerNoise, neighbours: str = "add-remove") -> Plan:
    return Plan(1, noise, 10, Charge.zero(), neighbours)  # type: ignore[arg-type]


def test_slots_follow_what_one_neighbour_moves() -> None:
    rows = [
        (Count(), 1, 1),
        (Histogram("k"), 1, 1),
        (Sum("x", low=0, high=50, step=1), 1, 1),
        (Sum("x", low=0, high=50, step=1, by=("k",)), 1, 1),
        (Linear("k", {"a": 1, "b": "-1"}, step="0.1"), 1, 1),
        (Mean("x", low=0, high=50, step=1), 2, 1),
        (Mean("x", low=0, high=50, step=1, by=("k",)), 2, 2),
    ]
    for query, added, replaced in rows:
        question = query.checked(TABLE)
        assert slots_for(planned(Geometric("0.5")), question) == added
        assert slots_for(planned(Geometric("0.5"), "replace"), question) == replaced


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "noise", [Geometric("0.5"), GeometricMixture("0.2", 1, 5), GeometricMixture("0.1", "0.3", 3)], ids=repr
)
def test_every_question_costs_at_most_the_slots_it_uses(noise: IntegerNoise, neighbours: str) -> None:
    plan = planned(noise, neighbours)
    slot = privacy_loss(noise).compose(1 if neighbours == "add-remove" else 2)
    for query in (
        Histogram("k"),
        Sum("x", low=-3, high=5, step=1),
        Sum("x", low=-3, high=5, step=1, by=("k",)),
        Mean("x", low=0, high=8, step=1),
        Linear("k", {"a": 1, "b": "-1"}, step="0.25"),
    ):
        question = query.checked(TABLE)
        cost = charge_of([question], [noises_for(plan, question)], neighbours)  # type: ignore[arg-type]
        paid = slot.compose(slots_for(plan, question)).charge()
        assert cost.epsilon <= paid.epsilon  # type: ignore[operator]
        assert cost.zeta <= paid.zeta  # type: ignore[operator]
        assert all(mine <= theirs for mine, theirs in zip(cost.renyi, paid.renyi, strict=True))  # type: ignore[operator]


def test_a_plan_is_charged_its_exact_composition() -> None:
    noise = GeometricMixture("0.02", "0.08", 20)
    loss = privacy_loss(noise).compose(20)
    assert plan_charge(loss, Budget.pure(5), Charge.zero()) == loss.charge()
    budget = Budget.approximate(1, "1e-6")
    charge = plan_charge(loss, budget, Charge.zero())
    assert budget.allows(Charge.zero(), charge)
    assert charge.epsilon_units is not None
    assert charge.delta_units > 0
    claimed = Fraction(charge.epsilon_units, 10**9)
    assert loss.delta(claimed) <= Fraction(charge.delta_units, 10**18)
    assert claimed < loss.epsilon


def test_a_plan_leaves_half_of_delta_where_the_other_half_pays() -> None:
    """More than half would close the Rényi way for good."""
    loss, budget = (
        privacy_loss(GeometricMixture("0.02", "0.08", 20)).compose(20),
        Budget.approximate(1, "1e-6"),
    )
    assert loss.delta(1) < 5e-7
    charge = plan_charge(loss, budget, Charge.zero())
    assert 2 * charge.delta_units == 10**12
    # Where half of it does not pay, all of it may.
    tight = Budget.approximate(Fraction(loss.epsilon_at("7e-7")) + Fraction(1, 10**6), "1e-6")
    assert loss.delta(tight.epsilon_limit) > 5e-7
    assert plan_charge(loss, tight, Charge.zero()).delta_units == 10**12


def test_of_two_valid_charges_the_one_that_leaves_more_is_taken() -> None:
    budget = Budget.approximate(1, "1e-6")
    single = privacy_loss(Geometric("0.1"))
    assert plan_charge(single, budget, Charge.zero()) == single.charge()


def test_a_plan_that_does_not_fit_is_priced_so_that_the_account_refuses_it() -> None:
    budget = Budget.approximate("0.1", "1e-6")
    loss = privacy_loss(Geometric("0.1")).compose(100)
    charge = plan_charge(loss, budget, Charge.zero())
    assert not budget.allows(Charge.zero(), charge)
    # What is refused is what it would cost with all of delta, and no more.
    assert charge.delta_units == 10**12
    assert charge.epsilon is not None
    assert loss.delta(charge.epsilon) <= 1e-6 < loss.delta(Fraction(charge.epsilon) * Fraction(999, 1000))


def test_a_charge_that_takes_more_than_half_of_delta_is_the_last_resort() -> None:
    """It would close the Rényi way for good; up to half of delta, what leaves more is taken."""
    budget, spent = Budget.approximate(1, "1e-6"), Charge.zero()
    plain, half, most = (
        Charge.approximate("0.5"),
        Charge.approximate("0.1", "4e-7"),
        Charge.approximate("0.01", "6e-7"),
    )
    assert cheapest([plain, half], budget, spent) == half
    assert cheapest([plain, most], budget, spent) == plain
    assert cheapest([plain, half, most], budget, spent) == half
    assert cheapest([Charge.approximate(2), most], budget, spent) == most
    # A later one must leave visibly more.
    assert cheapest([plain, Charge.approximate("0.499", "1e-7")], budget, spent) == plain
    assert cheapest([Charge.approximate(2), Charge.approximate(3)], budget, spent) == Charge.approximate(3)


def test_what_was_planned_for_a_price_is_charged_what_it_costs_where_that_is_less() -> None:
    asked, budget = [Count().checked(TABLE)] * 2, Budget.approximate(3, "1e-5")
    noises = [(Geometric("0.1"),)] * 2
    for price in (Budget.approximate(1, "1e-6"), Budget.pure(1)):
        charge = planned_charge(asked, noises, "add-remove", price, budget, Charge.zero())
        assert charge == charge_of(asked, noises, "add-remove")
        assert Fraction(charge.epsilon or 0) == Fraction("0.2")
