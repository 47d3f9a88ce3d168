from fractions import Fraction
from math import exp

import mpmath
import numpy as np
import pytest

import loss_oracle as oracle
from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture, IntegerNoise, PiecewiseGeometric
from dovetail.privacy import ORDERS, Budget, Charge, privacy_loss
from dovetail.release import Column, Count, Histogram, Linear, Mean, Schema, Sum
from dovetail.release.plan import Plan, covering_stretch, covers, plan_charge
from dovetail.release.price import charge_of

TABLE = Schema([Column("x", "integer"), Column("k", "text", values=["a", "b"])]).table()


def hockey_stick(noise: IntegerNoise, shift: int, epsilon: float) -> float:
    """Add up max(0, P - exp(epsilon)·Q) over everything that counts."""
    k = np.arange(-4000, 4000)
    return float(np.maximum(noise.pmf(k) - exp(epsilon) * np.asarray(noise.pmf(k + shift)), 0).sum())


NOISES = [
    Geometric("0.5"),
    GeometricMixture("0.2", 1, 5),
    GeometricMixture("0.1", "0.3", 3),
    GeometricMixture(1, "0.2", 2),
    PiecewiseGeometric(("0.05", "0.2", "0.4"), (3, 9)),
]


@pytest.mark.parametrize("shift", [1, 2, 7, 40])
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_covering_stretch_never_costs_more_at_any_epsilon(noise: IntegerNoise, shift: int) -> None:
    stretch = covering_stretch(noise, shift)
    wide = noise.stretched(stretch)
    assert isinstance(wide, IntegerNoise)
    for epsilon in np.linspace(-1.2, 1.2, 61):
        assert hockey_stick(wide, shift, epsilon) <= hockey_stick(noise, 1, epsilon) + 1e-12
    assert shift <= stretch <= max(2 * shift, shift + 2)


def test_stretching_to_the_sensitivity_alone_is_not_always_enough() -> None:
    noise = GeometricMixture("0.2", 1, 5)
    wide = noise.stretched(40)
    assert hockey_stick(wide, 40, 0.2) > hockey_stick(noise, 1, 0.2)
    assert not covers(noise, 40, 40)
    assert 40 < covering_stretch(noise, 40) < 50
    assert covering_stretch(Geometric("0.5"), 99_999) == 99_999


@pytest.mark.parametrize(
    ("rates", "breaks", "shift"),
    [(("1.75", "2.6", 6), (22, 27), 5), (("1.55", "1.85", "4.5"), (23, 25), 8), ((2, "2.5", 8), (20, 39), 2)],
)
def test_a_cover_holds_at_losses_rarer_than_any_float_notices(
    rates: tuple[object, ...], breaks: tuple[int, ...], shift: int
) -> None:
    noise = PiecewiseGeometric(rates, breaks)
    with mpmath.workdps(oracle.DIGITS):
        base = oracle.loss_atoms(noise, 1)

        def dearer(stretch: int) -> bool:
            wide = oracle.loss_atoms(noise.stretched(stretch), shift)
            return any(oracle.delta(wide, knot) > oracle.delta(base, knot) for knot in base if knot >= 0)

        assert dearer(shift + 1)
        assert not dearer(covering_stretch(noise, shift))


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
        assert planned(Geometric("0.5")).slots_for(question) == added
        assert planned(Geometric("0.5"), "replace").slots_for(question) == replaced


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("noise", NOISES[:3], ids=repr)
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
        cost = charge_of([question], [plan.noises_for(question)], neighbours)  # type: ignore[arg-type]
        paid = slot.compose(plan.slots_for(question)).charge()
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
    assert charge.epsilon is not None
    assert charge.delta > 0
    claimed = Fraction(charge.epsilon, 10**9)
    assert loss.delta(claimed) <= Fraction(charge.delta, 10**18)
    assert claimed < loss.epsilon


def test_of_two_valid_charges_the_one_that_leaves_more_is_taken() -> None:
    budget = Budget.approximate(1, "1e-6")
    single = privacy_loss(Geometric("0.1"))
    assert plan_charge(single, budget, Charge.zero()) == single.charge()


def test_a_plan_that_does_not_fit_is_priced_so_that_the_account_refuses_it() -> None:
    budget = Budget.approximate("0.1", "1e-6")
    charge = plan_charge(privacy_loss(Geometric(1)).compose(100), budget, Charge.zero())
    assert not budget.allows(Charge.zero(), charge)


def test_a_gaussian_plan_covers_wide_sums_as_far_out_as_a_delta_is_counted() -> None:
    noise, shift = DiscreteGaussian(3), 20
    wide = privacy_loss(noise.stretched(covering_stretch(noise, shift)), sensitivity=shift)
    paid = privacy_loss(noise)
    for epsilon in range(16):
        assert wide.delta(epsilon / 4) <= paid.delta(epsilon / 4)
    assert paid.delta(4) < 1e-23


@pytest.mark.parametrize("shift", [1, 2, 7, 50])
def test_a_stretched_gaussian_keeps_its_renyi_figures_at_whole_orders(shift: int) -> None:
    sigma = 3
    wide = privacy_loss(DiscreteGaussian(sigma).stretched(shift), sensitivity=shift)
    for order in ORDERS:
        assert wide.renyi(order) == pytest.approx(order / (2 * sigma**2), rel=1e-9)
