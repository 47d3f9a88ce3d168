"""What an answer costs, from the question and the noise alone: no row is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from itertools import product
from math import prod

from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge, PrivacyLoss, privacy_loss

from .question import Question
from .sensitivity import Neighbours, grows_outward, moves

# Beyond this many ways for one neighbour to move a batch, the worst ways of its questions are added up.
_MOST_WAYS = 16


def charge_of(
    questions: Sequence[Question], noises: Sequence[Sequence[IntegerNoise]], neighbours: Neighbours
) -> Charge:
    """Return what it costs to answer the questions together, one neighbour moving all of them at once.

    `noises` lists the noise of each component of each question.

    >>> from dovetail.noise import Geometric
    >>> from dovetail.release.question import Rows
    >>> charge_of([Question(Rows())] * 2, [[Geometric(0.5)]] * 2, "add-remove").epsilon
    1000000000
    """
    ways = [
        [
            tuple(shift_loss(each[shift.component], shift.by) for shift in move)
            for move in moves(question, neighbours, all(map(grows_outward, each)))
        ]
        for question, each in zip(questions, noises, strict=True)
    ]
    if prod(map(len, ways)) <= _MOST_WAYS:
        return _worst(_joint(tuple(loss for way in choice for loss in way)) for choice in product(*ways))
    return reduce(Charge.__add__, (_worst(map(_joint, each)) for each in ways))


@lru_cache(maxsize=4096)
def shift_loss(noise: IntegerNoise, shift: int) -> PrivacyLoss:
    """Return the loss of one integer that moves by at most `shift`; kept, as sessions repeat their noise."""
    return privacy_loss(noise, sensitivity=shift)


@lru_cache(maxsize=1024)
def _joint(losses: tuple[PrivacyLoss, ...]) -> Charge:
    """Return the exact charge of released integers that move together, each with noise of its own."""
    return reduce(PrivacyLoss.then, losses).charge()


def _worst(charges: Iterable[Charge]) -> Charge:
    """Return the entry-wise largest: it bounds whichever move happens."""
    first, *others = charges
    for other in others:
        first = Charge(
            _larger(first.epsilon, other.epsilon),
            _larger(first.zeta, other.zeta),
            tuple(_larger(mine, yours) for mine, yours in zip(first.renyi, other.renyi, strict=True)),
            max(first.delta, other.delta),
        )
    return first


def _larger(one: int | None, another: int | None) -> int | None:
    return None if one is None or another is None else max(one, another)
