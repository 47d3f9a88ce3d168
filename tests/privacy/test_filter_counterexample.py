"""Why each Rényi order owns a share of delta: "some order fits" can be spent nearly twice.

A first mechanism has a rare outcome with a large loss. After the rare outcome the analyst fills order 8,
after the common one order 2. Each order alone would keep its promise, because each counts the other branch's
outcome as cheap; taking whichever fits lets both be filled.
"""

from __future__ import annotations

from math import exp, log

import pytest

from dovetail.privacy import ORDERS, Budget, Charge, PrivacyLoss

EPSILON, DELTA = 12.0, 1e-3
LOW, HIGH = 2, 8
RARE, LOSS = 0.05, 1.5


def limit(order: int, share: float = 1.0) -> float:
    bonus = log(DELTA * share) + log(order - 1) - order * log(1 - 1 / order)
    return EPSILON + bonus / (order - 1)


def two_outcomes(mass: float, loss: float) -> tuple[list[float], list[float]]:
    return [mass, 1 - mass], [mass * exp(-loss), 1 - mass * exp(-loss)]


def fills(order: int, room: float, already: float) -> tuple[list[float], list[float]]:
    """Return the mechanism that makes the most of a Rényi room at an order, after a loss `already` made."""
    loss = EPSILON - already + log(order / (order - 1))
    low, high = 0.0, 1.0
    for _ in range(200):
        mass = (low + high) / 2
        if PrivacyLoss.from_pmfs(*two_outcomes(mass, loss)).renyi(order) <= room:
            low = mass
        else:
            high = mass
    return two_outcomes(low, loss)


@pytest.fixture(scope="module")
def attack():
    """Return the first mechanism and the second ones after its rare and its common outcome."""
    first = two_outcomes(RARE, LOSS)
    spent = PrivacyLoss.from_pmfs(*first)
    common = log(first[0][1] / first[1][1])
    after_rare = fills(HIGH, limit(HIGH) - spent.renyi(HIGH) - 1e-8, LOSS)
    after_common = fills(LOW, limit(LOW) - spent.renyi(LOW) - 1e-8, common)
    return first, after_rare, after_common


def charge(pair) -> Charge:
    return PrivacyLoss.from_pmfs(*pair).charge()


def delta_of_the_whole(first, after_rare, after_common) -> float:
    p = [first[0][i] * x for i, second in enumerate((after_rare, after_common)) for x in second[0]]
    q = [first[1][i] * x for i, second in enumerate((after_rare, after_common)) for x in second[1]]
    return PrivacyLoss.from_pmfs(p, q).delta(EPSILON)


def test_the_unweighted_filter_admits_the_attack_and_is_not_private(attack):
    first, after_rare, after_common = attack
    for order, second in ((HIGH, after_rare), (LOW, after_common)):
        total = charge(first) + charge(second)
        assert total.renyi[ORDERS.index(order)] <= limit(order) * 1e9  # "some order fits"
    assert delta_of_the_whole(*attack) > 1.7 * DELTA


def test_our_filter_refuses_it(attack):
    first, after_rare, after_common = attack
    budget = Budget.approximate(EPSILON, DELTA)
    assert budget.allows(Charge.zero(), charge(first))
    assert not budget.allows(charge(first), charge(after_rare))
    assert not budget.allows(charge(first), charge(after_common))


def test_the_same_attack_fitted_to_our_limits_stays_within_delta():
    """Fill what the shares leave: now the branches together keep the promise."""
    first = two_outcomes(RARE, LOSS)
    spent, budget = PrivacyLoss.from_pmfs(*first), Budget.approximate(EPSILON, DELTA)
    seconds = []
    for order, already, share in ((HIGH, LOSS, 1 / 24), (LOW, log(first[0][1] / first[1][1]), 1 / 72)):
        second = fills(order, limit(order, share) - spent.renyi(order) - 1e-8, already)
        assert budget.allows(charge(first), charge(second))
        seconds.append(second)
    assert 0 < delta_of_the_whole(first, *seconds) <= DELTA
