"""Find the noise for an accuracy where a number is made of several released integers."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.errors.remedies import Give
from dovetail.exact.bisection import bracket
from dovetail.noise import Geometric, IntegerNoise
from dovetail.query.checked_query import CheckedQuery

from .stretching import component_noises

_UNIT = 10**9
# A rate is found to so many parts of itself; no rate beyond these is looked at.
_CLOSE, _LEAST, _LARGEST = 1e-4, 1e-9, 64.0


def noises_reaching(
    question: CheckedQuery, within: Fraction, probability: Fraction
) -> tuple[IntegerNoise, ...]:
    """Return geometric noise of nearly the least rate with which the measure's error keeps the goal."""

    def noises(rate: float) -> tuple[IntegerNoise, ...]:
        return component_noises(question, Geometric(Fraction(ceil(rate * _UNIT), _UNIT)))

    def reached(rate: float) -> bool:
        error = question.measure.error(noises(rate), 1 - probability)
        if error is None:
            raise InvalidQuery(
                question.measure.unknown_error,
                Give("noise", "spend"),
                "The interval of the answer then says what was reached.",
            )
        return error <= within

    high = 1.0
    while not reached(high):
        high *= 2
        if high > _LARGEST:
            raise InvalidParameter(
                "within", within, "an error that some noise can meet", "Ask for a larger one."
            )
    low = high / 2
    while low > _LEAST and reached(low):
        low, high = low / 2, low
    return noises(bracket(low, high, reached, close=_CLOSE)[1])
