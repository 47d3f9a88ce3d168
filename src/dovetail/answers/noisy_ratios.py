"""Divide one noisy number by another: an interval by inversion, which is narrower than a box.

For the true ratio m of a and b, a - m·b is 0, so what was released of it is noise alone, whose bar w(m) is
known. The interval is the hull of all m at which the released value lies within the bar. Between the points
of a grid, the noise of a - m·b exceeds w(m_i) + |m - m_i|·y only if it exceeds w(m_i) at m_i, or b's noise
exceeds y; both are paid for. How far the grid reaches is a box of both numbers, paid for as well. All bars
are those of noisy numbers: the exact law within an answer, and a union over answers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol, Self

from dovetail.query.measures import Bar

# Shares of the chance to miss: for the box, and for b's noise between the points of the grid.
_FOR_BOX, _FOR_STEPS = Fraction(1, 20), Fraction(1, 50)
_POINTS = 17
_ROUNDS = 3
# An end that far out stands for none.
UNLIMITED = Fraction(10**300)
_ANYTHING = Bar(-UNLIMITED * 10**300, UNLIMITED * 10**300)


class Divisible(Protocol):
    """What a noisy number must tell to be divided."""

    @property
    def exact(self) -> Fraction: ...
    @property
    def plainly_released(self) -> bool: ...
    def bar(self, level: Fraction) -> Bar: ...
    def scaled(self, by: Fraction) -> Self: ...
    def __sub__(self, other: Any) -> Any: ...


def ratio_interval(above: Divisible, below: Divisible, chance: Fraction) -> Bar:
    """Return the hull of the ratios that what was released does not rule out, but for the chance."""
    outer = chance * _FOR_BOX / 2
    box = _box(above.bar(1 - outer), below.bar(1 - outer))
    if box == _ANYTHING:
        return box
    if not (above.plainly_released and below.plainly_released):
        # Bars that lean to one side have no pivot: the box with all of the chance is what is left.
        return _box(above.bar(1 - chance / 2), below.bar(1 - chance / 2))
    reach = _width(below, chance * _FOR_STEPS)
    inner = chance * (1 - _FOR_BOX - _FOR_STEPS)
    found = box
    for _ in range(_ROUNDS):
        hull = _hull(above, below, found, inner, reach)
        if hull is None:
            return _box(above.bar(1 - chance / 2), below.bar(1 - chance / 2))
        found = hull
    return found


def _hull(above: Divisible, below: Divisible, within: Bar, chance: Fraction, reach: Fraction) -> Bar | None:
    """Return the hull of the ratios within bounds that are not ruled out, None where all are."""
    step = (within.high - within.low) / (_POINTS - 1)
    if not step:
        return within
    low: Fraction | None = None
    high: Fraction | None = None
    half = step / 2
    for number in range(_POINTS):
        # The exact middle of this piece of the grid, on which one bar holds.
        point = Fraction(float(within.low + number * step))
        start, end = max(point - half - step / 1000, within.low), min(point + half + step / 1000, within.high)
        bar = _width(above - below.scaled(point), chance) + (half + step / 500) * reach
        kept = _solved(above.exact, below.exact, bar, start, end)
        if kept is not None:
            low = kept.low if low is None else min(low, kept.low)
            high = kept.high if high is None else max(high, kept.high)
    return None if low is None or high is None else Bar(low, high)


def _solved(above: Fraction, below: Fraction, bar: Fraction, start: Fraction, end: Fraction) -> Bar | None:
    """Return the m from start to end with |above - m·below| <= bar."""
    if below == 0:
        return Bar(start, end) if abs(above) <= bar else None
    ends = sorted(((above - bar) / below, (above + bar) / below))
    low, high = max(start, ends[0]), min(end, ends[1])
    return Bar(low, high) if low <= high else None


def _width(number: Divisible, chance: Fraction) -> Fraction:
    bar = number.bar(1 - chance)
    return (bar.high - bar.low) / 2


def _box(above: Bar, below: Bar) -> Bar:
    """Return the ratios of any two numbers within their intervals."""
    if below.low <= 0 <= below.high:
        return _ANYTHING
    corners = [a / b for a in (above.low, above.high) for b in (below.low, below.high)]
    return Bar(min(corners), max(corners))
