"""The leading digits of an offset within a block, by tables.

With weights exp(-rate·j) on 0 ≤ j < 2^m, the binary digits of j are independent. The leading ones together
are a truncated geometric variable of their own, whose rate is that of one unit in their last place.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.balls import ball, precision

from .bits import Source, extended
from .steps import WORD_BITS, Steps, floors, steps_of
from .uniform import Enclosure, Uniform


@dataclass(frozen=True, slots=True)
class Group:
    """The law of `width` binary digits with weights exp(-rate·j) on 0 ≤ j < 2^width."""

    rate: Fraction
    width: int

    def below(self, j: int) -> Enclosure:
        """Return the enclosure of P(J <= j)."""

        def enclosure(bits: int) -> Any:
            with precision(bits + 32):
                head = (-ball(self.rate * (j + 1))).expm1()
                return head / (-ball(self.rate * (1 << self.width))).expm1()

        return enclosure

    def steps(self) -> Steps:
        """Return the certified thresholds."""
        return steps_of(floors(self.below(j))[:2] for j in range((1 << self.width) - 1))

    def resolve(self, source: Source, word: int, fewest: int) -> int:
        """Return the value of a uniform number that begins with `word` and has passed `fewest` thresholds."""
        number = Uniform(word, source)
        value = fewest
        while value < (1 << self.width) - 1 and not number.below(self.below(value)):
            value += 1
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Digits:
    """One table for each row (a rate and a number of digits), in one array of (row, word).

    The last `drop` of the 16 bits of a word do not index the table.
    """

    groups: tuple[Group, ...]
    steps: tuple[Steps, ...]
    table: NDArray[np.uint16]
    drop: int

    def look(
        self,
        heads: NDArray[np.uint16],
        row: int | NDArray[np.intp],
        out: NDArray[np.uint16],
        index: NDArray[np.intp],
    ) -> None:
        """Put what the tables say of 16-bit words into `out`, by one row for all or by one for each.

        `index` is room to work in.
        """
        short = np.right_shift(heads, self.drop, out=out) if self.drop else heads
        if isinstance(row, int):
            np.copyto(index, short)
            np.take(self.table[row], index, out=out, mode="clip")
        else:
            np.multiply(row, self.table.shape[1], out=index)
            np.add(index, short, out=index)
            np.take(self.table.reshape(-1), index, out=out, mode="clip")

    def settle(self, heads: NDArray[np.uint16], rows: NDArray[np.intp], source: Source) -> NDArray[np.int64]:
        """Return the digits that 16-bit words lead to with as many more bits as they need."""
        values = np.empty(heads.size, np.int64)
        for row in sorted(set(rows.tolist())):
            here = np.flatnonzero(rows == row)
            resolve = partial(self.groups[row].resolve, source)
            values[here] = self.steps[row].settle(extended(heads[here], source), resolve)
        return values


def digits_of(groups: tuple[Group, ...], index_bits: int) -> Digits:
    """Build the tables of the groups, each indexed by the leading `index_bits` bits of a word."""
    steps = tuple(group.steps() for group in groups)
    table = np.stack([step.cells(index_bits) for step in steps])
    table.flags.writeable = False
    return Digits(groups, steps, table, WORD_BITS - index_bits)
