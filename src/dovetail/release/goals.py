"""Find the noise for an accuracy, for a price, or for a whole budget shared among many answers."""

from __future__ import annotations

from fractions import Fraction
from math import exp, floor, log

from dovetail.errors import InvalidQuery
from dovetail.noise import Geometric, IntegerNoise
from dovetail.privacy import Budget, privacy_loss

from .question import Average, Question
from .sensitivity import Neighbours, moves, units

# Rates are kept to this many digits: short enough to read, and rounded to the safe side.
_DIGITS = 6


def noise_within(question: Question, within: Fraction, probability: Fraction) -> IntegerNoise:
    """Return the noise of least epsilon whose error stays within the goal.

    Among all noises of a given epsilon the geometric has the most mass within any distance.

    >>> from dovetail.release.question import Rows
    >>> noise_within(Question(Rows()), Fraction(5), Fraction(95, 100))
    PiecewiseGeometric(rates=('0.538175',))
    """
    if isinstance(question.measure, Average):
        raise InvalidQuery(
            "The error of a mean depends on the number of rows, which is private. Pay with noise= or spend=; "
            "the answer's interval then says what was reached."
        )
    unit, distance = units(question)[0], int(within / question.step)
    miss = float(1 - probability)

    def misses(rate: float) -> float:
        ratio = exp(-rate / unit)
        return 2 * ratio ** (distance + 1) / (1 + ratio)

    low, high = 0.0, 2 * unit * (log(2 / miss) + 1)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if misses(middle) > miss else (low, middle)
    rate = rounded_up(high)
    while True:
        noise = Geometric(rate)
        if noise.stretched(unit).error_bound(1 - probability) <= distance:
            return noise
        rate += rounded_up(float(rate) * 10.0 ** (1 - _DIGITS))


def noise_at_price(
    question: Question, spend: Budget, neighbours: Neighbours, together: int = 1
) -> IntegerNoise:
    """Return the noise of least error that costs at most one share of `spend` among `together` questions.

    >>> from dovetail.release.question import Rows
    >>> noise_at_price(Question(Rows()), Budget.pure(1), "replace", together=2)
    PiecewiseGeometric(rates=('0.5',))
    """
    # A shift beyond the unit costs in proportion, so the largest total of shifts decides.
    widths = units(question)
    share = max(
        sum(Fraction(s.by, widths[s.component]) for s in move) for move in moves(question, neighbours)
    )
    epsilon = spend.epsilon_limit if spend.zeta_limit is None else min(spend.epsilon_limit, spend.zeta_limit)
    # Whole units of 1e-9, so that the charges of a batch add up to the price and not to a unit more.
    return Geometric(Fraction(floor(epsilon / share / together * 10**9), 10**9))


def noise_of_budget(budget: Budget, answers: int) -> IntegerNoise:
    """Return the geometric noise of least error of which `answers` uses cost at most the whole budget.

    >>> noise_of_budget(Budget.pure(1), 10)
    PiecewiseGeometric(rates=('0.1',))
    """
    if budget.currency == "pure":
        return Geometric(budget.epsilon_limit / answers)
    least = min(budget.epsilon_limit, budget.zeta_limit or budget.epsilon_limit)
    low, high = least / answers, budget.epsilon_limit
    for _ in range(24):
        middle = round((low + high) / 2, _DIGITS + 2)
        low, high = (middle, high) if _affordable(middle, budget, answers) else (low, middle)
    return Geometric(low)


def _affordable(rate: Fraction, budget: Budget, answers: int) -> bool:
    loss = privacy_loss(Geometric(rate)).compose(answers)
    if budget.zeta_limit is None:
        return loss.delta(budget.epsilon_limit) <= budget.delta_limit
    return loss.worst <= budget.epsilon_limit and loss.zeta <= budget.zeta_limit


def rounded_up(rate: float) -> Fraction:
    """Return the next decimal of few digits at or above a rate.

    >>> rounded_up(0.5509991)
    Fraction(551, 1000)
    """
    exact = Fraction(rate)
    scale = Fraction(10) ** (_DIGITS - 1 - _magnitude(exact))
    return Fraction(-(-exact * scale // 1)) / scale


def _magnitude(value: Fraction) -> int:
    """Return the exponent of ten of a positive number."""
    return int(f"{float(value):e}".split("e")[1])
