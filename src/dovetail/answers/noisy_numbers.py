"""Calculate with noisy numbers: sums, differences, multiples, products and ratios keep valid intervals.

A number is a constant plus released numbers, each times a coefficient. A released number that occurs twice is
the same one, so x - x is 0. The error is a sum of noises. Those of one answer are independent, and their sum
has an exact law. Answers were asked one after another, and what was asked later may depend on what was seen
before; so each answer gets an equal share of the chance to miss, and their bars are added up (a union bound).
Numbers that are not plainly released, such as means, have their own interval, with a share of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, nextafter
from typing import Any, TypeAlias

from dovetail.check import Real, error_bar_level, rational
from dovetail.noise import IntegerNoise
from dovetail.query.measures import Bar, half_width

from .noisy_ratios import UNLIMITED, ratio_interval
from .number_formats import plain_number

USUAL_LEVEL = Fraction(95, 100)
_CHANCE = "Give a number such as 0.95."
_PLAIN = (int, float, Decimal, Fraction)

Interval: TypeAlias = Callable[[Fraction], Bar]
"""From the probability to hold to the interval."""


@dataclass(frozen=True, slots=True)
class ReleasedNumber:
    """One released number: an integer with its noise, times a step, or anything with an interval of its own.

    `origin` tells which answer it is from and `place` where it stands there: together they say which it is.
    """

    origin: object
    place: object
    estimate: Fraction = field(compare=False)
    noise: IntegerNoise | None = field(default=None, compare=False)
    step: Fraction = field(default=Fraction(1), compare=False)
    interval: Interval | None = field(default=None, compare=False)


class Arithmetic(ABC):
    """What can be calculated with; results have intervals as well."""

    __slots__ = ()

    @abstractmethod
    def _as_number(self) -> NoisyNumber:
        """Return the noisy number that is calculated with."""

    def __add__(self, other: Any) -> Any:
        return _added(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _added(self, other, -1)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> NoisyNumber:
        return self._as_number().scaled(Fraction(-1))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Arithmetic):
            return _multiplied(*(each._as_number().scaled(Fraction(1)) for each in (self, other)))
        return self._as_number().scaled(_exact(other)) if isinstance(other, _PLAIN) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Arithmetic):
            return _divided(*(each._as_number().scaled(Fraction(1)) for each in (self, other)))
        return self._as_number().scaled(1 / _exact(other)) if isinstance(other, _PLAIN) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return constant(other) / self if isinstance(other, _PLAIN) else NotImplemented


@dataclass(frozen=True, slots=True, eq=False)
class NoisyNumber(Arithmetic):
    """A noisy number with an interval at any level; calculating with it costs nothing.

    `bounded` is what was left out by design: then the interval is that of what is used.
    """

    terms: dict[ReleasedNumber, Fraction]
    constant: Fraction = Fraction(0)
    level: Fraction = USUAL_LEVEL
    bounded: str | None = None
    clamp: bool = False

    @property
    def exact(self) -> Fraction:
        """The value, exactly."""
        total = self.constant + sum((many * each.estimate for each, many in self.terms.items()), Fraction(0))
        return max(total, Fraction(0)) if self.clamp else total

    @property
    def value(self) -> int | float:
        """The value as a plain number."""
        return plain_number(self.exact)

    @property
    def low(self) -> int | float:
        """The low end of the interval at `level`."""
        return self.interval()[0]

    @property
    def high(self) -> int | float:
        """The high end of the interval at `level`."""
        return self.interval()[1]

    def interval(self, level: Real | None = None) -> tuple[int | float, int | float]:
        """Return (low, high): the true number lies between them with probability `level` or more."""
        bar = self.bar(level)
        return _outward(bar.low, -inf), _outward(bar.high, inf)

    def bar(self, level: Real | None = None) -> Bar:
        """Return the interval, exactly."""
        at = self.level if level is None else error_bar_level("level", level, _CHANCE)
        groups = self.by_answer()
        share = (1 - at) / max(len(groups), 1)
        bars = [_bar_of(group, share) for group in groups]
        low = self.constant + sum((ends[0] for ends in bars), Fraction(0))
        high = self.constant + sum((ends[1] for ends in bars), Fraction(0))
        return Bar(max(low, Fraction(0)), max(high, Fraction(0))) if self.clamp else Bar(low, high)

    @property
    def plainly_released(self) -> bool:
        """Whether it is made of released integers alone, so that its bar is symmetric."""
        return not self.clamp and all(each.noise is not None for each in self.terms)

    def by_answer(self) -> list[dict[ReleasedNumber, Fraction]]:
        """Return the terms that share a law: those with noise of one answer, and any other alone."""
        groups: dict[object, dict[ReleasedNumber, Fraction]] = {}
        for each, many in self.terms.items():
            key = ("answer", each.origin) if each.noise is not None else each
            groups.setdefault(key, {})[each] = many
        return list(groups.values())

    def scaled(self, by: Fraction) -> NoisyNumber:
        """Return so many times this number, as released: nothing is clamped any more."""
        terms = {each: many * by for each, many in self.terms.items() if many * by}
        return NoisyNumber(terms, self.constant * by, self.level, self.bounded)

    def _as_number(self) -> NoisyNumber:
        return self

    def __float__(self) -> float:
        return float(self.exact)

    def __str__(self) -> str:
        from .display import amount

        if not all(map(isfinite, self.interval())):
            return f"{self.value:,.6g} (the interval is unlimited)"
        return amount(self.exact, self.bar())

    def __repr__(self) -> str:
        from dovetail.errors.values import percent

        used = "" if self.bounded is None else f" for the rows used: {self.bounded}"
        return f"<{self} with probability {percent(self.level)}{used}>"


def constant(value: Real) -> NoisyNumber:
    """Return a number without noise."""
    return NoisyNumber({}, _exact(value))


def opaque(origin: object, place: object, estimate: Fraction, interval: Interval) -> ReleasedNumber:
    """Return a number of which only its interval is known."""
    return ReleasedNumber(origin, place, estimate, interval=interval)


def combined(*numbers: NoisyNumber) -> dict[str, Any]:
    """Return what a result has of the numbers it is made from: the least level, and what was left out."""
    left_out = list(dict.fromkeys(each.bounded for each in numbers if each.bounded is not None))
    level = min((each.level for each in numbers if each.terms), default=USUAL_LEVEL)
    return {"level": level, "bounded": "; ".join(left_out) or None}


def _added(one: Arithmetic, other: Any, sign: int) -> Any:
    if isinstance(other, _PLAIN):
        other = constant(other)
    if not isinstance(other, Arithmetic):
        return NotImplemented
    mine, yours = one._as_number(), other._as_number().scaled(Fraction(sign))
    terms = dict(mine.terms)
    for each, many in yours.terms.items():
        terms[each] = terms.get(each, Fraction(0)) + many
    kept = {each: many for each, many in terms.items() if many}
    return NoisyNumber(kept, mine.constant + yours.constant, **combined(mine, yours))


def _multiplied(one: NoisyNumber, other: NoisyNumber) -> NoisyNumber:
    """Multiply by a box: each within its own interval, with half of the chance to miss."""
    for plain, noisy in ((one, other), (other, one)):
        if not plain.terms:
            return noisy.scaled(plain.constant)

    def interval(level: Fraction) -> Bar:
        half = 1 - (1 - level) / 2
        mine, yours = one.bar(half), other.bar(half)
        corners = [a * b for a in (mine.low, mine.high) for b in (yours.low, yours.high)]
        return Bar(min(corners), max(corners))

    made = opaque("product", (one, other), one.exact * other.exact, interval)
    return NoisyNumber({made: Fraction(1)}, **combined(one, other))


def _divided(above: NoisyNumber, below: NoisyNumber) -> NoisyNumber:
    """Return a ratio; where the lower number may be 0, its interval is unlimited.

    A ratio of a number by a multiple of itself has no noise.
    """
    if not below.terms:
        return above.scaled(1 / below.constant)
    value = above.exact / below.exact if below.exact else Fraction(0)
    if below.exact and not (above - below.scaled(value)).terms:
        return NoisyNumber({}, value, **combined(above, below))

    def interval(level: Fraction) -> Bar:
        return ratio_interval(above, below, 1 - level)

    made = opaque("ratio", (above, below), value, interval)
    return NoisyNumber({made: Fraction(1)}, **combined(above, below))


def _bar_of(group: dict[ReleasedNumber, Fraction], chance: Fraction) -> tuple[Fraction, Fraction]:
    """Return how far the terms of one answer reach, together with their estimates."""
    middle = sum((many * each.estimate for each, many in group.items()), Fraction(0))
    (first, many), *more = group.items()
    if first.interval is not None:
        bar = first.interval(1 - chance)
        ends = sorted((bar.low * many, bar.high * many))
        return ends[0], ends[1]
    if not more:
        assert first.noise is not None
        width = half_width(first.noise, chance, 1) * abs(many * first.step)
    else:
        width = _sum_width(group, chance)
    return middle - width, middle + width


def _sum_width(group: dict[ReleasedNumber, Fraction], chance: Fraction) -> Fraction:
    """Return what the sum of the noises of one answer stays within, by its exact law."""
    from dovetail.workloads.noise_sums import NoiseSum, Term

    weights = [(many * each.step, each.noise) for each, many in group.items()]
    # Multiples of one unit need no rounding.
    unit = max(abs(weight) for weight, _ in weights)
    terms = [Term(float(weight / unit), noise) for weight, noise in weights if noise is not None]
    return Fraction(NoiseSum(terms).two_sided(chance)) * (1 + Fraction(1, 10**12)) * unit


def _outward(end: Fraction, towards: float) -> int | float:
    """Return an end as a plain number that is not nearer to the middle."""
    if abs(end) >= UNLIMITED:
        return towards
    if end.denominator == 1:
        return int(end)
    near = float(end)
    beyond = Fraction(near) > end if towards < 0 else Fraction(near) < end
    return nextafter(near, towards) if beyond else near


def _exact(value: Any) -> Fraction:
    return rational("number", value)
