"""Build the tables of a law from its rigorous tails."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .blocks import DEPTH, Blocks, Segment, block_bits, blocks_of
from .cdf_steps import LADDER, UNDECIDED, CdfSteps, Floors, floors, floors_of, steps_of
from .law import Law
from .place_rejection import MOST_BITS, Checks, checks_of
from .sampler import Sampler
from .spans import Span, Spans, parting, spans_of

_INT64_END = 1 << 63
# If fewer than this many of the 2^16 words have another mask than most, they are left to the thresholds: one
# mask for all is faster.
_RARE_WORDS = 512
# Tails that are looked at together.
_AT_ONCE = 16
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


class Tails:
    """The tails of blocks and their floors, many at a time: one after another takes three times as long."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._first = 1
        self._known: list[tuple[Segment, int, Any, Floors]] = []

    def at(self, block: int) -> tuple[Segment, int, Floors]:
        """Return the segment of a block, where the block begins, and the floors of its tail."""
        if block >= self._first + len(self._known):
            self._look_from(block)
        segment, begin, _, floor = self._known[block - self._first]
        return segment, begin, floor

    def ball(self, block: int, bits: int) -> Any:
        """Return a ball around the probability of the blocks from `block` on."""
        place = block - self._first
        if bits == LADDER[0] and place < len(self._known):
            return self._known[place][2]
        return self._blocks.tail_ball(block, bits)

    def _look_from(self, block: int) -> None:
        law = self._blocks.law
        segments, begins = zip(*self._blocks.from_block(block, _AT_ONCE), strict=True)
        balls = _tail_balls(law, begins, LADDER[0])
        found = [
            floor or floors(partial(law.tail_ball, begin))
            for floor, begin in zip(floors_of(balls), begins, strict=True)
        ]
        self._first, self._known = block, list(zip(segments, begins, balls, found, strict=True))


def _tail_balls(law: Law, points: Sequence[int], bits: int) -> list[Any]:
    """Return the tails of a law from many points on; noise has a quicker way than one by one."""
    together = getattr(law, "tail_balls", None)
    return together(points, bits) if together else [law.tail_ball(point, bits) for point in points]


def thresholds(blocks: Blocks, row_of_run: tuple[int, ...], checks: Checks) -> tuple[CdfSteps, Spans, int]:
    """Return the thresholds, the spans between them, and the first block that lies beyond them."""
    # Outwards from 0; left of 0 they are floors of tails, right of 0 of what is left of 1.
    floors_outwards: list[Floors] = []
    spans = [Span(0, 0, 0)]
    tails = Tails(blocks)
    for block in count(1):
        segment, begin, floor = tails.at(block)
        floors_outwards.append(floor)
        mask = (1 << segment.bits) - 1
        row = row_of_run[segment.run] if mask else 0
        if floors_outwards[-1][1] < _FAR:
            spans.append(Span(begin, 0, 0))
            break
        if row:
            spans.append(Span(begin, mask, 0))
            floors_outwards.append(floors(parting(tails.ball, block, checks.shares.item(row))))
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
    steps: CdfSteps, spans: Spans, place_kind: np.dtype[Any] | None
) -> tuple[NDArray[Any], int, NDArray[Any] | None]:
    """Return what each 16-bit word leads to: the lowest value of a block, or the mark; and a mask.

    The values are of the smallest type that holds all of the tables; its least value is the mark. Masks are
    returned apart where not all words have the same.
    """
    index = steps.cells()
    fast = (index != UNDECIDED) & (spans.rows[index] == 0)
    index[~fast] = 0
    different, of_span = np.unique(spans.masks, return_inverse=True)
    words = np.bincount(of_span[index[fast]], minlength=different.size)
    mask = int(different[words.argmax()])
    one_mask = words.sum() - words.max() < _RARE_WORDS
    if one_mask:
        fast &= (spans.masks == mask)[index]
    kinds = (np.int32, np.int64) if place_kind else (np.int16, np.int32, np.int64)
    kind = next(kind for kind in kinds if -spans.lowest[0] <= np.iinfo(kind).max)
    least = np.iinfo(kind).min
    cells = np.where(fast, spans.lowest.astype(kind)[index], kind(least))
    cells.flags.writeable = False
    if one_mask:
        return cells, mask, None
    cell_masks: NDArray[Any] = spans.masks.astype(place_kind)[index]
    cell_masks.flags.writeable = False
    return cells, mask, cell_masks
