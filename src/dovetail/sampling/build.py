"""Build the tables of a law from its rigorous tails."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .blocks import Blocks, block_bits, blocks_of
from .law import Law
from .offsets import Offsets, Row, offsets_for
from .sampler import Sampler
from .steps import UNSETTLED, Steps, floors, steps_of

# A row of digit tables that fewer than this many of the 2^16 words lead to is left to the thresholds:
# reading one row is faster than reading two.
_RARE_WORDS = 512
_INT64_END = 1 << 63


class Columns(NamedTuple):
    """What is known of each step: where its block begins, its digits and their row, and if it is whole."""

    begins: NDArray[np.int64]
    masks: NDArray[np.int64]
    rows: NDArray[np.intp]
    whole: NDArray[np.bool_]


def build(law: Law) -> Sampler:
    """Build the sampler of a law, or refuse one that is too wide for 64-bit integers."""
    blocks = blocks_of(law)
    steps, depth = thresholds(blocks)
    rows, row_of_run = _rows(law)
    offsets = offsets_for(tuple(rows)) if any(bits for _, bits in rows) else None
    columns = _columns(blocks, depth, row_of_run)
    cells, row_cells, row = _cells(steps, columns, offsets)
    for array in (*columns, cells):
        array.flags.writeable = False
    return Sampler(
        blocks=blocks,
        depth=depth,
        steps=steps,
        begins=columns.begins,
        masks=columns.masks,
        rows=columns.rows,
        cells=cells,
        row_cells=row_cells,
        row=row,
        row_of_run=row_of_run,
        offsets=offsets,
        planes=1 + (offsets.planes if offsets else 0),
        unset=int(np.iinfo(cells.dtype).min),
    )


def thresholds(blocks: Blocks) -> tuple[Steps, int]:
    """Return the thresholds of all blocks and how many lie on each side; the last has a tail below 2^-64."""
    left: list[tuple[int, int]] = []
    right: list[tuple[int, int]] = []
    for block in count(1):
        low, high, mirrored_low, mirrored_high = floors(partial(blocks.tail_ball, block))
        left.append((low, high))
        right.append((mirrored_low, mirrored_high))
        if high == 0:
            break
    return steps_of([*reversed(left), *right]), len(left)


def _rows(law: Law) -> tuple[list[Row], tuple[int, ...]]:
    """Return the different (rate, digits) of the runs, each a row of digit tables, and each run's row."""
    rows: list[Row] = []
    row_of_run = []
    for run in law.runs or ():
        bits = block_bits(run)
        row = (run.rate, bits) if bits else (Fraction(1), 0)
        if row not in rows:
            rows.append(row)
        row_of_run.append(rows.index(row))
    return rows, tuple(row_of_run)


def _columns(blocks: Blocks, depth: int, row_of_run: tuple[int, ...]) -> Columns:
    begins, masks, rows, whole = [0], [0], [0], [False]
    for block in range(1, depth + 1):
        segment = blocks.segment(block)
        begins.append(segment.begin(block))
        masks.append((1 << segment.bits) - 1)
        rows.append(row_of_run[segment.run] if row_of_run else 0)
        whole.append(segment.whole)
    # Twice as wide still fits, so that no sum of an edge and an offset can wrap.
    if 2 * (begins[-1] + masks[-1]) >= _INT64_END:
        allowed = "narrow enough for 64-bit integers: a scale of at most about 1e17 steps"
        raise InvalidParameter("noise", blocks.law, allowed, "Use a coarser lattice.")

    def mirrored(column: Sequence[int], dtype: Any, sign: int = 1) -> NDArray[Any]:
        return np.array([sign * entry for entry in column[:0:-1]] + [*column], dtype=dtype)

    return Columns(
        mirrored(begins, np.int64, sign=-1),
        mirrored(masks, np.int64),
        mirrored(rows, np.intp),
        mirrored(whole, np.bool_),
    )


def _cells(
    steps: Steps, columns: Columns, offsets: Offsets | None
) -> tuple[NDArray[Any], NDArray[np.intp] | None, int]:
    """Return what each 16-bit word leads to: an edge or the mark, and a row; and the row that is usual."""
    index = steps.cells()
    fast = index != UNSETTLED
    index[~fast] = 0
    if offsets is None:
        return _marked(columns.begins, index, fast), None, 0
    fast &= columns.whole[index]
    rows = columns.rows[index]
    words_of_row = np.bincount(rows[fast], minlength=len(offsets.units))
    usual = int(words_of_row.argmax())
    frequent = words_of_row >= _RARE_WORDS
    frequent[usual] = True
    fast &= frequent[rows]
    edges = np.where(columns.begins < 0, columns.begins - offsets.top(columns.rows), columns.begins)
    cells = _marked(edges, index, fast)
    if frequent.sum() == 1:
        return cells, None, usual
    rows.flags.writeable = False
    return cells, rows, usual


def _marked(edges: NDArray[np.int64], index: NDArray[np.uint16], fast: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the edges of cells in the smallest type that holds every value; its least value is the mark.

    No value is farther out than the lowest edge, which is the far end of the last block on the left.
    """
    kind = next(kind for kind in (np.int16, np.int32, np.int64) if -edges[0] <= np.iinfo(kind).max)
    cells: NDArray[Any] = edges[index].astype(kind)
    cells[~fast] = np.iinfo(kind).min
    return cells
