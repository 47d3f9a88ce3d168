"""Certified thresholds: which step of a distribution function does a 64-bit word fall on?

The step of U is the number of values F(k) that are at most U. Of each F(k) the table holds the floor of
2^64·F(k), proved by a ball that contains no other floor. A word u below the floor means U < F(k), a word
above it means U > F(k), and a word equal to it decides nothing. Where a ball leaves two floors open, both are
kept and every word from the lower to the higher one counts as undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.balls import precision

from .uniform import Enclosure

WORD_BITS = 16
UNSETTLED = 0xFFFF
_SCALE = 1 << 64
_TOP = _SCALE - 1
_LADDER = (128, 256, 512)

Resolver = Callable[[int, int], int]
"""(word, fewest) -> the step of a uniform number that begins with the word and has passed `fewest` values."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The lower and upper floor of 2^64·F(k) for consecutive k, both ascending; nearly always they agree.

    `low` has 2^64 - 1 as one more entry, for the words above all floors.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]

    def cells(self, bits: int = WORD_BITS) -> NDArray[np.uint16]:
        """Return the step of every word of `bits` bits, or UNSETTLED where the word's cell is cut."""
        size = 1 << bits
        shift = np.uint64(64 - bits)
        # A cell is settled if its first word has passed as many floors as its last word may have.
        passed = np.bincount((self.high >> shift).astype(np.intp), minlength=size).cumsum()
        started = np.bincount((self.low[:-1] >> shift).astype(np.intp), minlength=size).cumsum()
        first = np.concatenate(([0], passed[:-1]))
        return np.where(first == started, first, UNSETTLED).astype(np.uint16)

    def settle(self, found: NDArray[np.uint64], resolve: Resolver) -> NDArray[np.intp]:
        """Return the step of each 64-bit word, asking `resolve` about the undecided ones."""
        steps = self.high.searchsorted(found, side="left")
        # Floors ascend, so if the next one is above the word, all later ones are.
        undecided = np.flatnonzero(self.low[steps] <= found)
        for position in undecided.tolist():
            steps[position] = resolve(int(found[position]), int(steps[position]))
        return steps


def floors(enclosure: Enclosure) -> tuple[int, int, int, int]:
    """Return the lowest and highest possible floor of 2^64·p, then those of 2^64·(1 - p).

    All stay within 64 bits: the floor of p = 1 becomes 2^64 - 1, which only leaves that word undecided.
    """
    for bits in _LADDER:
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


def steps_of(pairs: Iterable[tuple[int, int]]) -> Steps:
    """Build the table from ascending pairs of floors."""
    listed = list(pairs)
    low = np.array([*(pair[0] for pair in listed), _TOP], np.uint64)
    high = np.array([pair[1] for pair in listed], np.uint64)
    low.flags.writeable = high.flags.writeable = False
    return Steps(low, high)
