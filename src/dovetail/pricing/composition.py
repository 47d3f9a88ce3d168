"""What an answer costs, from the question and the noise alone: no row is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from math import prod
from typing import TypeAlias

from dovetail.noise import IntegerNoise
from dovetail.privacy import Budget, Charge, PrivacyLoss, privacy_loss
from dovetail.privacy.charge import DELTA_UNIT
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Move
from dovetail.query.neighbours import Neighbours

from .sensitivity import grows_outward, moves

# Beyond this many ways for one neighbour to move a batch, the worst ways of its questions are added up.
MOST_WAYS = 16
_MOST_NOISES = 64


def charge_of(
    questions: Sequence[CheckedQuery], noises: Sequence[Sequence[IntegerNoise]], neighbours: Neighbours
) -> Charge:
    """Return what it costs to answer the questions together, one neighbour moving all of them at once.

    `noises` lists the noise of each component of each question.

    >>> from dovetail.noise import Geometric
    >>> from dovetail.query.measures import Rows
    >>> charge_of([CheckedQuery(Rows())] * 2, [[Geometric(0.5)]] * 2, "add-remove").epsilon
    Decimal('1')
    """
    ways = _ways(questions, noises, neighbours)
    if prod(map(len, ways)) <= MOST_WAYS:
        joint = (_joint(tuple(shift for way in choice for shift in way)) for choice in product(*ways))
        return Charge.largest(*joint)
    return reduce(Charge.__add__, (Charge.largest(*map(_joint, each)) for each in ways))


def planned_charge(
    questions: Sequence[CheckedQuery],
    noises: Sequence[Sequence[IntegerNoise]],
    neighbours: Neighbours,
    price: Budget,
    budget: Budget,
    spent: Charge,
) -> Charge:
    """Return the charge of answers that were planned to keep a price all together.

    The price itself is a valid charge. Where one neighbour can move the answers in many ways, or integers of
    very many noises, it is taken as it is: to work out the cost in every currency would take minutes.
    """
    many = sum(map(len, noises)) > _MOST_NOISES and price.currency == "approximate"
    if many or ways_to_move(questions, noises, neighbours) > MOST_WAYS:
        return Charge.approximate(price.epsilon_limit, price.delta_limit)
    return at_price(charge_of(questions, noises, neighbours), price, budget, spent)


def joint_losses(
    questions: Sequence[CheckedQuery], noises: Sequence[Sequence[IntegerNoise]], neighbours: Neighbours
) -> Iterator[PrivacyLoss]:
    """Yield the loss of all questions together, for each way in which one neighbour can move them."""
    for choice in product(*_ways(questions, noises, neighbours)):
        yield _composed(tuple(shift for way in choice for shift in way))


def ways_to_move(
    questions: Sequence[CheckedQuery], noises: Sequence[Sequence[IntegerNoise]], neighbours: Neighbours
) -> int:
    """Return in how many ways one neighbour can move the questions."""
    return prod(
        len(moves(question, neighbours, all(map(grows_outward, each))))
        for question, each in zip(questions, noises, strict=True)
    )


_Shifts: TypeAlias = tuple[tuple[IntegerNoise, int, int], ...]
"""Released integers that move together: their noise, how far each moves, and how many do."""


def _ways(
    questions: Sequence[CheckedQuery], noises: Sequence[Sequence[IntegerNoise]], neighbours: Neighbours
) -> list[list[_Shifts]]:
    """Return for each question what each of its moves shifts."""
    return [
        [_counted(move, each) for move in moves(question, neighbours, all(map(grows_outward, each)))]
        for question, each in zip(questions, noises, strict=True)
    ]


def _counted(move: Move, noises: Sequence[IntegerNoise]) -> _Shifts:
    counts = Counter((noises[shift.component], shift.by) for shift in move)
    return tuple((noise, by, count) for (noise, by), count in counts.items())


@lru_cache(maxsize=512)
def _joint(shifts: _Shifts) -> Charge:
    """Return the exact charge of released integers that move together, each with noise of its own."""
    return _composed(shifts).charge()


def _composed(shifts: _Shifts) -> PrivacyLoss:
    losses = (privacy_loss(noise, sensitivity=by).compose(count) for noise, by, count in shifts)
    return reduce(PrivacyLoss.then, losses)


def at_price(charge: Charge, spend: Budget, budget: Budget, spent: Charge) -> Charge:
    """Return the charge of answers whose noise keeps the (epsilon, delta) of `spend` all together.

    That point is a valid charge too. The noise's own one is kept where its worst case lies within the price.
    """
    if charge.epsilon is not None and charge.epsilon <= spend.epsilon_limit:
        return charge
    point = Charge.approximate(spend.epsilon_limit, payable(spend.delta_limit))
    return cheapest([charge, point], budget, spent)


def cheapest(ways: Sequence[Charge], budget: Budget, spent: Charge) -> Charge:
    """Return, of several valid charges for one release, the one that leaves most of the budget.

    Ways come with growing delta, and a later one must leave visibly more. One that takes more than half of
    delta closes the Rényi way for good, so it is only taken where no other is allowed; where none is, the
    last one is returned, for the account to refuse.
    """
    allowed = [charge for charge in ways if budget.allows(spent, charge)]
    keeping = [each for each in allowed if 2 * Fraction((spent + each).delta) <= budget.delta_limit]
    best, left = ways[-1], Fraction(-1)
    for charge in keeping or allowed:
        rest = Fraction(budget.remaining(spent + charge).epsilon)
        if rest > left + budget.epsilon_limit / 100 or left < 0:
            best, left = charge, rest
    return best


def payable(delta: Fraction) -> Fraction:
    """Return the largest delta up to this one that a charge can count.

    >>> payable(Fraction("1.5e-18")), payable(Fraction("1e-19"))
    (Fraction(1, 1000000000000000000), Fraction(0, 1))
    """
    return delta // DELTA_UNIT * DELTA_UNIT
