"""Where in its block a draw lies: a few leading digits by table, the remaining ones by uniform bits.

The offset of a draw, counted from the value of its block that is nearest to 0, is digit·unit + ground. What
is drawn is the same offset counted upwards, so that it is added on both sides of 0: right of 0 nothing
changes; left of 0 the digit is complemented, and the ground, uniform but for its rejections, is taken as it
comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .bits import Source
from .digits import Digits, Group, digits_of
from .ground import Ground, ground_of
from .scratch import Scratch
from .steps import UNSETTLED, WORD_BITS

Row = tuple[Fraction, int]
"""A rate, and how many binary digits the offset within a block has."""

RIGHT = 1 << (WORD_BITS - 1)
"""First words from here on lie right of 0, because every law is symmetric."""

# (bits that index a table, digits it gives), finest first: less than 1 % of its cells are cut.
_SHAPES = ((16, 7), (14, 6), (12, 5), (11, 4))
_MOST_BYTES = 1 << 20
_ENTRY_BYTES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Offsets:
    """The tables of all rows; `units` are their units, `width` is the most digits that a table gives."""

    digits: Digits
    ground: Ground | None
    width: int
    units: NDArray[Any]

    @property
    def planes(self) -> int:
        """How many 16-bit words an offset begins with."""
        return 1 + (self.ground.planes if self.ground else 0)

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of offsets: the smallest for which there is a use."""
        return self.units.dtype

    def top(self, row: int | NDArray[np.intp]) -> NDArray[np.int64] | np.int64:
        """Return the largest number that can be drawn by a row; left of 0 it is the smallest offset."""
        tops: NDArray[np.int64] | np.int64 = (self.units[row].astype(np.int64) << self.width) - 1
        return tops

    def look(self, scratch: Scratch, row: int | NDArray[np.intp]) -> None:
        """Read offsets, counted upwards, from the tables: by one row for all draws or by one for each.

        Flags are raised where the words do not decide.
        """
        first, digits, flags = scratch.heads[0], scratch.digits, scratch.flags
        self.digits.look(scratch.heads[1], row, digits, scratch.index)
        flags |= np.equal(digits, UNSETTLED, out=scratch.more_flags)
        # All ones left of 0, all zeros right of it.
        flip = np.right_shift(first, WORD_BITS - 1, out=scratch.short)
        flip -= np.uint16(1)
        flip &= np.uint16((1 << self.width) - 1)
        digits ^= flip
        if scratch.offsets is not digits:
            np.copyto(scratch.offsets, digits)
        if self.ground is not None:
            units = self.units[row] if isinstance(row, int) else self.units.take(row)
            offsets = scratch.offsets
            offsets *= units
            self.ground.look(scratch.heads[2:], units - 1, scratch.ground)
            offsets += scratch.ground
            flags |= np.greater_equal(scratch.heads[-1], self.ground.sure, out=scratch.more_flags)

    def settle(self, heads: NDArray[np.uint16], rows: NDArray[np.intp], source: Source) -> NDArray[np.int64]:
        """Return offsets, counted from 0 outwards, for words and as many more bits as they need."""
        values = self.digits.settle(heads[1], rows, source)
        if self.ground is not None:
            values *= self.units[rows].astype(np.int64)
            values += self.ground.settle(heads[2:], rows, heads[0] < RIGHT, source)
        return values

    def one(self, raw: bytes, row: int) -> int | None:
        """Return the offset, counted upwards, for the bytes of one draw, or None where they do not decide."""
        digit: int = self.digits.table.item(row, (raw[2] | raw[3] << 8) >> self.digits.drop)
        if digit == UNSETTLED:
            return None
        if raw[1] < RIGHT >> 8:
            digit ^= (1 << self.width) - 1
        if self.ground is None:
            return digit
        if (raw[-2] | raw[-1] << 8) >= self.ground.sure:
            return None
        unit: int = self.units.item(row)
        return digit * unit + (int.from_bytes(raw[4:-2], "little") & (unit - 1))


def offsets_for(rows: tuple[Row, ...]) -> Offsets:
    """Build the tables of all rows, in the finest shape that fits."""
    fitting = [shape for shape in _SHAPES if len(rows) * _ENTRY_BYTES << shape[0] <= _MOST_BYTES]
    if not fitting:
        allowed = "of fewer pieces at this width"
        fix = "Use fewer pieces or a coarser lattice."
        raise InvalidParameter("noise", f"{len(rows)} pieces", allowed, fix)
    index_bits, width = fitting[0]
    low = [max(bits - width, 0) for _, bits in rows]
    groups = tuple(Group(rate * (1 << g), bits - g) for (rate, bits), g in zip(rows, low, strict=True))
    largest = width + max(low)
    if largest >= 63:
        raise InvalidParameter(
            "noise", f"offsets of {largest} bits", "of at most 62", "Use a coarser lattice."
        )
    kind = next(kind for kind in (np.uint16, np.int32, np.int64) if (1 << largest) - 1 <= np.iinfo(kind).max)
    return Offsets(
        digits=digits_of(groups, index_bits),
        ground=ground_of(tuple((rate, g) for (rate, _), g in zip(rows, low, strict=True))),
        width=width,
        units=np.array([1 << g for g in low], kind),
    )
