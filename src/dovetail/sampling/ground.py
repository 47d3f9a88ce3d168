"""The last digits of an offset, where the weights hardly fall: uniform bits, rejected now and then.

A uniform j below 2^g that is kept with probability exp(-rate·j), and drawn again otherwise, is the truncated
geometric variable. With x = rate·j small, 1 - x <= exp(-x) <= 1 - x + x²/2 decides nearly every coin in whole
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.balls import ball, precision

from .bits import Source, extended
from .steps import WORD_BITS
from .uniform import Enclosure, Uniform

_SCALE = 1 << 64


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The digits of each row: j < 2^bits, and a coin word below `sure` keeps whatever was drawn.

    `masks` are 2^bits - 1. A draw begins with `planes` words: the digits, and the coin as the last one.
    2^64·(1 - exp(-rate·j)) lies between `least`·j and `most`·j.
    """

    rates: tuple[Fraction, ...]
    bits: tuple[int, ...]
    masks: NDArray[np.int64]
    planes: int
    sure: int
    least: NDArray[np.uint64]
    most: NDArray[np.uint64]

    def look(self, heads: NDArray[np.uint16], masks: Any, out: NDArray[Any]) -> None:
        """Put the digits of words together, lowest first, without the coin; `masks` are 2^bits - 1."""
        np.copyto(out, heads[0])
        for number, plane in enumerate(heads[1:-1], start=1):
            out |= plane.astype(out.dtype) << (WORD_BITS * number)
        out &= masks

    def settle(
        self, heads: NDArray[np.uint16], rows: NDArray[np.intp], left: NDArray[np.bool_], source: Source
    ) -> NDArray[np.int64]:
        """Return the digits that words lead to, counted from 0 outwards; `left` ones are read backwards."""
        masks = self.masks[rows]
        values = np.empty(rows.size, np.int64)
        self.look(heads, masks, values)
        values ^= np.where(left, masks, 0)
        refused = np.flatnonzero(~self._kept(values, rows, extended(heads[-1], source), source))
        while refused.size:
            fresh = np.empty((self.planes, refused.size), np.uint16)
            source.fill(fresh)
            again = np.empty(refused.size, np.int64)
            self.look(fresh, masks[refused], again)
            values[refused] = again
            kept = self._kept(again, rows[refused], extended(fresh[-1], source), source)
            refused = refused[~kept]
        return values

    def _kept(
        self, values: NDArray[np.int64], rows: NDArray[np.intp], coins: NDArray[np.uint64], source: Source
    ) -> NDArray[np.bool_]:
        """Decide which numbers stay; a coin u stands for a uniform number of [u, u + 1)·2^-64."""
        losses, sizes = ~coins, values.astype(np.uint64)
        kept = losses >= self.most[rows] * sizes
        unclear = ~kept & (losses >= self.least[rows] * sizes)
        for position in np.flatnonzero(unclear).tolist():
            rate = self.rates[int(rows[position])]
            number = Uniform(int(coins[position]), source)
            kept[position] = number.below(_decay(rate * int(values[position])))
        return kept


def _decay(fall: Fraction) -> Enclosure:
    def enclosure(bits: int) -> Any:
        with precision(bits + 32):
            return (-ball(fall)).exp()

    return enclosure


def ground_of(rows: tuple[tuple[Fraction, int], ...]) -> Ground | None:
    """Build the tables for rows of a rate and a number of digits, or nothing if there are no digits."""
    if not any(bits for _, bits in rows):
        return None
    rates = tuple(rate if bits else Fraction(0) for rate, bits in rows)
    largest = [rate * (1 << bits) for rate, (_, bits) in zip(rates, rows, strict=True)]
    least = [floor(rate * (1 - x / 2) * _SCALE) for rate, x in zip(rates, largest, strict=True)]
    return Ground(
        rates=rates,
        bits=tuple(bits for _, bits in rows),
        masks=np.array([(1 << bits) - 1 for _, bits in rows], np.int64),
        planes=-(-max(bits for _, bits in rows) // WORD_BITS) + 1,
        sure=floor((1 - max(largest)) * (1 << WORD_BITS)),
        least=np.array(least, np.uint64),
        most=np.array([ceil(rate * _SCALE) for rate in rates], np.uint64),
    )
