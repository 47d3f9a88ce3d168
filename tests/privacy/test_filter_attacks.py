"""The (epsilon, delta) filter against its best adaptive attacker, found by dynamic programming.

An attacker picks the next mechanism after every outcome, among a few with known outcomes. What is left
beyond epsilon is the mean of max(1 - exp(epsilon - loss), 0) at the end; the state is the loss and the charge
so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.privacy import Budget, Charge, PrivacyLoss
from dovetail.privacy.budget import WEIGHTS, renyi_limits
from dovetail.privacy.charge import DELTA_UNIT, UNIT

Allows = Callable[[Charge, Charge], bool]


@dataclass(frozen=True)
class Mechanism:
    """Chances of outcomes on one table, their losses, and what the mechanism is charged."""

    outcomes: tuple[tuple[float, float], ...]
    charge: Charge


def mechanism(p: list[float], q: list[float], charge: Charge) -> Mechanism:
    pairs = [(mine, yours) for mine, yours in zip(p, q, strict=True) if mine > 0]
    return Mechanism(tuple((mine, log(mine / yours) if yours else inf) for mine, yours in pairs), charge)


def response(epsilon: str) -> Mechanism:
    likely = exp(float(epsilon)) / (1 + exp(float(epsilon)))
    return mechanism([likely, 1 - likely], [1 - likely, likely], Charge.approximate(epsilon))


def skewed(rare: str, ratio: int, turned: bool) -> Mechanism:
    """Rarely lose much, else next to nothing; charged by its own Rényi curve."""
    one = [Fraction(rare), 1 - Fraction(rare)]
    two = [Fraction(rare) / ratio, 1 - Fraction(rare) / ratio]
    p, q = (two, one) if turned else (one, two)
    return mechanism(list(map(float, p)), list(map(float, q)), PrivacyLoss.from_pmfs(p, q).charge())


def leak(epsilon: str, delta: Fraction) -> Mechanism:
    """Give everything away with probability delta, else answer at random with epsilon."""
    likely, small = exp(float(epsilon)) / (1 + exp(float(epsilon))), float(delta)
    p = [likely * (1 - small), (1 - likely) * (1 - small), small, 0.0]
    return mechanism(p, [p[1], p[0], 0.0, small], Charge.approximate(epsilon, delta))


def best_attack(allows: Allows, epsilon: float, mechanisms: list[Mechanism], rounds: int) -> float:
    known: dict[tuple[float, Charge, int], float] = {}

    def value(loss: float, spent: Charge, left: int) -> float:
        if loss == inf:
            return 1.0
        key = (round(loss, 9), spent, left)
        if key not in known:
            best = max(-exp(epsilon - loss) + 1, 0.0)
            for each in mechanisms if left else ():
                if allows(spent, each.charge):
                    total = spent + each.charge
                    found = sum(p * value(loss + more, total, left - 1) for p, more in each.outcomes)
                    best = max(best, found)
            known[key] = best
        return known[key]

    return value(0.0, Charge.zero(), rounds)


deltas = st.sampled_from([Fraction(1, 20), Fraction(1, 10), Fraction(2, 5)])
shares = st.sampled_from([Fraction(1, 20), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(1)])


@st.composite
def attacks(draw: st.DrawFn) -> tuple[Budget, list[Mechanism]]:
    budget = Budget.approximate(draw(st.sampled_from(["0.5", "1", "2"])), draw(deltas))
    responses = draw(st.lists(st.sampled_from(["0.1", "0.3", "1", "2"]), max_size=2, unique=True))
    rare = st.tuples(st.sampled_from(["0.001", "0.01", "0.1"]), st.sampled_from([2, 20]), st.booleans())
    leaks = draw(st.lists(st.tuples(st.sampled_from(["0", "0.2", "1"]), shares), max_size=2))
    found = [response(epsilon) for epsilon in responses]
    found += [skewed(*each) for each in draw(st.lists(rare, max_size=2))]
    found += [leak(epsilon, share * budget.delta_limit) for epsilon, share in leaks]
    return budget, found


@settings(max_examples=60, deadline=None)
@given(attacks())
def test_no_strategy_leaves_more_than_delta(attack: tuple[Budget, list[Mechanism]]) -> None:
    budget, mechanisms = attack
    reached = best_attack(budget.allows, float(budget.epsilon_limit), mechanisms, 6)
    assert reached <= float(budget.delta_limit) * (1 + 1e-12)


def test_the_whole_of_delta_can_be_reached() -> None:
    budget = Budget.approximate(1, Fraction(1, 10))
    reached = best_attack(budget.allows, 1.0, [leak("1", Fraction(1, 10))], 3)
    assert reached == pytest.approx(0.1, rel=1e-12)


def test_a_filter_that_lets_orders_and_events_have_all_of_delta_each_is_caught() -> None:
    budget = Budget.approximate(1, Fraction(1, 10))
    limits = [
        renyi_limits(budget.epsilon_limit, budget.delta_limit * 2 / weight)[place]
        for place, weight in enumerate(WEIGHTS)
    ]

    def loose(spent: Charge, charge: Charge) -> bool:
        total = spent + charge
        if total.delta_units * DELTA_UNIT > budget.delta_limit:
            return False
        curve = zip(total.renyi, limits, strict=True)
        return any(used is not None and used <= limit for used, limit in curve) or (
            total.epsilon is not None and total.epsilon_units * UNIT <= budget.epsilon_limit
        )

    mechanisms = [leak("0.2", Fraction(1, 10)), response("1"), response("0.3"), skewed("0.1", 20, False)]
    assert best_attack(loose, 1.0, mechanisms, 6) > 0.1 * 1.7
    assert best_attack(budget.allows, 1.0, mechanisms, 6) <= 0.1
