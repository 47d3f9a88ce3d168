"""Decide the draws that the tables leave open: by thresholds of 64 bits, and rigorously where those tie."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bits import BitSource, extended
from .spans import parting
from .tables import Tables
from .uniform import Uniform, last_above

_MIDDLE = 1 << 63
ONE_BY_ONE = 12
"""So many open draws are decided one by one in the time that arrays take for any number."""


def decide(
    tables: Tables, heads: NDArray[np.uint16], tails: NDArray[Any], source: BitSource
) -> tuple[NDArray[np.int64], dict[int, int]]:
    """Return the draws that begin with the given words of blocks and places.

    Those that only rigorous arithmetic decides, which may be of any width, are returned apart, by position.
    """
    words = extended(heads, source)
    steps, undecided = tables.steps.locate(words)
    apart = {
        position: exactly(tables, int(words[position]), int(tails[position]), source)
        for position in undecided.tolist()
    }
    values = tables.spans.lowest.take(steps)
    if tables.place_kind is not None:
        # The first span has no check, and what it leads to does not matter here.
        steps[undecided] = 0
        places = tails & tables.spans.masks.take(steps)
        checked = (tables.spans.rows.take(steps) != 0).nonzero()[0]
        if checked.size:
            places[checked] = _checked(tables, steps.take(checked), places.take(checked), source)
        values += places
    return values, apart


def _checked(
    tables: Tables, steps: NDArray[np.intp], places: NDArray[np.int64], source: BitSource
) -> NDArray[np.int64]:
    """Return the places, counted upwards, that stay, and others for those that do not."""
    masks, rows = tables.spans.masks.take(steps), tables.spans.rows.take(steps).astype(np.intp)
    # Left of 0, the complement counts outwards.
    outwards = places ^ masks * (steps < tables.spans.middle)
    words = np.frombuffer(source.read(8 * steps.size), dtype="<u8")
    rejected = (~tables.checks.keep(outwards, rows, words, source)).nonzero()[0]
    if rejected.size:
        fresh = np.empty(rejected.size, tables.place_kind)
        source.fill(fresh)
        places[rejected] = fresh & masks.take(rejected)
        coins = np.frombuffer(source.read(4 * rejected.size), dtype="<u4")
        again = rejected[coins < tables.checks.shares.take(rows.take(rejected))]
        if again.size > ONE_BY_ONE:
            places[again] = _checked(tables, steps[again], places[again], source)
        else:
            for position in again.tolist():
                mask, row = masks.item(position), rows.item(position)
                flip = mask if steps.item(position) < tables.spans.middle else 0
                places[position] = _kept_place(tables, places.item(position), mask, flip, row, source)
    return places


def decide_one(tables: Tables, head: int, tail: int, source: BitSource) -> int:
    """Return the draw that begins with a 16-bit word and the word of its place."""
    word = (head << 48) | (source.word() >> 16)
    step = tables.steps.locate_one(word)
    if step is None:
        return exactly(tables, word, tail, source)
    spans = tables.spans
    lowest, mask, row = spans.lowest.item(step), spans.masks.item(step), spans.rows.item(step)
    return _placed(tables, lowest, mask, row, tail, source) if row else lowest + (tail & mask)


def exactly(tables: Tables, word: int, tail: int, source: BitSource) -> int:
    """Return the draw of a uniform number that begins with `word`: outwards from the nearer end."""
    right = word >= _MIDDLE
    number = Uniform(word, source, mirrored=right)
    blocks = tables.blocks
    block = last_above(number, lambda i: partial(blocks.tail_ball, i), 0)
    if block == 0:
        return 0
    segment = blocks.segment(block)
    begin, mask, row = segment.begin(block), (1 << segment.bits) - 1, 0
    if mask:
        row = tables.row_of_run[segment.run]
        if not number.below(parting(blocks.tail_ball, block, tables.checks.shares.item(row))):
            row = 0
    return _placed(tables, begin if right else -begin - mask, mask, row, tail, source)


def _placed(tables: Tables, lowest: int, mask: int, row: int, tail: int, source: BitSource) -> int:
    """Return a value of a block, by the word of its place and a check where the row is not 0."""
    place = tail & mask
    return lowest + (
        _kept_place(tables, place, mask, mask if lowest < 0 else 0, row, source) if row else place
    )


def _kept_place(tables: Tables, place: int, mask: int, flip: int, row: int, source: BitSource) -> int:
    """Return a place that is due for a check if it stays, and another one if it does not."""
    while not tables.checks.keep_one(place ^ flip, row, source.word(), source):
        place = int.from_bytes(source.read(tables.draw_bytes - 2), "little") & mask
        if int.from_bytes(source.read(4), "little") >= tables.checks.shares.item(row):
            break
    return place
