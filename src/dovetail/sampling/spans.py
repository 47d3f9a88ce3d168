"""What the steps between thresholds stand for: spans of the unit interval that lead to one block each.

Of the numbers that lead to a block of several values, those farthest from the middle also say that the place
in the block is checked: such a block has two spans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.balls import precision

from .place_rejection import SHARE_BITS
from .uniform import Enclosure


class Span(NamedTuple):
    """A span right of 0: where its block begins, its mask 2^m - 1, and the row of its check or 0 for none."""

    begin: int
    mask: int
    row: int


class Spans(NamedTuple):
    """The lowest values, masks and rows of all spans, from far left to far right, by step.

    The first and the last span stand for all that lies beyond the tables.
    """

    lowest: NDArray[np.int64]
    masks: NDArray[np.int64]
    rows: NDArray[np.uint16]

    @property
    def middle(self) -> int:
        """The step of block 0."""
        return self.rows.size // 2

    @property
    def nbytes(self) -> int:
        """The size of the tables."""
        return self.lowest.nbytes + self.masks.nbytes + self.rows.nbytes


def parting(tail: Callable[[int, int], Any], block: int, share: int) -> Enclosure:
    """Return the enclosure of the number below which the place in a block is checked, given 2^32·c."""

    def enclosure(bits: int) -> Any:
        here, after = tail(block, bits), tail(block + 1, bits)
        with precision(bits + 32):
            return parted(here, after, share)

    return enclosure


def parted(here: Any, after: Any, share: int) -> Any:
    """Go the given part of 2^32 of the way from the tail after a block to the tail of the block."""
    return after + (here - after) * share / (1 << SHARE_BITS)


def spans_of(outwards: Sequence[Span]) -> Spans:
    """Build the columns from the spans from 0 outwards, which the left side mirrors."""
    inwards = outwards[:0:-1]
    spans = Spans(
        lowest=np.array([-s.begin - s.mask for s in inwards] + [s.begin for s in outwards], np.int64),
        masks=np.array([s.mask for s in (*inwards, *outwards)], np.int64),
        rows=np.array([s.row for s in (*inwards, *outwards)], np.uint16),
    )
    for array in (spans.lowest, spans.masks, spans.rows):
        array.flags.writeable = False
    return spans
