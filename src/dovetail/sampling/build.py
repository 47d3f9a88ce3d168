"""Build the tables of a law from its rigorous tails."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .blocks import DEPTH, Blocks, block_bits, blocks_of
from .law import Law
from .offsets import MOST_BITS, Checks, checks_of
from .sampler import Sampler
from .spans import Span, Spans, parting, spans_of
from .steps import UNSETTLED, Steps, floors, steps_of

_INT64_END = 1 << 63
# If fewer than this many of the 2^16 words have another mask than most, they are left to the thresholds: one
# mask for all is faster.
_RARE_WORDS = 512
_FAR = 1 << (64 - DEPTH)


def build(law: Law) -> Sampler:
    """Build the sampler of a law, or refuse one that is too wide for 64-bit integers."""
    blocks = blocks_of(law)
    bits_of_rate = {run.rate: block_bits(run) for run in law.runs or () if block_bits(run)}
    rates = [Fraction(0), *bits_of_rate]
    row_of_run = tuple(rates.index(run.rate) if run.rate in rates else 0 for run in law.runs or ())
    checks = checks_of(tuple(bits_of_rate.items()))
    steps, spans, depth = thresholds(blocks, row_of_run, checks)
    place_kind = _place_kind(max(segment.bits for segment in blocks.segments))
    cells, mask, cell_masks = _cells(steps, spans, place_kind)
    return Sampler(
        blocks=blocks,
        depth=depth,
        steps=steps,
        spans=spans,
        row_of_run=row_of_run,
        checks=checks,
        cells=cells,
        unset=int(np.iinfo(cells.dtype).min),
        place_kind=place_kind,
        mask=mask,
        cell_masks=cell_masks,
        draw_bytes=2 + (place_kind.itemsize if place_kind else 0),
    )


def thresholds(blocks: Blocks, row_of_run: tuple[int, ...], checks: Checks) -> tuple[Steps, Spans, int]:
    """Return the thresholds, the spans between them, and the first block that lies beyond them."""
    # Outwards from 0; left of 0 they are floors of tails, right of 0 of what is left of 1.
    floors_outwards = []
    spans = [Span(0, 0, 0)]
    tail = lru_cache(maxsize=4)(blocks.tail_ball)
    for block in count(1):
        floors_outwards.append(floors(partial(tail, block)))
        segment = blocks.segment(block)
        begin, mask = segment.begin(block), (1 << segment.bits) - 1
        row = row_of_run[segment.run] if mask else 0
        if floors_outwards[-1][1] < _FAR:
            spans.append(Span(begin, 0, 0))
            break
        if row:
            spans.append(Span(begin, mask, 0))
            floors_outwards.append(floors(parting(tail, block, checks.shares.item(row))))
        spans.append(Span(begin, mask, row))
    # Twice as wide still fits, so that no sum of a block's begin and a place can wrap.
    if 2 * begin >= _INT64_END or max(segment.bits for segment in blocks.segments) > MOST_BITS:
        allowed = "narrow enough for 64-bit integers: a scale of at most about 1e17 steps"
        raise InvalidParameter("noise", blocks.law, allowed, "Use a coarser lattice.")
    left = [(low, high) for low, high, _, _ in reversed(floors_outwards)]
    right = [(low, high) for _, _, low, high in floors_outwards]
    return steps_of([*left, *right]), spans_of(spans), block


def _place_kind(bits: int) -> np.dtype[Any] | None:
    """Return the type of the words that places of blocks of 2^bits values are read from."""
    if bits == 0:
        return None
    # Signed where they are as wide as values, to which they are added.
    rooms = ((np.uint8, 8), (np.uint16, 16), (np.int32, 31), (np.int64, MOST_BITS))
    return np.dtype(next(kind for kind, room in rooms if bits <= room))


def _cells(
    steps: Steps, spans: Spans, place_kind: np.dtype[Any] | None
) -> tuple[NDArray[Any], int, NDArray[Any] | None]:
    """Return what each 16-bit word leads to: the lowest value of a block, or the mark; and a mask.

    The values are of the smallest type that holds all of the tables; its least value is the mark. Masks are
    returned apart where not all words have the same.
    """
    index = steps.cells()
    fast = (index != UNSETTLED) & (spans.rows[index] == 0)
    index[~fast] = 0
    masks = spans.masks[index]
    different, words = np.unique(masks[fast], return_counts=True)
    mask = int(different[words.argmax()]) if words.size else 0
    others = fast & (masks != mask)
    if others.sum() < _RARE_WORDS:
        fast &= ~others
    kinds = (np.int32, np.int64) if place_kind else (np.int16, np.int32, np.int64)
    kind = next(kind for kind in kinds if -spans.lowest[0] <= np.iinfo(kind).max)
    cells = np.where(fast, spans.lowest[index], np.iinfo(kind).min).astype(kind)
    cells.flags.writeable = False
    if others.sum() < _RARE_WORDS:
        return cells, mask, None
    cell_masks: NDArray[Any] = masks.astype(place_kind)
    cell_masks.flags.writeable = False
    return cells, mask, cell_masks
