"""The slots of a plan between other releases: every order that follows the answers, by dynamic programming.

A plan is an interactive mechanism of its own. Its slots need not follow one another: an analyst may ask other
questions in between, and decide after each answer what comes next. The best strategy is computed here. It
never beats the product of the two compositions, nor what the books charge for them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import exp

import numpy as np
import pytest

from dovetail.noise import Geometric, GeometricMixture, PiecewiseGeometric
from dovetail.privacy import PrivacyLoss, privacy_loss

# A mechanism as its outcomes: (chance with the person, chance without).
Pair = tuple[tuple[float, float], ...]


def pair_of(loss: PrivacyLoss) -> Pair:
    """Return the loss as outcomes: one for each value that it takes."""
    values, masses = loss.atoms
    return tuple((float(mass), float(mass * exp(-value))) for value, mass in zip(values, masses, strict=True))


def allowed(pair: Pair) -> tuple[Pair, ...]:
    """Return uses of a slot: the largest shift either way, and a coarser answer to it."""
    turned = tuple((q, p) for p, q in pair)
    halves = (pair[: len(pair) // 2], pair[len(pair) // 2 :])
    coarse = tuple((sum(p for p, _ in half), sum(q for _, q in half)) for half in halves)
    return pair, turned, coarse


def best_delta(slot: Pair, slots: int, other: Pair, others: int, epsilon: float) -> float:
    """Return the largest delta of any strategy that uses slots and other releases in any order, or stops."""
    growth = exp(epsilon)
    moves = {"slot": allowed(slot), "other": allowed(other)}

    @cache
    def value(ratio: float, left: int, rest: int) -> float:
        """The best part of max(0, P - e^epsilon·Q) after a history of ratio P/Q, in units of its Q."""
        best = max(ratio - growth, 0.0)
        for kind, after in (("slot", (left - 1, rest)), ("other", (left, rest - 1))):
            if min(after) < 0:
                continue
            for pair in moves[kind]:
                total = sum(q * value(round(ratio * p / q, 12), *after) for p, q in pair)
                best = max(best, total)
        return best

    return value(1.0, slots, others)


CASES = [
    (GeometricMixture("0.2", 1, 5), 3, Geometric("0.5"), 2),
    (PiecewiseGeometric(("0.1", "0.3"), (4,)), 3, GeometricMixture("0.2", "0.6", 2), 2),
    (Geometric("0.4"), 4, Geometric("0.3"), 3),
]


@pytest.mark.parametrize(("noise", "slots", "other", "others"), CASES)
@pytest.mark.parametrize("share", ["0.3", "0.6", "0.9"])
def test_no_order_of_slots_and_other_releases_beats_their_product(noise, slots, other, others, share):
    plan, rest = privacy_loss(noise).compose(slots), privacy_loss(other).compose(others)
    epsilon = Fraction(share) * (plan.worst + rest.worst)
    product = plan.then(rest).delta(epsilon)
    found = best_delta(
        pair_of(privacy_loss(noise)), slots, pair_of(privacy_loss(other)), others, float(epsilon)
    )
    assert found <= product * (1 + 1e-9) + 1e-13
    assert found == pytest.approx(product, rel=1e-6)  # using everything is the best strategy


@pytest.mark.parametrize(("noise", "slots", "other", "others"), CASES)
@pytest.mark.parametrize("delta", ["0.05", "1e-3"])
def test_a_plan_charged_at_a_point_and_pure_charges_beside_it_keep_their_sum(
    noise, slots, other, others, delta
):
    """The books: (epsilon, delta) of the whole plan, and the worst cases of the others, added up."""
    one, pure = privacy_loss(noise), privacy_loss(other)
    epsilon = one.compose(slots).epsilon_at(delta) + others * float(pure.worst)
    found = best_delta(pair_of(one), slots, pair_of(pure), others, epsilon)
    assert found <= float(delta)


def test_a_plan_that_pays_for_one_slot_less_is_caught():
    noise, other = GeometricMixture("0.2", 1, 5), Geometric("0.5")
    one, pure = privacy_loss(noise), privacy_loss(other)
    epsilon = one.compose(2).epsilon_at("1e-3") + float(pure.worst)
    assert best_delta(pair_of(one), 2, pair_of(pure), 1, epsilon) <= 1e-3
    cheaper = one.compose(1).epsilon_at("1e-3") + float(pure.worst)
    assert best_delta(pair_of(one), 2, pair_of(pure), 1, cheaper) > 1e-3


def test_what_an_analyst_may_use_of_a_slot_is_dominated_by_it():
    """Otherwise the strategies above would be cheating."""
    for noise, *_ in CASES:
        loss = privacy_loss(noise)
        for pair in allowed(pair_of(loss)):
            p, q = np.array(pair).T
            for epsilon in np.linspace(0, 1, 21):
                for first, second in ((p, q), (q, p)):
                    used = float(np.maximum(first - exp(epsilon) * second, 0).sum())
                    assert used <= loss.delta(float(epsilon)) + 1e-12
