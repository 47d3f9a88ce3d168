"""A uniform real number of which only as many bits are drawn as the questions about it need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.exact.balls import precision

from .bits import BitSource

_MORE = 64
_HEAD = 64

Enclosure = Callable[[int], Any]
"""bits -> an Arb ball around one fixed number, good to about that many relative bits."""


class Uniform:
    """A uniform number U of the unit interval, known to lie in [head, head + 1]·2^-length.

    `mirrored` stands for 1 - U instead, so that a right tail is compared with small numbers too and nothing
    is lost to a subtraction from 1.
    """

    def __init__(self, head: int, source: BitSource, *, mirrored: bool = False) -> None:
        self._flip = (1 << _MORE) - 1 if mirrored else 0
        self._head = head ^ self._flip
        self._length = _HEAD
        self._source = source

    def below(self, enclosure: Enclosure) -> bool:
        """Decide whether this number is below the enclosed one; draw bits and raise precision until certain.

        Equality has probability 0 and is never decided.
        """
        while True:
            bits = self._length + _MORE
            value = enclosure(bits)
            with precision(bits):
                scaled = value * (1 << self._length)
                if scaled >= self._head + 1:
                    return True
                if scaled <= self._head:
                    return False
            fresh = self._source.word()
            self._head = (self._head << _MORE) | (fresh ^ self._flip)
            self._length += _MORE


def last_above(number: Uniform, tail: Callable[[int], Enclosure], low: int) -> int:
    """Return the largest i >= low whose tail exceeds the number, given that the tail of `low` does.

    The tails fall with i and may go on for ever: the step doubles until one is passed, then halves.
    """
    step = 1
    while number.below(tail(low + step)):
        low += step
        step *= 2
    while step > 1:
        step //= 2
        if number.below(tail(low + step)):
            low += step
    return low
