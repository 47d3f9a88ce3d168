"""Where in its block a draw lies: a uniform place, which is checked now and then.

Counted from 0 outwards, the places j < 2^m of a block have weights exp(-rate·j), which fall by less than
c = rate·2^m. A uniform place that is kept if a uniform number is at least 1 - exp(-rate·j), and drawn again
otherwise, has these weights. Numbers of c or more keep every place; so a place is checked with probability c,
and kept then if a uniform number is at least (1 - exp(-rate·j)) / c. With y = j·2^-m,

    y - c·y²/2  <=  (1 - exp(-c·y)) / c  <=  y - c·y²/2 + c²/6

decides all but one check in ten thousand in whole numbers.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.balls import ball, precision

from .bits import BitSource
from .uniform import Enclosure, Uniform

Row = tuple[Fraction, int]
"""A rate, and the most binary digits m of its blocks; a short run may end before a block of 2^m values."""

MOST_BITS = 62
"""No block has more than 2^62 values."""

SHARE_BITS = 32
"""The chance of a check is c rounded up to a multiple of 2^-32, so that 32 bits decide about it."""

_SCALE = 1 << 64
# More than rounding takes away from either side, in units of 2^-64: the square of 32 bits and its factor at
# most 2^34, and the share, which is above 1/90 and exceeds c by less than 2^-32, at most 2^39.
_LOST = 1 << 40


class Checks(NamedTuple):
    """The numbers that places are checked with, by row; row 0 stands for no check.

    `shares` are 2^32·c and `units` are 2^(64-m), so that unit·j is 2^64·y; they are 0 where that is less than
    1. Below the lower bound of the inequality less 2^40 a number rejects, from the lower bound and `over` on
    it keeps.
    """

    rows: tuple[Row, ...]
    shares: NDArray[np.uint64]
    units: NDArray[np.uint64]
    over: NDArray[np.uint64]

    def keep(
        self, places: NDArray[np.int64], rows: NDArray[np.intp], words: NDArray[np.uint64], source: BitSource
    ) -> NDArray[np.bool_]:
        """Decide which places, counted outwards, stay; each number begins with its word."""
        falls = places.astype(np.uint64) * self.units.take(rows)
        # Half of c·y², with y of 32 bits.
        falls -= ((falls >> 32) ** 2 >> 32) * (self.shares.take(rows) >> 1)
        kept = words >= falls + self.over.take(rows)
        unclear = ~kept & (words + _LOST >= falls)
        for position in unclear.nonzero()[0].tolist():
            kept[position] = self.keep_one(
                int(places[position]), int(rows[position]), int(words[position]), source
            )
        return kept

    def keep_one(self, place: int, row: int, word: int, source: BitSource) -> bool:
        """Decide whether one place, counted outwards, stays."""
        fall = place * self.units.item(row)
        fall -= ((fall >> 32) ** 2 >> 32) * (self.shares.item(row) >> 1)
        if word >= fall + self.over.item(row):
            return True
        if word + _LOST < fall:
            return False
        return not Uniform(word, source).below(self.rejection(place, row))

    def rejection(self, place: int, row: int) -> Enclosure:
        """Return the enclosure of the chance that a checked place is rejected."""
        rate, share = self.rows[row][0], self.shares.item(row)

        def enclosure(bits: int) -> Any:
            with precision(bits + 32):
                return -(-ball(rate * place)).expm1() * (1 << SHARE_BITS) / share

        return enclosure


def checks_of(rows: tuple[Row, ...]) -> Checks:
    """Build the numbers for rows 1, 2, …"""
    falls = [rate * (1 << bits) for rate, bits in rows]
    lost = [_LOST + ((_SCALE << MOST_BITS) >> bits if bits > 64 else 0) for _, bits in rows]
    shares = np.array([0, *(ceil(fall * (1 << SHARE_BITS)) for fall in falls)], np.uint64)
    units = np.array([0, *(_SCALE >> bits for _, bits in rows)], np.uint64)
    over = np.array(
        [0, *(ceil(fall**2 / 6 * _SCALE) + more for fall, more in zip(falls, lost, strict=True))], np.uint64
    )
    for array in (shares, units, over):
        array.flags.writeable = False
    return Checks(((Fraction(0), 0), *rows), shares, units, over)
