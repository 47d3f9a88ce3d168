"""Prices of marginals by enumeration of neighbours, and the planner's figures."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from dovetail.noise import DiscreteGaussian, Geometric, IntegerNoise, PiecewiseGeometric
from dovetail.privacy import Budget
from dovetail.privacy.normal import normal_sigma
from dovetail.workloads import MarginalWorkload, Strategy
from dovetail.workloads.planning import (
    _log_delta,
    can_be_residuals,
    even_variances,
    information,
    keeps,
    pattern_loss,
    plan,
    price,
    residual_strategy,
    scaled,
)
from dovetail.workloads.strategies import KINDS, Kind, Pattern, replacement_patterns, row_pattern

from .test_marginals import margins

# workclass, education, marital_status, occupation, relationship, race, sex, income
ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
TINY = [
    MarginalWorkload((3, 2), ((0, 1),)),
    MarginalWorkload((2, 3, 2), ((0, 1), (1, 2), (0, 2))),
    MarginalWorkload((2, 4), ((0,), (1,))),
    MarginalWorkload((1, 3), ((0, 1),)),
]


def rows(wanted: MarginalWorkload) -> list[dict[tuple[int, ...], np.ndarray]]:
    """What one row in each cell of the joint adds to every wanted table."""
    found = []
    for place in product(*map(range, wanted.sizes)):
        joint = np.zeros(wanted.sizes, int)
        joint[place] = 1
        found.append(margins(wanted, joint))
    return found


def moved(strategy: Strategy, one: dict, other: dict | None) -> Counter[tuple[int, int]]:
    """How far each released number moves when one row goes and another comes, by enumeration."""
    found: Counter[tuple[int, int]] = Counter()
    before = strategy.numbers(one)
    after = (
        strategy.numbers(other) if other is not None else {key: 0 * value for key, value in before.items()}
    )
    for place, key in enumerate(strategy.measured):
        for shift in np.abs(before[key] - after[key]).ravel().tolist():
            if shift:
                found[place, shift] += 1
    return found


def listed(pattern: Pattern) -> Counter[tuple[int, int]]:
    return Counter({(place, shift): count for place, shift, count in pattern})


@pytest.mark.parametrize("wanted", TINY)
@pytest.mark.parametrize("kind", KINDS)
def test_every_row_moves_what_the_pattern_says(wanted: MarginalWorkload, kind: Kind) -> None:
    strategy = Strategy.alike(kind, wanted, Geometric(1))
    expected = listed(row_pattern(kind, wanted))
    assert all(moved(strategy, row, None) == expected for row in rows(wanted))


@pytest.mark.parametrize("wanted", TINY)
def test_every_replacement_of_residuals_is_among_the_patterns(wanted: MarginalWorkload) -> None:
    strategy = Strategy.alike("residuals", wanted, Geometric(1))
    patterns = [listed(pattern) for pattern in replacement_patterns("residuals", wanted)]
    seen = set()
    for one, other in product(rows(wanted), rows(wanted)):
        move = moved(strategy, one, other)
        if move:
            seen.add(patterns.index(move))
    # All but the first, which is a row that leaves and is not replaced.
    assert seen == set(range(1, len(patterns)))
    assert patterns[0] == listed(row_pattern("residuals", wanted))


@pytest.mark.parametrize("wanted", TINY)
@pytest.mark.parametrize("kind", ["plain", "joint"])
def test_replacements_in_tables_are_covered(wanted: MarginalWorkload, kind: Kind) -> None:
    strategy = Strategy.alike(kind, wanted, Geometric(1))
    (cover,) = (listed(pattern) for pattern in replacement_patterns(kind, wanted))
    for one, other in product(rows(wanted), rows(wanted)):
        assert moved(strategy, one, other) <= cover
    # And no wider than it must: a row that differs in every column moves all of it.
    assert max(
        sum(moved(strategy, one, other).values()) for one, other in product(rows(wanted), rows(wanted))
    ) == sum(cover.values())


def test_ways_are_ranked_by_their_least_exact_table_and_gaussians_must_gain() -> None:
    wanted = MarginalWorkload((2, 6, 5), ((0,), (0, 1), (1, 2)))
    shapes = {"geometric": Geometric("0.01"), "Gaussian": DiscreteGaussian(141)}
    exact = {"geometric": Geometric("0.1"), "Gaussian": DiscreteGaussian("14.142")}
    found = plan(wanted, Budget.approximate(1, "1e-6"), lambda name, _: exact[name], shapes)
    for each in found:
        spreads = [each.strategy.variance(table) for table in wanted.tables]
        assert each.errors == pytest.approx([spread**0.5 for spread in spreads])
        assert each.worst == max(each.errors)
    ranks = [each.worst * (1.01 if each.noise == "Gaussian" else 1) for each in found]
    assert ranks == sorted(ranks)
    assert found[0].certified
    assert len({each.strategy.kind for each in found}) == 3


@pytest.mark.parametrize("wanted", TINY)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_worst_loss_is_that_of_the_worst_neighbour(
    wanted: MarginalWorkload, kind: Kind, neighbours: str
) -> None:
    """With geometric noise of rate r, a shift of s costs r·s in the worst case; enumerate all neighbours."""
    noise = Geometric("0.3")
    strategy = Strategy.alike(kind, wanted, noise)
    rates = [each.rates[0] for each in strategy.noises]  # type: ignore[attr-defined]
    every = rows(wanted)
    pairs = [(row, None) for row in every] + (list(product(every, every)) if neighbours == "replace" else [])
    worst = max(
        sum(count * shift * rates[place] for (place, shift), count in moved(strategy, *pair).items())
        for pair in pairs
    )
    charged = max(loss.worst for loss in price(strategy, neighbours))
    assert charged >= worst
    if kind == "residuals" or neighbours == "add-remove":
        assert charged == worst


def test_a_price_that_forgets_the_other_cells_is_too_low() -> None:
    """The mutation: only the row's own cell of each residual is counted."""
    wanted = MarginalWorkload((5, 2, 2), ((0, 1), (0, 2), (1, 2)))
    strategy = Strategy.alike("residuals", wanted, DiscreteGaussian(12))
    pattern = row_pattern("residuals", wanted)
    largest = {place: max(shift for at, shift, _ in pattern if at == place) for place, _, _ in pattern}
    own = tuple((place, shift, 1) for place, shift in largest.items())
    truth, forgetful = pattern_loss(strategy.noises, pattern), pattern_loss(strategy.noises, own)
    assert forgetful.delta("0.5") < truth.delta("0.5") / 2


def test_neither_a_removed_nor_a_replaced_row_is_always_the_worst() -> None:
    """With a precise total the removal of a row is dearest, which every replacement leaves as it is."""
    wanted = MarginalWorkload((3, 2), ((0, 1),))
    noises: list[IntegerNoise] = [Geometric("0.2").stretched(wanted.cells(part)) for part in wanted.residuals]
    usual = [loss.epsilon for loss in price(Strategy("residuals", wanted, tuple(noises)), "replace")]
    assert usual[0] < max(usual)
    noises[0] = Geometric(3)
    precise = [loss.epsilon for loss in price(Strategy("residuals", wanted, tuple(noises)), "replace")]
    assert precise[0] == max(precise) >= 3


# The published root mean square errors of ResidualPlanner (arXiv 2305.08175) on its Adult domain, at cost 1.
@pytest.mark.parametrize(("way", "published"), [(1, 3.047), (2, 6.359), (3, 10.515)])
def test_published_errors_of_gaussian_residuals(way: int, published: float) -> None:
    wanted = MarginalWorkload.of_ways((100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2), way)
    variances = even_variances(wanted, by_cells=True)
    total = 0.0
    for table in wanted.tables:
        for size in range(way + 1):
            for part in combinations(table, size):
                freedom = np.prod([wanted.sizes[i] - 1 for i in part])
                rest = wanted.cells(table) / wanted.cells(part)
                total += variances[part] * float(freedom) / rest
    assert (total / sum(map(wanted.cells, wanted.tables))) ** 0.5 == pytest.approx(published, abs=6e-4)


def test_variances_that_make_the_worst_table_most_exact() -> None:
    wanted = MarginalWorkload.of_ways(ADULT, 2)
    even, summed = even_variances(wanted), even_variances(wanted, by_cells=True)

    def errors(variances: dict) -> list[float]:
        noises = tuple(
            scaled(DiscreteGaussian(100), variances[part] ** 0.5 * wanted.cells(part))
            for part in wanted.residuals
        )
        strategy = Strategy("residuals", wanted, noises)
        return [strategy.variance(table) for table in wanted.tables]

    assert max(errors(even)) <= min(errors(even)) * 1.01
    assert max(errors(even)) < max(errors(summed))
    cost = sum(
        float(np.prod([1 - 1 / wanted.sizes[i] for i in part])) / even[part] for part in wanted.residuals
    )
    assert cost == pytest.approx(1)


def test_errors_at_pure_epsilon_1() -> None:
    wanted = MarginalWorkload.of_ways(ADULT, 2)
    found = plan(
        wanted,
        Budget.pure(1),
        lambda name, tables: Geometric(f"1/{tables}") if name == "geometric" else None,
        {"geometric": Geometric("0.01"), "Gaussian": DiscreteGaussian(100)},
    )
    assert [(each.strategy.kind, each.noise) for each in found] == [
        ("joint", "geometric"),
        ("plain", "geometric"),
        ("residuals", "geometric"),
    ]
    root_mean_squares = [float(np.sqrt(np.mean(np.square(each.errors)))) for each in found]
    assert root_mean_squares[0] <= 33.0
    assert root_mean_squares[1] == pytest.approx(39.6, abs=0.05)
    assert found[0].certified
    assert keeps(price(found[0].strategy), Budget.pure(1))


def test_predicted_errors_of_residuals_at_epsilon_1_and_delta_1e_6() -> None:
    wanted, budget = MarginalWorkload.of_ways(ADULT, 2), Budget.approximate(1, "1e-6")
    found = residual_strategy(wanted, DiscreteGaussian(1000), budget, certify=False)
    assert found is not None
    errors = [found.variance(table) ** 0.5 for table in wanted.tables]
    assert max(errors) <= 17.7
    assert max(errors) <= min(errors) * 1.005


def test_residuals_keep_a_budget_for_certain() -> None:
    wanted, budget = MarginalWorkload.of_ways((4, 3, 2), 2), Budget.approximate(1, "1e-6")
    for neighbours in ("add-remove", "replace"):
        found = residual_strategy(wanted, DiscreteGaussian(100), budget, neighbours)
        assert found is not None
        losses = price(found, neighbours)
        assert max(loss.delta(1) for loss in losses) <= 1e-6
        # And spend it: two per cent less noise would not.
        less = Strategy("residuals", wanted, tuple(scaled(noise, 0.98) for noise in found.noises))
        assert not keeps(price(less, neighbours), budget)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "shape", [Geometric("0.01"), PiecewiseGeometric(["0.005", "0.02"], [120])], ids=["geometric", "two rates"]
)
def test_residuals_spend_a_pure_budget_and_keep_it(shape: IntegerNoise, neighbours: str) -> None:
    wanted, budget = MarginalWorkload.of_ways((4, 3, 2), 2), Budget.pure("0.5")
    found = residual_strategy(wanted, shape, budget, neighbours)
    assert found is not None
    worst = max(loss.worst for loss in price(found, neighbours))
    assert 0.49 <= worst <= 0.5


@pytest.mark.parametrize("kind", ["joint", "residuals"])
def test_predictions_are_within_3_per_cent_of_a_simulation(kind: Kind) -> None:
    wanted, runs = MarginalWorkload.of_ways(ADULT, 2), 60
    strategy = Strategy.alike(kind, wanted, Geometric("0.1"))
    squares = dict.fromkeys(wanted.tables, 0.0)
    for _ in range(runs):
        noisy = {
            each: np.asarray(noise.sample(wanted.shape(each)))
            for each, noise in zip(strategy.measured, strategy.noises, strict=True)
        }
        for table, found in strategy.estimate(noisy).items():
            squares[table] += float(np.mean(found**2)) / runs
    simulated = np.mean(list(squares.values())) ** 0.5
    predicted = np.mean([strategy.variance(table) for table in wanted.tables]) ** 0.5
    assert simulated == pytest.approx(predicted, rel=0.03)


def test_information_of_wide_noise() -> None:
    assert information(Geometric("0.001")) == pytest.approx(2, rel=1e-3)
    assert information(DiscreteGaussian(50)) == 1
    assert 1 < information(PiecewiseGeometric(["0.0005552", "0.001918"], [1103])) < 1.2


def test_scaled_noise_keeps_its_shape() -> None:
    for noise in (
        Geometric("0.01"),
        PiecewiseGeometric(["0.01", "0.03", "0.05"], [50, 100]),
        DiscreteGaussian(80),
    ):
        assert scaled(noise, 2.5).std() == pytest.approx(2.5 * noise.std(), rel=0.01)
        assert scaled(noise, 0.01).std() == pytest.approx(0.01 * noise.std(), rel=0.6)


def test_the_normal_deviation_is_that_of_the_analytic_gaussian() -> None:
    loss = pattern_loss([DiscreteGaussian(str(round(100 * normal_sigma(1, 1e-6, 1), 2)))], ((0, 100, 1),))
    assert loss.delta(1) == pytest.approx(1e-6, rel=0.01)


def test_residuals_that_take_too_long_to_price_are_not_tried() -> None:
    few, many = MarginalWorkload.of_ways((5,) * 8, 3), MarginalWorkload.of_ways((5,) * 14, 3)
    assert can_be_residuals(few, "add-remove")
    assert not can_be_residuals(few, "replace")
    assert not can_be_residuals(few, "persons")
    assert can_be_residuals(MarginalWorkload.of_ways((5,) * 6, 2), "replace")
    assert not can_be_residuals(many, "add-remove")
    noise = Geometric("0.01")
    found = plan(many, Budget.pure(1), lambda name, tables: noise, {"geometric": noise})
    assert {candidate.strategy.kind for candidate in found} == {"plain", "joint"}


def test_a_limit_is_kept_exactly_and_not_to_the_nearest_float() -> None:
    """The float nearest to a tenth is above it; a loss of just that delta does not keep a tenth."""

    class Loss:
        worst, zeta = inf, 0.1

        def delta(self, epsilon: Fraction) -> float:
            return 0.1

    for budget in (Budget.approximate(1, "0.1"), Budget.zeta("0.1", max_epsilon=9)):
        assert not keeps([Loss()], budget)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (Budget.pure(2), True),
        (Budget.pure("1.99"), False),
        (Budget.zeta("0.1", max_epsilon=2), True),
        (Budget.zeta("0.1", max_epsilon="1.99"), False),
        (Budget.zeta("0.09", max_epsilon=2), False),
        (Budget.approximate(1, "1e-6"), True),
        (Budget.approximate(1, "0.9e-6"), False),
    ],
)
def test_a_loss_keeps_a_budget_in_every_figure_that_the_budget_limits(budget: Budget, kept: bool) -> None:
    """A small delta is no excuse where a budget has none."""
    loss = SimpleNamespace(
        worst=2, zeta=0.09375, delta=lambda epsilon: 1e-6 * (1 - 1e-9), renyi=lambda order: 9
    )
    assert keeps([loss], budget) is kept  # type: ignore[list-item]
    # Of several losses, one that does not keep it is enough; a Rényi order must not hide it.
    harmless = SimpleNamespace(worst=0, zeta=0, delta=lambda epsilon: 0.0, renyi=lambda order: 0)
    assert keeps([harmless, loss], budget) is kept  # type: ignore[list-item]


@pytest.mark.parametrize("order", [2, 16, 64])
@pytest.mark.parametrize("renyi", [0.01, 0.4, 3.0])
def test_the_delta_of_a_renyi_order_is_the_largest_that_the_order_allows(order: int, renyi: float) -> None:
    """Of all losses L with E exp((order - 1)·L) of that size, those of one value give most: search it."""
    budget = Budget.approximate(1, "1e-6")
    loss = SimpleNamespace(renyi=lambda asked: {order: renyi}[asked])
    beyond = np.linspace(1e-4, 2, 20_000)
    highest = float(np.max(np.log1p(-np.exp(-beyond)) - (order - 1) * (1 + beyond - renyi)))
    found = _log_delta(loss, budget, order)  # type: ignore[arg-type]
    assert highest <= found <= highest + 1e-4
