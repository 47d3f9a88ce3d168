"""Numbers that other libraries publish in their own tests and pages, as oracles; only the numbers are theirs.

dp_accounting: Google's differential-privacy repository, python/dp_accounting (Apache 2.0), the tests of its
privacy loss mechanisms and distributions, of its accountant and of its Rényi accountant.
OpenDP: its user guide (thresholded noise, randomized response, measure casting, typical workflow).
Their Laplace has a scale, ours a rate; `delta` at a negative epsilon is not asked of us.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest

from dovetail.noise import DiscreteGaussian, Geometric, Laplace
from dovetail.pricing.partition_selection import threshold_for
from dovetail.privacy import PrivacyLoss, privacy_loss
from dovetail.privacy.normal import normal_sigma
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Rows

# Scale, sensitivity, epsilon and the delta there.
LAPLACE = [
    (1, 1, 1, 0),
    (3, 3, 1, 0),
    (2, 4, 2, 0),
    (2, 4, 0.5, 0.52763345),
    (1, 1, 0, 0.39346934),
    (2, 2, 0, 0.39346934),
]
# Rate, sensitivity, epsilon and the delta there.
DISCRETE_LAPLACE = [
    ("1", 1, 1, 0),
    ("0.333333", 3, 1, 0),
    ("0.5", 4, 2, 0),
    ("0.5", 4, 0.5, 0.54202002),
    ("0.5", 4, 1, 0.39346934),
    ("0.5", 4, 0, 0.63212056),
]
# The same after a row is taken with a chance only: rate, sensitivity, chance, epsilon, delta if it is added,
# and if it is removed.
SAMPLED = [
    (0.5, 4, 0.7, 0.5, 0.2293628348747755, 0.3523838505224567),
    (0.5, 4, 0.3, 0.5, 0.0, 0.1068168460276349),
    (0.5, 4, 0.2, 0.1, 0.058632421, 0.11181698),
    (0.5, 4, 0.2, 0.2, 0.0, 0.095673604),
    (0.5, 4, 0.2, 0.3, 0.0, 0.07817137),
    (0.5, 4, 0.2, 0.0, 0.12642411, 0.12642411),
]
# Sensitivity, epsilon, delta, and the standard deviation of the Gaussian that has them.
GAUSSIAN = [
    (1, 1, 0.12693674, 1),
    (2, 1, 0.12693674, 2),
    (3, 1, 0.78760074, 1),
    (6, 1, 0.78760074, 2),
    (1, 2, 0.02092364, 1),
    (5, 2, 0.02092364, 5),
    (1, 16, 1.016e-05, 0.344),
    (2, 16, 1.016e-05, 0.688),
]
# The same for the discrete Gaussian; its standard deviations are told to three digits.
DISCRETE_GAUSSIAN = [
    (1, 1, 0.12693674, "1.041"),
    (2, 1, 0.12693674, "1.972"),
    (3, 1, 0.78760074, "0.993"),
    (6, 1, 0.78760074, "2.014"),
    (1, 2, 0.02092364, "1.038"),
    (5, 2, 0.02092364, "5.008"),
    (1, 16, 1e-5, "0.306"),
    (2, 16, 1e-5, "0.703"),
]
# Chance that the answer is random, answers, Rényi divergences of orders 2.5, 5, 50 and 100, the worst case.
RANDOMIZED_RESPONSE = [
    (
        0.3,
        10,
        (2.983865364029, 3.113169700705, 3.185424484218, 3.188668256068, 3.191847152480),
    ),
    (
        0.05,
        20,
        (5.910360162307, 5.930633082132, 5.941806208352, 5.942307807733, 5.942799375127),
    ),
    (
        0.01,
        3,
        (5.692634596035, 5.695421239468, 5.696956976543, 5.697025920969, 5.697093486505),
    ),
]


@pytest.mark.parametrize(("scale", "sensitivity", "epsilon", "delta"), LAPLACE)
def test_laplace_of_dp_accounting(scale: int, sensitivity: int, epsilon: float, delta: float) -> None:
    loss = privacy_loss(Laplace(Fraction(1, scale)), sensitivity=sensitivity)
    assert loss.delta(epsilon) == pytest.approx(delta, abs=1e-8)


@pytest.mark.parametrize(("rate", "sensitivity", "epsilon", "delta"), DISCRETE_LAPLACE)
def test_discrete_laplace_of_dp_accounting(rate: str, sensitivity: int, epsilon: float, delta: float) -> None:
    loss = privacy_loss(Geometric(rate), sensitivity=sensitivity)
    assert loss.delta(epsilon) == pytest.approx(delta, abs=1e-8)


@pytest.mark.parametrize(
    ("rate", "sensitivity", "masses"),
    [("1", 1, {1: 0.73105858, -1: 0.26894142}), ("0.3", 2, {0.6: 0.57444252, -0.6: 0.31526074})],
)
def test_the_ends_of_a_discrete_laplace_s_loss(
    rate: str, sensitivity: int, masses: dict[float, float]
) -> None:
    values, chances = privacy_loss(Geometric(rate), sensitivity=sensitivity).atoms
    found = dict(zip(np.round(values, 9).tolist(), chances.tolist(), strict=True))
    for value, mass in masses.items():
        assert found[value] == pytest.approx(mass, abs=1e-8)


@pytest.mark.parametrize(("rate", "sensitivity", "chance", "epsilon", "added", "removed"), SAMPLED)
def test_a_sampled_discrete_laplace_is_a_mechanism_of_one_s_own(
    rate: float, sensitivity: int, chance: float, epsilon: float, added: float, removed: float
) -> None:
    k = np.arange(-200, 201)
    without = np.exp(-rate * np.abs(k))
    with_it = np.exp(-rate * np.abs(k + sensitivity))
    without, with_it = without / without.sum(), with_it / with_it.sum()
    mixed = chance * with_it + (1 - chance) * without
    for one, other, delta in ((without, mixed, added), (mixed, without, removed)):
        direct = float(np.maximum(one - exp(epsilon) * other, 0).sum())
        assert direct == pytest.approx(delta, abs=1e-8), "the case is read as it is meant"
    # What an adversary gains from the better one of both directions.
    loss = PrivacyLoss.from_pmfs(list(mixed / mixed.sum()), list(without))
    assert loss.delta(epsilon) == pytest.approx(max(added, removed), abs=1e-8)


@pytest.mark.parametrize(("sensitivity", "epsilon", "delta", "deviation"), GAUSSIAN)
def test_gaussians_of_dp_accounting(sensitivity: int, epsilon: int, delta: float, deviation: float) -> None:
    assert sensitivity * normal_sigma(epsilon, delta, 1) == pytest.approx(deviation, rel=2e-4)


@pytest.mark.parametrize(("sensitivity", "epsilon", "delta", "sigma"), DISCRETE_GAUSSIAN)
def test_discrete_gaussians_of_dp_accounting(
    sensitivity: int, epsilon: int, delta: float, sigma: str
) -> None:
    """The sigma that they find meets delta within its last digit, and one that is 1 % smaller does not."""
    wide, narrow = Fraction(sigma) + Fraction(1, 1000), Fraction(sigma) * Fraction(99, 100)
    assert privacy_loss(DiscreteGaussian(wide), sensitivity=sensitivity).delta(epsilon) <= delta * 1.0001
    assert privacy_loss(DiscreteGaussian(narrow), sensitivity=sensitivity).delta(epsilon) > delta


@pytest.mark.parametrize(("chance", "answers", "divergences"), RANDOMIZED_RESPONSE)
def test_randomized_response_of_dp_accounting(
    chance: float, answers: int, divergences: tuple[float, ...]
) -> None:
    kept, other = 1 - chance + chance / answers, chance / answers
    rest = [other] * (answers - 2)
    loss = PrivacyLoss.from_pmfs([kept, other, *rest], [other, kept, *rest])
    *finite, worst = divergences
    assert [loss.renyi(order) for order in ("2.5", 5, 50, 100)] == pytest.approx(finite, rel=1e-9)
    assert loss.epsilon == pytest.approx(worst, rel=1e-11)


def test_losses_of_any_two_distributions_of_dp_accounting() -> None:
    """The larger one of both directions; an outcome that only one of them has is lost whatever epsilon is."""
    loss = PrivacyLoss.from_pmfs([0.5, 0.5], [0.6, 0.4])
    assert loss.delta(0) == pytest.approx(0.1)
    assert loss.delta(log(1.1)) == pytest.approx(0.06)
    unequal = PrivacyLoss.from_pmfs([0.2, 0.2, 0.6, 0], [0.5, 0.4, 0, 0.1])
    assert unequal.epsilon == inf
    assert unequal.delta(0) == pytest.approx(0.6)
    assert unequal.delta(log(1.1)) == pytest.approx(0.6)


def test_two_mechanisms_of_dp_accounting_compose_to_their_product() -> None:
    first = PrivacyLoss.from_pmfs([0.2, 0.2, 0.6, 0], [0.5, 0.2, 0, 0.3])
    second = PrivacyLoss.from_pmfs([0.4, 0.6, 0], [0, 0.7, 0.3])
    p = {"11": 0.08, "12": 0.12, "21": 0.08, "22": 0.12, "31": 0.24, "32": 0.36}
    q = {"12": 0.35, "13": 0.15, "22": 0.14, "23": 0.06, "42": 0.21, "43": 0.09}
    both = first.then(second)
    for epsilon in (0, 0.5):
        one, other = (
            sum(max(a.get(key, 0) - exp(epsilon) * b.get(key, 0), 0) for key in {*p, *q})
            for a, b in ((p, q), (q, p))
        )
        assert both.delta(epsilon) == pytest.approx(max(one, other), abs=1e-8)


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "queries", "rate"), [(1, 1, 20, 0.073), (5, 1, 20, 0.014)]
)
def test_the_smallest_discrete_laplace_noise_of_dp_accounting(
    sensitivity: int, epsilon: int, queries: int, rate: float
) -> None:
    """At delta 1e-4; they tell the rate to 0.001."""
    deltas = [
        privacy_loss(Geometric(f"{rate + more:.4f}"), sensitivity=sensitivity).compose(queries).delta(epsilon)
        for more in (-0.001, 0.001)
    ]
    assert deltas[0] <= 1e-4 < deltas[1]


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "queries", "scale"), [(1, 1, 20, "13.6"), (1, 1, 500, "71.0")]
)
def test_the_smallest_laplace_noise_of_dp_accounting(
    sensitivity: int, epsilon: int, queries: int, scale: str
) -> None:
    """At delta 1e-4; they tell the scale to 0.1."""
    deltas = [
        privacy_loss(Laplace(1 / (Fraction(scale) + more)), sensitivity=sensitivity)
        .compose(queries)
        .delta(epsilon)
        for more in (Fraction(1, 10), -Fraction(1, 10))
    ]
    assert deltas[0] <= 1e-4 < deltas[1]


def test_a_threshold_of_opendp_has_their_delta() -> None:
    """Scale 1 and a threshold of 10, which a noisy count of one row has to pass: 3.319000812207484e-05."""
    found = threshold_for(CheckedQuery(Rows()), Geometric(1), 33_190_008_122_075 + 10**6)
    assert found.least == 11
    # Theirs is rounded up a little more.
    assert exp(-10) / (1 + exp(-1)) * 1e18 <= found.units <= 3.319000812207484e-05 * 1e18


def test_the_accuracy_of_discrete_laplace_noise_of_opendp() -> None:
    """At scale 3 an error of 9.445721638273584 or more has a chance of 0.05; they take its floor."""
    noise = Geometric("1/3")
    decay = exp(-1 / 3)
    assert log(0.05 * (1 + decay) / 2) / log(decay) == pytest.approx(9.445721638273584, rel=1e-12)
    assert noise.quantile_abs("0.95") == 9
    assert noise.within(9) >= 0.95 > noise.within(8)


@pytest.mark.parametrize(("kept", "answers", "epsilon"), [(0.75, 2, 1.0986), (0.75, 4, 2.197)])
def test_randomized_response_of_opendp(kept: float, answers: int, epsilon: float) -> None:
    other = (1 - kept) / (answers - 1)
    rest = [other] * (answers - 2)
    loss = PrivacyLoss.from_pmfs([kept, other, *rest], [other, kept, *rest])
    assert loss.epsilon == pytest.approx(epsilon, abs=1e-3)


@pytest.mark.parametrize(("delta", "epsilon"), [("1e-6", 11.688596249354896), ("1e-8", 13.3861046488579)])
def test_a_gaussian_costs_no_more_than_opendp_s_curve(delta: str, epsilon: float) -> None:
    """Theirs follows from zero-concentrated privacy alone; the exact epsilon lies a little below."""
    found = privacy_loss(DiscreteGaussian(50), sensitivity=100).epsilon_at(delta)
    assert epsilon * 0.93 < found < epsilon
