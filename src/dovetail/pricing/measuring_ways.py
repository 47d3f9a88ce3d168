"""Choose how a question of many tables is measured: the way of least error that keeps the price."""

from __future__ import annotations

import logging
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from math import floor

from dovetail.noise import DiscreteGaussian, Geometric, IntegerNoise, PiecewiseGeometric
from dovetail.privacy import Budget
from dovetail.query.canonical import Question
from dovetail.query.measures import Calibration, Measure, Way
from dovetail.query.neighbours import Neighbours

from .calibration import PIECES, noises_at_price
from .composition import payable
from .sensitivity import moves, used_rows
from .stretching import covering_noises

_log = logging.getLogger("dovetail.pricing")
_UNIT = 10**9
# How wide the noises are that only their shape is taken of.
_WIDE = 1000


def ways_at_price(question: Question, spend: Budget, budget: Budget, neighbours: Neighbours) -> list[Way]:
    """Return the ways to measure a question at a price, the best first; [] where there is no choice.

    >>> from dovetail.query.measures import Rows
    >>> ways_at_price(Question(Rows()), Budget.pure(1), Budget.pure(1), "add-remove")
    []
    """
    price, rows = price_of(spend, budget), used_rows(question)

    def noise(measure: Measure, name: str) -> IntegerNoise | None:
        asked = replace(question, measure=measure)
        if price.currency == "pure":
            return noises_at_price(asked, price, neighbours)[0]
        if rows > 1 and name == GAUSSIAN:
            return None  # How several rows of a person are spread is priced for rates that grow outward only.
        listed = moves(asked, neighbours, grows=True)
        chosen = _standard_noises(price, max(map(len, listed))).get(name)
        return None if chosen is None else covering_noises(chosen, asked, listed)[0]

    shapes = wide_shapes() if price.currency == "approximate" else {GEOMETRIC: wide_shapes()[GEOMETRIC]}
    return question.measure.ways(
        price, Calibration(noise, shapes, neighbours if rows == 1 else "persons", _log.info)
    )


GEOMETRIC, DESIGNED, GAUSSIAN = "geometric", "designed", "Gaussian"


@cache
def wide_shapes() -> dict[str, IntegerNoise]:
    """Return noises by name, wide enough that only their shape matters."""
    from dovetail.designer.shapes import unit_shapes

    many = unit_shapes(PIECES)[0]
    rates = [f"{rate / _WIDE:.9f}" for rate in many.rates.tolist()]
    designed = PiecewiseGeometric(rates, [round(_WIDE * point) for point in many.breaks.tolist()])
    gaussian = DiscreteGaussian(_WIDE)
    return {GEOMETRIC: Geometric(Fraction(1, _WIDE)), DESIGNED: designed, GAUSSIAN: gaussian}


@lru_cache(maxsize=32)
def _standard_noises(price: Budget, uses: int) -> dict[str, IntegerNoise]:
    """Return noises by name, each the narrowest with which so many integers that move by 1 keep the price."""
    from dovetail.designer import design

    _log.info("designing noise for %d numbers that move together", uses)
    chosen = design(epsilon=price.epsilon_limit, delta=price.delta_limit, queries=uses, pieces=PIECES)
    return {DESIGNED: chosen.noise} | {other.name: other.noise for other in chosen.alternatives}


def price_of(spend: Budget, budget: Budget) -> Budget:
    """Return the price at which ways are compared: with a delta where the budget can pay one, else pure.

    >>> price_of(Budget.approximate(1, "1e-6"), Budget.pure(3))
    Budget.pure(1)
    """
    delta = payable(spend.delta_limit) if budget.currency == "approximate" else Fraction(0)
    if delta:
        return Budget.approximate(spend.epsilon_limit, delta)
    limits = [spend.epsilon_limit, *([] if spend.zeta_limit is None else [spend.zeta_limit])]
    # Whole units of a ledger, so that the charge is not one unit above the price.
    return Budget.pure(Fraction(floor(min(limits) * _UNIT), _UNIT))
