"""The offset within a block: a truncated geometric variable, drawn a few binary digits at a time.

With weights exp(-rate·j) on 0 ≤ j < 2^m, the groups of binary digits of j are independent, and the group that
starts at digit s is a truncated geometric variable itself, of rate 2^s·rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter
from dovetail.exact.balls import ball, precision

from .bits import Source, extended
from .steps import UNSETTLED, WORD_BITS, Steps, floors, steps_of
from .uniform import Enclosure, Uniform

# (bits that index a table, binary digits per table): finer first; each keeps cut cells near 1 %.
_SHAPES = ((16, 9), (14, 7), (12, 5), (10, 3), (8, 1))
_MOST_BYTES = 1 << 20
_ENTRY_BYTES = 2

Row = tuple[Fraction, int]


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

    def resolve(self, word: int, fewest: int, source: Source) -> int:
        """Return the value of a uniform number that begins with `word` and has passed `fewest` thresholds."""
        number = Uniform(word, source)
        value = fewest
        while value < (1 << self.width) - 1 and not number.below(self.below(value)):
            value += 1
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Digits:
    """The tables of one group of binary digits, one for each row, in one array of (row, word)."""

    shift: int
    drop: int
    groups: tuple[Group, ...]
    steps: tuple[Steps, ...]
    table: NDArray[np.uint16]

    def draw(
        self, heads: NDArray[np.uint16], row: int | NDArray[np.intp], source: Source
    ) -> NDArray[np.uint16]:
        """Return the digits for 16-bit words, all of one row or each of its own."""
        index = heads >> np.uint16(self.drop) if self.drop else heads
        values = np.empty(heads.size, np.uint16)
        if isinstance(row, int):
            np.take(self.table[row], index, out=values, mode="clip")
        else:
            np.take(self.table.ravel(), index + row * self.table.shape[1], out=values, mode="clip")
        cut = np.flatnonzero(values == UNSETTLED)
        if cut.size:
            rows = np.full(cut.size, row) if isinstance(row, int) else row[cut]
            values[cut] = self._settled(heads[cut], rows, source)
        return values

    def _settled(self, heads: NDArray[np.uint16], rows: NDArray[np.intp], source: Source) -> NDArray[np.intp]:
        found = extended(heads, source)
        values = np.empty(heads.size, np.intp)
        for row in np.unique(rows).tolist():
            here = np.flatnonzero(rows == row)
            group = self.groups[row]
            values[here] = self.steps[row].settle(
                found[here], lambda word, fewest, group=group: group.resolve(word, fewest, source)
            )
        return values


def digits_for(rows: tuple[Row, ...]) -> tuple[Digits, ...]:
    """Build the tables of offsets in the finest shape that fits; a row is a rate and its number of digits."""
    most = max(bits for _, bits in rows)
    for index_bits, widest in _SHAPES:
        count = -(-most // widest)
        if len(rows) * count * _ENTRY_BYTES << index_bits <= _MOST_BYTES:
            cuts = [most * number // count for number in range(count + 1)]
            return tuple(_digits(rows, shift, end, index_bits) for shift, end in pairwise(cuts))
    allowed = "of fewer pieces at this width"
    raise InvalidParameter("noise", f"{len(rows)} pieces", allowed, "Use fewer pieces or a coarser lattice.")


def _digits(rows: tuple[Row, ...], shift: int, end: int, index_bits: int) -> Digits:
    """Build the tables of the digits from `shift` up to `end`; a row of smaller blocks has fewer of them."""
    groups = tuple(Group(rate * (1 << shift), max(min(bits, end) - shift, 0)) for rate, bits in rows)
    steps = tuple(group.steps() for group in groups)
    table = np.stack([step.cells(index_bits) for step in steps])
    table.flags.writeable = False
    return Digits(shift, WORD_BITS - index_bits, groups, steps, table)
