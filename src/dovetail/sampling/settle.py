"""Settle the draws that the tables leave open: by thresholds of 64 bits, and rigorously where those tie."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bits import Source, extended
from .uniform import Uniform, last_above

if TYPE_CHECKING:
    from .sampler import Sampler

_MIDDLE = 1 << 63


def settled(
    tables: Sampler, heads: NDArray[np.uint16], source: Source
) -> tuple[NDArray[np.int64], dict[int, int]]:
    """Return the draws that begin with the given words, one column for each.

    Those beyond the tables, which may be of any width, are returned apart, by column.
    """
    steps = tables.steps.settle(
        extended(heads[0], source), lambda word, _: _block(tables, word, source) + tables.depth
    )
    inside = steps.clip(0, 2 * tables.depth)
    values = tables.begins[inside]
    if tables.offsets is not None:
        rows, masks = tables.rows[inside], tables.masks[inside]
        offsets = tables.offsets.settle(heads, rows, source) & masks
        values = np.where(values < 0, values - offsets, values + offsets)
    beyond = {
        place: _beyond(tables, int(steps[place]) - tables.depth, heads[:, [place]], source)
        for place in np.flatnonzero(steps != inside).tolist()
    }
    return values, beyond


def _block(tables: Sampler, word: int, source: Source) -> int:
    """Return the block of a uniform number that begins with `word`: outwards from the nearer end."""
    right = word >= _MIDDLE
    number = Uniform(word, source, mirrored=right)
    block = last_above(number, lambda i: partial(tables.blocks.tail_ball, i), 0)
    return block if right else -block


def _beyond(tables: Sampler, block: int, heads: NDArray[np.uint16], source: Source) -> int:
    """Return a value of a block that lies beyond the tables, which may be too far out for 64 bits."""
    segment = tables.blocks.segment(abs(block))
    value = segment.begin(abs(block))
    if tables.offsets is not None:
        row = np.array([tables.row_of_run[segment.run]])
        value += int(tables.offsets.settle(heads, row, source)[0]) & ((1 << segment.bits) - 1)
    return value if block > 0 else -value
