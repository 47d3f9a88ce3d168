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
from .steps import UNSETTLED, WORD_BITS, Steps, floors, steps_of
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

    def draw(
        self,
        heads: NDArray[np.uint16],
        row: int | NDArray[np.intp],
        source: Source,
        out: NDArray[np.uint16],
        index: NDArray[np.intp],
        flags: NDArray[np.bool_],
    ) -> None:
        """Put the digits for 16-bit words into `out`, all by one row of the tables or each by its own.

        `index` and `flags` are room to work in.
        """
        short = np.right_shift(heads, self.drop, out=out) if self.drop else heads
        if isinstance(row, int):
            np.copyto(index, short)
            np.take(self.table[row], index, out=out, mode="clip")
        else:
            np.multiply(row, self.table.shape[1], out=index)
            np.add(index, short, out=index)
            np.take(self.table.reshape(-1), index, out=out, mode="clip")
        cut = np.flatnonzero(np.equal(out, UNSETTLED, out=flags))
        if not cut.size:
            return
        if isinstance(row, int):
            out[cut] = self._settled(row, heads[cut], source)
            return
        rows = row[cut]
        for one in np.unique(rows).tolist():
            here = cut[rows == one]
            out[here] = self._settled(one, heads[here], source)

    def _settled(self, row: int, heads: NDArray[np.uint16], source: Source) -> NDArray[np.intp]:
        resolve = partial(self.groups[row].resolve, source)
        return self.steps[row].settle(extended(heads, source), resolve)


def digits_of(groups: tuple[Group, ...], index_bits: int) -> Digits:
    """Build the tables of the groups, each indexed by the leading `index_bits` bits of a word."""
    steps = tuple(group.steps() for group in groups)
    table = np.stack([step.cells(index_bits) for step in steps])
    table.flags.writeable = False
    return Digits(groups, steps, table, WORD_BITS - index_bits)
