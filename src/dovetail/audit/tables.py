"""Check tables threshold by threshold and cell by cell, by formulas written again for this purpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.exact.balls import ball, precision
from dovetail.sampling.blocks import Segment
from dovetail.sampling.law import GeometricRun, Law
from dovetail.sampling.sampler import Sampler

_BITS = 384
_SCALE = 1 << 64
_TOP = _SCALE - 1
_SHARES = 1 << 32
# What a check may lose to rounding on either side, and at how many places of a block it is looked at.
_LOST = 1 << 40
_PLACES = 200


@dataclass(frozen=True, slots=True)
class CheckedCount:
    """How much was checked."""

    thresholds: int
    cells: int
    blocks: int


def check_tables(law: Law, tables: Sampler, findings: list[str]) -> CheckedCount:
    """Check every table of a sampler against the law; add to `findings` what is wrong."""
    if tables.blocks.law != law:
        findings.append("draws beyond the tables use another distribution")
    findings += _wrong_blocks(law, tables)
    findings += _wrong_spans(tables)
    findings += _wrong_thresholds(law, tables)
    findings += _wrong_cells(tables)
    for row in range(1, len(tables.checks.rows)):
        findings += _wrong_checks(tables, row)
    return CheckedCount(tables.steps.high.size, tables.cells.size, 2 * tables.depth - 1)


def _wrong_blocks(law: Law, tables: Sampler) -> list[str]:
    """Blocks must cover the integers without gap and lie within one run each, whose rate checks them."""
    findings = []
    segments = tables.blocks.segments
    if (segments[0].first, segments[0].start) != (1, 1):
        findings.append("the blocks do not begin at 1")
    for segment, after in pairwise(segments):
        if segment.begin(after.first) != after.start:
            findings.append(f"the blocks from {segment.start} on do not meet those from {after.start} on")
    if law.runs is None:
        return findings + ["a law without runs has blocks of several values"] * any(s.bits for s in segments)
    for number, segment in enumerate(segments):
        end = segments[number + 1].start if number + 1 < len(segments) else None
        if segment.bits and not _inside(law.runs[segment.run], segment, end, tables):
            findings.append(f"the blocks from {segment.start} on are not parts of one run")
    return findings


def _inside(run: GeometricRun, segment: Segment, end: int | None, tables: Sampler) -> bool:
    """Say whether blocks lie in their run, and their checks have its rate and room for all places."""
    rate, bits = tables.checks.rows[tables.row_of_run[segment.run]]
    within = end is not None and end <= run.start + run.count if run.count is not None else True
    assert tables.place_kind is not None
    room = 8 * tables.place_kind.itemsize - (tables.place_kind.kind == "i")
    return run.start <= segment.start and within and rate == run.rate and segment.bits <= min(bits, room)


def _expected(tables: Sampler) -> Iterator[tuple[int, int, int]]:
    """Give the begin, the mask and the row of each span that the blocks right of 0 should have."""
    for block in range(1, tables.depth):
        segment = tables.blocks.segment(block)
        begin, mask = segment.begin(block), (1 << segment.bits) - 1
        yield begin, mask, 0
        if mask:
            yield begin, mask, tables.row_of_run[segment.run]
    yield tables.blocks.begin(tables.depth), 0, 0


def _wrong_spans(tables: Sampler) -> list[str]:
    """Spans must be those of the blocks: one for a single value, else one without check and one with it."""
    spans = tables.spans
    rows, masks, lowest = spans.rows.tolist(), spans.masks.tolist(), spans.lowest.tolist()
    highest = (spans.lowest + spans.masks).tolist()
    middle = len(rows) // 2
    findings = []
    if (lowest[middle], masks[middle], rows[middle]) != (0, 0, 0):
        findings.append("block 0 is not {0}")
    if [*zip(lowest, masks, rows, strict=True)][middle + 1 :] != [*_expected(tables)]:
        findings.append("the spans are not those of the blocks")
    if (
        rows != rows[::-1]
        or masks != masks[::-1]
        or any(a + b for a, b in zip(lowest, highest[::-1], strict=True))
    ):
        findings.append("the spans left and right of 0 differ")
    return findings


def _parts(law: Law, tables: Sampler) -> Iterator[Any]:
    """Give 2^64 times the tails between spans, outwards from 0, as balls of higher precision."""
    here = law.tail_ball(tables.blocks.begin(1), _BITS) * _SCALE
    for block in range(1, tables.depth):
        after = law.tail_ball(tables.blocks.begin(block + 1), _BITS) * _SCALE
        yield here
        segment = tables.blocks.segment(block)
        if segment.bits:
            share = ball(Fraction(tables.checks.shares.item(tables.row_of_run[segment.run]), _SHARES))
            yield after + share * (here - after)
        here = after
    yield here


def _wrong_thresholds(law: Law, tables: Sampler) -> list[str]:
    """Each pair of floors must enclose 2^64·F where one span ends, from a ball of higher precision."""
    low, high = tables.steps.low.tolist(), tables.steps.high.tolist()
    with precision(_BITS + 64):
        tails = [*_parts(law, tables)]
        wanted = [*reversed(tails), *(_SCALE - tail for tail in tails)]
        if len(wanted) != len(low) or len(low) != len(high):
            return [f"there are {len(low)} thresholds for {len(wanted)} spans"]
        wrong = sum(not _encloses(*pair) for pair in zip(low, high, wanted, strict=True))
    findings = [f"{wrong} thresholds are wrong"] if wrong else []
    if low != sorted(low) or high != sorted(high):
        findings.append("the list of thresholds is not in order")
    if low[0] != 0 or high[-1] != _TOP:
        findings.append("the extreme words do not lead to the exact tails")
    return findings


def _encloses(low: int, high: int, value: Any) -> bool:
    """Prove low <= value < high + 1; the word 2^64 - 1 may stand for anything above."""
    return bool(value >= low) and (bool(value < high + 1) or high == _TOP)


def _wrong_cells(tables: Sampler) -> list[str]:
    """A cell that answers must answer for all its words, with the block and the mask of an unchecked span."""
    steps, spans = tables.steps, tables.spans
    first = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    last = first | np.uint64((1 << 48) - 1)
    lowest = steps.high.searchsorted(first, side="left")
    highest = steps.low.searchsorted(last, side="right")
    answers = tables.cells != tables.unset
    masks = tables.mask if tables.cell_masks is None else tables.cell_masks
    step = lowest.clip(0, spans.rows.size - 1)
    cut = int((answers & (lowest != highest)).sum())
    other = int((answers & ((tables.cells != spans.lowest[step]) | (masks != spans.masks[step]))).sum())
    due = int((answers & (spans.rows[step] != 0)).sum())
    findings = [f"{cut} cells answer though a threshold cuts them"] if cut else []
    findings += [f"{other} cells lead elsewhere"] if other else []
    findings += [f"{due} cells answer though a check is due"] if due else []
    # A search that begins behind the right step would never find it.
    return findings + ["the search of thresholds begins too late"] * bool((steps.first > lowest).any())


def _wrong_checks(tables: Sampler, row: int) -> list[str]:
    """A check must happen often enough, and be decided by whole numbers only where these are bounds."""
    checks = tables.checks
    rate, bits = checks.rows[row]
    share, unit, over = (int(column[row]) for column in (checks.shares, checks.units, checks.over))
    if unit != _SCALE >> bits:
        return ["the places of a check have another unit"]
    segments = (segment for segment in tables.blocks.segments if tables.row_of_run[segment.run] == row)
    last = max(((1 << segment.bits) - 1 for segment in segments), default=0)
    with precision(_BITS):
        if not 1 - (-ball(rate * last)).exp() <= ball(Fraction(share, _SHARES)):
            return ["places are checked too rarely"]
        for place in {last * number // _PLACES for number in range(_PLACES + 1)}:
            fall = place * unit
            fall -= ((fall >> 32) ** 2 >> 32) * (share >> 1)
            chance = (1 - (-ball(rate * place)).exp()) * _SCALE * _SHARES / share
            if not fall - _LOST <= chance <= fall + over:
                return ["a check is decided too early"]
    return []
