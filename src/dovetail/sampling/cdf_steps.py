"""Certified thresholds: which step of a distribution function does a 64-bit word fall on?

The step of U is the number of values F(k) that are at most U. Of each F(k) the table holds the floor of
2^64·F(k), proved by a ball that contains no other floor. A word u below the floor means U < F(k), a word
above it means U > F(k), and a word equal to it decides nothing. Where a ball leaves two floors open, both are
kept and every word from the lower to the higher one counts as undecided. So do all words beyond the first and
the last floor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.balls import precision

from .uniform import Enclosure

WORD_BITS = 16
UNDECIDED = -1
# The lowest and highest floor of a tail, and of what is left of 1.
Floors = tuple[int, int, int, int]
_CELLS = 1 << WORD_BITS
_CELL_SHIFT = np.uint64(64 - WORD_BITS)
_SCALE = 1 << 64
_TOP = _SCALE - 1
LADDER = (128, 256, 512)
# A cell that is cut by more thresholds than this is searched; nearly all are cut by one or two.
_CUTS = 2


class CdfSteps(NamedTuple):
    """The lower and upper floor of 2^64·F(k) for consecutive k, both ascending; nearly always they agree.

    The first `low` is 0 and the last `high` is 2^64 - 1. `first` says how many floors each cell, the words
    with the same leading 16 bits, has passed at its beginning.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    first: NDArray[np.uint32]

    @property
    def nbytes(self) -> int:
        """The size of the tables."""
        return self.low.nbytes + self.high.nbytes + self.first.nbytes

    def cells(self) -> NDArray[np.int32]:
        """Return the step of each cell, or UNDECIDED where a threshold cuts it."""
        # A cell is decided if its first word has passed as many floors as its last word may have.
        started = np.bincount((self.low >> _CELL_SHIFT).astype(np.intp), minlength=_CELLS).cumsum()
        return np.where(self.first == started, self.first.astype(np.int32), np.int32(UNDECIDED))

    def locate(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the step of each 64-bit word, and the positions of those that remain undecided."""
        steps = self.first.take(words >> _CELL_SHIFT, mode="clip").astype(np.intp)
        passed = words > self.high.take(steps, mode="clip")
        for _ in range(_CUTS):
            steps += passed
            passed = words > self.high.take(steps, mode="clip")
        rest = passed.nonzero()[0]
        if rest.size:
            steps[rest] = self.high.searchsorted(words[rest])
        return steps, (self.low.take(steps, mode="clip") <= words).nonzero()[0]

    def locate_one(self, word: int) -> int | None:
        """Return the step of one 64-bit word, or None where it remains undecided."""
        cell = word >> (64 - WORD_BITS)
        most = self.high.size - 1 if cell == _CELLS - 1 else self.first.item(cell + 1)
        # A view gives whole numbers of Python, which a search compares faster than those of NumPy.
        step = bisect_left(self.high.data, word, self.first.item(cell), most)
        return None if self.low.item(step) <= word else step


def floors_of(balls: Iterable[Any]) -> list[Floors | None]:
    """Return `floors` of many balls of LADDER[0] bits; None where one leaves two floors open."""
    with precision(LADDER[0] + 64):
        scaled = [ball * _SCALE for ball in balls]
        sure = [None if each.contains_integer() else int(each.floor().unique_fmpz()) for each in scaled]
    return [None if floor is None else (floor, floor, _TOP - floor, _TOP - floor) for floor in sure]


def floors(enclosure: Enclosure) -> Floors:
    """Return the lowest and highest possible floor of 2^64·p, then those of 2^64·(1 - p).

    All stay within 64 bits: the floor of p = 1 becomes 2^64 - 1, which only leaves that word undecided.
    """
    for bits in LADDER:
        ball = enclosure(bits)
        with precision(bits + 64):
            scaled = ball * _SCALE
            if not scaled.contains_integer():
                floor = int(scaled.floor().unique_fmpz())
                return floor, floor, _TOP - floor, _TOP - floor
    with precision(bits + 64):
        return (*_bounds(scaled), *_bounds(_SCALE - scaled))


def _bounds(scaled: Any) -> tuple[int, int]:
    edges = (scaled.lower().floor(), scaled.upper().floor())
    low, high = (min(max(int(edge.unique_fmpz()), 0), _TOP) for edge in edges)
    return low, high


def steps_of(pairs: Iterable[tuple[int, int]]) -> CdfSteps:
    """Build the table from ascending pairs of floors."""
    low, high = np.array(list(pairs), np.uint64).T.copy()
    low[0], high[-1] = 0, _TOP
    passed = np.bincount((high >> _CELL_SHIFT).astype(np.intp), minlength=_CELLS).cumsum()
    first = np.concatenate(([0], passed[:-1])).astype(np.uint32)
    for array in (low, high, first):
        array.flags.writeable = False
    return CdfSteps(low, high, first)
