"""Divide one noisy number by another: an interval by inversion, which is narrower than a box.

For the true ratio m of a and b, a - m·b is 0, so what was released of it is noise alone, whose bar w(m) is
known. The interval is the hull of all m at which the released value lies within the bar. From one m to
another, the noise of a - m·b changes by at most their distance times y, unless b's noise exceeds y. So a
released value that exceeds w(m) by g rules out all ratios within g/(|b| + y) of m as well, and few bars
are needed from each end of a box of both numbers. The box and b's noise beyond y are paid for. That later m
depend on what was released does no harm: for each true ratio, every bar that it is held against is at least
the least valid one. All bars are those of noisy numbers: the exact law within an answer, a union over
answers.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import Any, Protocol, Self

from dovetail.query.measures import Bar

# Shares of the chance to miss: for the box, and for b's noise from one ratio to another.
_FOR_BOX, _FOR_STEPS = Fraction(1, 20), Fraction(1, 50)
_MOST_BARS, _NEAR = 12, Fraction(1, 10**9)
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
    reach = abs(below.exact) + _width(below, chance * _FOR_STEPS)
    inner = chance * (1 - _FOR_BOX - _FOR_STEPS)
    low = _first_kept(above, below, box.low, 1, inner, reach)
    return Bar(low, _first_kept(above, below, box.high, -1, inner, reach))


def _first_kept(
    above: Divisible, below: Divisible, start: Fraction, up: int, chance: Fraction, slope: Fraction
) -> Fraction:
    """Return about the first ratio from start, upwards or down, that is not ruled out.

    That of the released numbers is never: no step goes beyond it.
    """
    for _ in range(_MOST_BARS):
        gap = abs(above.exact - start * below.exact) - _width(above - below.scaled(start), chance)
        if gap <= 0:
            break
        # A float below is near enough, and keeps fractions short.
        further = Fraction(nextafter(float(start + up * gap / slope), -inf * up))
        if (further - start) * up <= abs(start) * _NEAR:
            break
        start = further
    return start


def _width(number: Divisible, chance: Fraction) -> Fraction:
    bar = number.bar(1 - chance)
    return (bar.high - bar.low) / 2


def _box(above: Bar, below: Bar) -> Bar:
    """Return the ratios of any two numbers within their intervals."""
    if below.low <= 0 <= below.high:
        return _ANYTHING
    corners = [a / b for a in (above.low, above.high) for b in (below.low, below.high)]
    return Bar(min(corners), max(corners))
