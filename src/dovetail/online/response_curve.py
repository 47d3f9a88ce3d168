"""The response curve: with which chance a test fires, given how far the answer is from its threshold."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise
from dovetail.privacy import PrivacyLoss
from dovetail.privacy.atoms import Floats
from dovetail.privacy.composition import OneWay

from .firing import firing_atoms, worst_step
from .response_tables import FLOOR, MOST_ENTRIES, WHOLE, Table, even_renyi, exponential, tails

_MOST_WIDTH = 2**31
# A little above ln 2^40: no step of a table falls further, whatever its rate.
_STEEPEST = Fraction("27.7259")


@dataclass(frozen=True, slots=True)
class ResponseCurve:
    """The chance S(t) that a test fires at distance t below its threshold, in whole numbers out of 2^64.

    S(t) = table[floor(t/width) - start], 1 to the left of the table and its last entry to the right.
    `slope` bounds ln S(t)/S(t + width). Make one with `pure`, `renyi` or `of`.
    """

    table: Table
    slope: Fraction | float
    start: int = 0
    width: int = 1

    def __post_init__(self) -> None:
        falls = all(p >= q for p, q in pairwise(self.table))
        if not (1 < len(self.table) <= MOST_ENTRIES + 2 and self.table[0] == WHOLE and falls):
            raise InvalidParameter("table", len(self.table), "entries that begin with 2^64 and never rise")
        if not FLOOR <= self.table[-1] < WHOLE:
            raise InvalidParameter("table", self.table[-1], "at least 2^24 at its end, and below 2^64")
        check.integer("width", self.width, 1, _MOST_WIDTH)

    @classmethod
    def pure(cls, rate: Real) -> ResponseCurve:
        """Return S(t) = exp(-rate·t), the best curve for a pure guarantee: a firing costs `rate`.

        >>> curve = ResponseCurve.pure("0.5")
        >>> curve.loss().epsilon, round(curve.probability(2), 6)
        (0.5, 0.367879)
        """
        exact = check.positive("rate", rate, "Give what one firing may cost, for example 0.02.")
        return cls(exponential(exact), min(exact, _STEEPEST))

    @classmethod
    def renyi(cls, cost: Real, order: Real) -> ResponseCurve:
        """Return the steepest curve on which a firing costs at most `cost` in Rényi divergence of `order`.

        >>> curve = ResponseCurve.renyi("0.01", 20)
        >>> curve.loss().renyi(20) <= 0.01
        True
        """
        exact = check.positive("cost", cost, "Give what one firing may cost, for example 0.01.")
        power = check.within("order", order, "1.001", 10**4, "Give a Rényi order, for example 20.")
        table = even_renyi(exact, power)
        return cls(table, worst_step(table))

    @classmethod
    def of(cls, noise: IntegerNoise) -> ResponseCurve:
        """Return S(t) = P(Y >= t): the textbook's test, which compares a noisy answer with a threshold.

        It is 1 only where no noise of note would reach, so unchecked answers are promised little.
        """
        if not isinstance(noise, IntegerNoise):
            raise InvalidParameter("noise", noise, "a noise on the integers", "Use geometric noise.")
        table, start = tails(noise)
        return cls(table, worst_step(table), start)

    def widened(self, width: int) -> ResponseCurve:
        """Return the curve for counts that a neighbour moves by up to `width`: S(floor(t/width)).

        A shift of up to `width` moves at most one entry on, so the price is the same.
        """
        return replace(self, width=check.integer("width", width, 1, _MOST_WIDTH))

    def weight(self, t: int) -> int:
        """Return 2^64·S(t), exactly."""
        place = t // self.width - self.start
        return WHOLE if place <= 0 else self.table[min(place, len(self.table) - 1)]

    def probability(self, t: int) -> float:
        """Return S(t) as a float."""
        return self.weight(t) / WHOLE

    def probabilities(self, t: Any) -> Floats:
        """Return S at many whole places."""
        places = np.asarray(t, np.int64) // self.width - self.start
        values = np.array([entry / WHOLE for entry in self.table])
        return np.asarray(values[np.clip(places, 0, len(values) - 1)])

    def fires(self, t: int, word: int) -> bool:
        """Decide a test by a uniform word of 64 bits: exactly S(t) of all words fire.

        >>> ResponseCurve.pure(1).fires(0, 2**64 - 1), ResponseCurve.pure(1).fires(1, 2**63)
        (True, False)
        """
        return word < self.weight(t)

    @property
    def certain(self) -> int:
        """The largest t at which a test surely fires."""
        return (self.start + 1) * self.width - 1

    def loss(self) -> PrivacyLoss:
        """Return the loss of one firing, however many tests fail before it: an upper bound.

        One-way: it serves both directions by mirroring, and is never reversed.
        """
        return PrivacyLoss(OneWay(((firing_atoms(self.table, self.slope), 1),)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same curve: its table itself, not its recipe.

        >>> curve = ResponseCurve.pure(1).widened(2)
        >>> ResponseCurve.from_dict(curve.to_dict()) == curve
        True
        """
        entries = np.array(self.table[1:], np.uint64).astype("<u8").tobytes()
        return {
            "entries": b64encode(entries).decode("ascii"),
            "slope": str(Fraction(self.slope)),
            "start": self.start,
            "width": self.width,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ResponseCurve:
        """Read what `to_dict` wrote."""
        entries = np.frombuffer(b64decode(data["entries"]), dtype="<u8")
        slope = Fraction(data["slope"])
        return cls((WHOLE, *map(int, entries)), slope, data["start"], data["width"])
