"""Build the tables of a law from its rigorous tails."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter
from dovetail.exact.balls import precision

from .blocks import DEPTH, Blocks, block_bits, blocks_of
from .cdf_steps import LADDER, UNDECIDED, CdfSteps, Floors, floors, floors_of, steps_of
from .law import Law
from .place_rejection import MOST_BITS, Checks, checks_of
from .sampler import Sampler
from .spans import Span, Spans, parted, parting, spans_of

_INT64_END = 1 << 63
# If fewer than this many of the 2^16 words have another mask than most, they are left to the thresholds: one
# mask for all is faster.
_RARE_WORDS = 512
# Blocks that are looked at together.
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


class Outline(NamedTuple):
    """A block on the right, the floors of its tail, and of the number that parts its spans if it has two."""

    block: int
    begin: int
    mask: int
    row: int
    floors: Floors
    parting: Floors | None


def _outlines(first: int, blocks: Blocks, row_of_run: tuple[int, ...], checks: Checks) -> list[Outline]:
    """Return the outlines of some blocks, made together: one after another takes three times as long."""
    # One more: the number that parts the last block lies between its tail and the next one.
    segments, begins = zip(*blocks.from_block(first, _AT_ONCE + 1), strict=True)
    rows = [row_of_run[segment.run] if segment.bits else 0 for segment in segments[:-1]]
    shares = [checks.shares.item(row) for row in rows]
    balls = _tail_balls(blocks.law, begins, LADDER[0])
    with precision(LADDER[0] + 32):
        between = [parted(*each) for each in zip(balls[:-1], balls[1:], shares, strict=True) if each[2]]
    sure, sure_between = floors_of(balls[:-1]), iter(floors_of(between))
    outlines = []
    for block, segment, begin, row, share, floor in zip(
        count(first), segments, begins, rows, shares, sure, strict=False
    ):
        apart = None
        if row:
            apart = next(sure_between) or floors(parting(blocks.tail_ball, block, share))
        floor = floor or floors(partial(blocks.law.tail_ball, begin))
        outlines.append(Outline(block, begin, (1 << segment.bits) - 1, row, floor, apart))
    return outlines


def _tail_balls(law: Law, points: Sequence[int], bits: int) -> list[Any]:
    """Return the tails of a law from many points on; noise has a quicker way than one by one."""
    together = getattr(law, "tail_balls", None)
    return together(points, bits) if together else [law.tail_ball(point, bits) for point in points]


def thresholds(blocks: Blocks, row_of_run: tuple[int, ...], checks: Checks) -> tuple[CdfSteps, Spans, int]:
    """Return the thresholds, the spans between them, and the first block that lies beyond them."""
    # Outwards from 0; left of 0 they are floors of tails, right of 0 of what is left of 1.
    floors_outwards: list[Floors] = []
    spans = [Span(0, 0, 0)]
    outlines = (_outlines(first, blocks, row_of_run, checks) for first in count(1, _AT_ONCE))
    for each in chain.from_iterable(outlines):
        floors_outwards.append(each.floors)
        if each.floors[1] < _FAR:
            spans.append(Span(each.begin, 0, 0))
            break
        if each.parting:
            spans.append(Span(each.begin, each.mask, 0))
            floors_outwards.append(each.parting)
        spans.append(Span(each.begin, each.mask, each.row))
    # Twice as wide still fits, so that no sum of a block's begin and a place can wrap.
    if 2 * each.begin >= _INT64_END or max(segment.bits for segment in blocks.segments) > MOST_BITS:
        allowed = "narrow enough for 64-bit integers: a scale of at most about 1e17 steps"
        raise InvalidParameter("noise", blocks.law, allowed, "Use a coarser lattice.")
    left = [(low, high) for low, high, _, _ in reversed(floors_outwards)]
    right = [(low, high) for _, _, low, high in floors_outwards]
    return steps_of([*left, *right]), spans_of(spans), each.block


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
    kinds = (np.int32, np.int64) if place_kind else (np.int8, np.int16, np.int32, np.int64)
    kind = next(kind for kind in kinds if -spans.lowest[0] <= np.iinfo(kind).max)
    least = np.iinfo(kind).min
    cells = np.where(fast, spans.lowest.astype(kind)[index], kind(least))
    cells.flags.writeable = False
    if one_mask:
        return cells, mask, None
    cell_masks: NDArray[Any] = spans.masks.astype(place_kind)[index]
    cell_masks.flags.writeable = False
    return cells, mask, cell_masks
