"""Choose how a question of many tables is measured: the way of least error that keeps the price."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import TypeAlias

from dovetail.answers.plan import parts_per_slot
from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, IntegerNoise, PiecewiseGeometric
from dovetail.privacy import Budget
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Calibration, Measure, Way
from dovetail.query.neighbours import Neighbours

from .calibration import PIECES, noises_at_price, noises_even, noises_shaped, whole_units
from .composition import joint_losses, payable, ways_to_move
from .sensitivity import moves, used_rows
from .stretching import covering_noises

_log = logging.getLogger("dovetail.pricing")
# How wide the noises are that only their shape is taken of.
_WIDE = 1000
# How much wider noises are made that do not keep a price together: hardly, where they are many.
_WIDER = (1.0, 1.004, 1.012, 1.03, 1.07, 1.15)
# To certify so many ways in which one neighbour can move a workload takes some ten seconds.
_MOST_CERTIFIED = 64

Noises: TypeAlias = list[tuple[IntegerNoise, ...]]


def ways_at_price(question: CheckedQuery, spend: Budget, budget: Budget, neighbours: Neighbours) -> list[Way]:
    """Return the ways to measure a question at a price, the best first; [] where there is no choice.

    >>> from dovetail.query.measures import Rows
    >>> ways_at_price(CheckedQuery(Rows()), Budget.pure(1), Budget.pure(1), "add-remove")
    []
    """
    # Which rows are counted decides nothing here.
    return list(_ways(replace(question, where=None), price_of(spend, budget), neighbours))


@lru_cache(maxsize=64)
def _ways(question: CheckedQuery, price: Budget, neighbours: Neighbours) -> tuple[Way, ...]:
    """Return the ways at a price; kept, as whoever likes a quote asks for its answer next."""
    rows = used_rows(question)

    def noise(measure: Measure, name: str) -> IntegerNoise | None:
        asked = replace(question, measure=measure)
        if price.currency == "pure":
            return noises_at_price(asked, price, neighbours)[0]
        if rows > 1 and name == GAUSSIAN:
            return None  # How several rows of a person are spread is priced for rates that grow outward only.
        listed = moves(asked, neighbours, grows=True)
        chosen = _standard_noises(price, max(map(len, listed))).get(name)
        return None if chosen is None else covering_noises(chosen, asked, listed)[0]

    task = Calibration(noise, shapes_under(price), neighbours if rows == 1 else "persons", _log.info)
    return tuple(question.measure.ways(price, task))


def shared_price(
    questions: Sequence[CheckedQuery], ways: Sequence[Sequence[Way]], price: Budget, neighbours: Neighbours
) -> tuple[list[CheckedQuery], Noises]:
    """Return how questions are measured that share a price by what they measure, and with which noises.

    All integers that a neighbour moves get the same noise. A question that is better measured unevenly keeps
    the noises that it would have for the whole price, wider by its share; then all are certified together. If
    they do not keep the price, or if that cannot be worked out, all get the same noise.
    """
    best = [
        replace(each, measure=listed[0].measure) if listed else each.settled()
        for each, listed in zip(questions, ways, strict=True)
    ]
    if len(questions) == 1:
        return best, [ways[0][0].noises]
    uneven = {place for place, listed in enumerate(ways) if listed and not listed[0].even}
    if uneven:
        noises = _uneven_noises(best, {place: ways[place][0] for place in uneven}, price, neighbours)
        if noises is not None:
            return best, noises
    settled = [each.settled() for each in questions]
    return settled, _even_noises(settled, price, neighbours, _uses(settled, neighbours))


def _uneven_noises(
    questions: Sequence[CheckedQuery], ways: Mapping[int, Way], price: Budget, neighbours: Neighbours
) -> Noises | None:
    """Return noises that keep a price, where some questions have ways of their own; None if none do."""
    from dovetail.workloads.planning import keeps, scaled

    rest = [each for place, each in enumerate(questions) if place not in ways]
    shares = {place: len(way.errors) * parts_per_slot(neighbours) for place, way in ways.items()}
    uses = _uses(rest, neighbours) + sum(shares.values())
    even = iter(_even_noises(rest, price, neighbours, uses))
    # Worst cases add up; of many small losses, the squares do.
    power = 1.0 if price.currency == "pure" else 0.5
    whole = [
        (ways[place].noises, (uses / shares[place]) ** power) if place in ways else (next(even), 1.0)
        for place in range(len(questions))
    ]
    for more in _WIDER:
        noises = [tuple(scaled(noise, width * more) for noise in each) for each, width in whole]
        if ways_to_move(questions, noises, neighbours) > _MOST_CERTIFIED:
            return None
        _log.info("certifying %d questions together", len(questions))
        if keeps(tuple(joint_losses(questions, noises, neighbours)), price):
            return noises
    return None


def _uses(questions: Sequence[CheckedQuery], neighbours: Neighbours) -> int:
    """Return how many integers one neighbour moves."""
    return sum(max(map(len, moves(each, neighbours, grows=True))) for each in questions)


def _even_noises(
    questions: Sequence[CheckedQuery], price: Budget, neighbours: Neighbours, uses: int
) -> Noises:
    """Return the same noise for all that one neighbour moves, as if it were so many integers.

    It is shaped where a delta makes it narrower.
    """
    if not questions:
        return []
    even = noises_even(questions, price.epsilon_limit * _uses(questions, neighbours) / uses, neighbours)
    shaped = noises_shaped(questions, price, neighbours, uses)
    return even if shaped is None or shaped[0][0].variance() >= even[0][0].variance() else shaped


GEOMETRIC, DESIGNED, GAUSSIAN = "geometric", "designed", "Gaussian"


def shapes_under(budget: Budget) -> dict[str, IntegerNoise]:
    """Return the shapes of noise that are tried: where no delta is paid, only the geometric one is best."""
    every = wide_shapes()
    return every if budget.currency == "approximate" else {GEOMETRIC: every[GEOMETRIC]}


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
    Budget.pure('1')
    """
    delta = payable(spend.delta_limit) if budget.currency == "approximate" else Fraction(0)
    if delta:
        return Budget.approximate(spend.epsilon_limit, delta)
    limits = [spend.epsilon_limit, *([] if spend.zeta_limit is None else [spend.zeta_limit])]
    # Whole units of a ledger, so that the charge is not one unit above the price.
    units = whole_units(min(limits))
    if not units:
        raise InvalidParameter("spend", spend, "at least 1e-9, the unit in which charges are counted")
    return Budget.pure(units)
