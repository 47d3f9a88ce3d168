"""The least point from which a claim holds, by doubling steps and then halving them: written once."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

_INFINITE = 0x7FF0000000000000


def least_whole(start: int, holds: Callable[[int], bool]) -> int:
    """Return the least whole number >= 0 from which `holds` is true, searching outward from `start`.

    >>> least_whole(0, lambda k: k >= 10**30) == 10**30
    True
    """
    high = max(start, 0)
    low, step = high - 1, 1
    while not holds(high):
        low, high, step = high, high + step, 2 * step
    while low >= 0 and holds(low):
        low, high, step = low - step, low, 2 * step
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least_float(start: float, holds: Callable[[float], bool]) -> float:
    """Return the least float >= 0 from which `holds` is true; floats are ordered like their bits.

    >>> least_float(1.0, lambda t: t * t >= 2)
    1.4142135623730951
    """

    def at(bits: int) -> float:
        return float(np.int64(bits).view(np.float64))

    bits = int(np.float64(start).view(np.int64))
    return at(least_whole(bits, lambda number: number >= _INFINITE or holds(at(number))))


def bracket(
    low: float, high: float, holds: Callable[[float], bool], *, close: float = 1e-12, by_ratio: bool = False
) -> tuple[float, float]:
    """Halve the way between `low`, where a claim is taken not to hold, and `high`, where it is taken to.

    Returns the two sides once they are `close` beside the size of the upper one, or as near as floats are;
    `by_ratio` halves the ratio of two positive numbers instead, and `close` is then what it may exceed 1 by.

    >>> below, above = bracket(0, 2, lambda x: x * x >= 2)
    >>> below < 2**0.5 <= above, above - below < 1e-11
    (True, True)
    """
    while high / low - 1 > close if by_ratio else abs(high - low) > close * max(abs(low), abs(high)):
        middle = sqrt(low) * sqrt(high) if by_ratio else (low + high) / 2
        if not min(low, high) < middle < max(low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
