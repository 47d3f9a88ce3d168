"""Check tables threshold by threshold and cell by cell, by formulas written again for this purpose."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.balls import ball, precision
from dovetail.sampling.law import Law, Run
from dovetail.sampling.sampler import Sampler
from dovetail.sampling.steps import UNSETTLED, Steps

_BITS = 384
_SCALE = 1 << 64
_TOP = _SCALE - 1


@dataclass(frozen=True, slots=True)
class Count:
    """How much was checked."""

    thresholds: int
    cells: int
    blocks: int


def check_tables(law: Law, tables: Sampler, findings: list[str]) -> Count:
    """Check every table of a sampler against the law; add to `findings` what is wrong."""
    thresholds = tables.steps.high.size
    cells = tables.cells.size
    if tables.blocks.law != law:
        findings.append("draws beyond the tables ask another law")
    findings += _wrong_blocks(law, tables)
    findings += _wrong_thresholds(law, tables)
    findings += _wrong_cells(tables)
    if tables.offsets is not None:
        findings += _wrong_digits(law, tables)
        findings += _wrong_ground(tables)
        thresholds += sum(steps.high.size for steps in tables.offsets.digits.steps)
        cells += tables.offsets.digits.table.size
    return Count(thresholds, cells, tables.begins.size)


def _wrong_blocks(law: Law, tables: Sampler) -> list[str]:
    """Blocks must cover the integers without gap, mirror each other and lie within one run each."""
    findings = []
    begins, masks = tables.begins.tolist(), tables.masks.tolist()
    right = range(tables.depth, 2 * tables.depth)
    if begins[tables.depth] != 0 or masks[tables.depth] != 0:
        findings.append("block 0 is not {0}")
    if any(begins[s] + masks[s] + 1 != begins[s + 1] for s in right):
        findings.append("blocks leave a gap or overlap")
    if any(begins[s] + begins[-1 - s] or masks[s] != masks[-1 - s] for s in right):
        findings.append("the blocks left and right of 0 differ")
    if any(mask & (mask + 1) for mask in masks):
        findings.append("the size of a block is no power of two")
    for segment, after in pairwise(tables.blocks.segments):
        if segment.begin(after.first) != after.start:
            findings.append(f"the blocks from {segment.start} on do not meet those from {after.start} on")
    if law.runs is not None:
        for s in right:
            findings += _outside(law.runs, tables, s + 1)
    elif any(masks):
        findings.append("a law without runs has blocks of more than one value")
    return findings


def _outside(runs: tuple[Run, ...], tables: Sampler, step: int) -> list[str]:
    """Say if the block of a step does not lie within one run, or has another row than this run."""
    first, last = int(tables.begins[step]), int(tables.begins[step] + tables.masks[step])
    for number, run in enumerate(runs):
        if run.start <= first and (run.count is None or first < run.start + run.count):
            fits = run.count is None or last < run.start + run.count
            row = tables.row_of_run[number] == tables.rows[step] if first != last else True
            return [] if fits and row else [f"the block of {first} is not a part of one run"]
    # Beyond a finite support nothing is ever drawn.
    return []


def _wrong_thresholds(law: Law, tables: Sampler) -> list[str]:
    """Each pair of floors must enclose 2^64·F at the end of its block, from a ball of higher precision."""
    wrong = 0
    low, high = tables.steps.low.tolist(), tables.steps.high.tolist()
    with precision(_BITS + 64):
        for block in range(1, tables.depth + 1):
            begin = int(tables.begins[tables.depth + block])
            tail = law.tail_ball(begin, _BITS) * _SCALE
            left, right = tables.depth - block, tables.depth + block - 1
            wrong += not _encloses(low[left], high[left], tail)
            wrong += not _encloses(low[right], high[right], _SCALE - tail)
    findings = [f"{wrong} thresholds are wrong"] if wrong else []
    if len(high) != 2 * tables.depth or low[-1] != _TOP or not _ascends(tables.steps):
        findings.append("the list of thresholds is not in order")
    if high and (high[0] != 0 or low[-2] != _TOP):
        findings.append("the extreme words do not lead to the exact tails")
    return findings


def _encloses(low: int, high: int, value: Any) -> bool:
    """Prove low <= value < high + 1; the word 2^64 - 1 may stand for anything above."""
    return bool(value >= low) and (bool(value < high + 1) or high == _TOP)


def _ascends(steps: Steps) -> bool:
    return bool((steps.low[:-2] <= steps.low[1:-1]).all() and (steps.high[:-1] <= steps.high[1:]).all())


def _step_range(steps: Steps, bits: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the lowest and the highest step that any word of each cell can have."""
    size = np.uint64(64 - bits)
    first = np.arange(1 << bits, dtype=np.uint64) << size
    last = first | np.uint64((1 << (64 - bits)) - 1)
    return steps.high.searchsorted(first, side="left"), steps.low[:-1].searchsorted(last, side="right")


def _wrong_cells(tables: Sampler) -> list[str]:
    """A cell that answers must answer for all its words, with a whole block and the row of that block."""
    lowest, highest = _step_range(tables.steps, 16)
    answers = tables.cells != tables.unset
    cut = answers & (lowest != highest)
    step = lowest.clip(0, 2 * tables.depth)
    edges, rows = tables.begins, tables.rows
    whole = np.ones(step.size, np.bool_)
    if tables.offsets is not None:
        top = tables.offsets.top(rows)
        edges = np.where(edges < 0, edges - top, edges)
        bits = np.array([group.width for group in tables.offsets.digits.groups])
        size = tables.offsets.units.astype(np.int64) << bits
        whole = tables.masks[step] == (size - 1)[rows[step]]
    other = answers & ((tables.cells != edges[step]) | ~whole)
    if tables.offsets is not None:
        used = tables.row if tables.row_cells is None else tables.row_cells
        other |= answers & (rows[step] != used)
    findings = [f"{int(cut.sum())} cells answer though a threshold cuts them"] if cut.any() else []
    return findings + ([f"{int(other.sum())} cells lead elsewhere"] if other.any() else [])


def _wrong_digits(law: Law, tables: Sampler) -> list[str]:
    """Each row must have the rate of its runs and the thresholds of that truncated geometric."""
    assert tables.offsets is not None
    assert law.runs is not None
    findings = []
    digits, units = tables.offsets.digits, tables.offsets.units.tolist()
    for number, run in enumerate(law.runs):
        row = tables.row_of_run[number]
        group = digits.groups[row]
        several = any(s.run == number and s.bits for s in tables.blocks.segments)
        if several and group.rate != run.rate * units[row]:
            findings.append(f"the digits of the run from {run.start} on have another rate")
    for group, steps, cells in zip(digits.groups, digits.steps, digits.table, strict=True):
        wrong = 0
        with precision(_BITS):
            below = [1 - _power(group.rate, j + 1) for j in range(1 << group.width)]
            for j, (low, high) in enumerate(zip(steps.low.tolist()[:-1], steps.high.tolist(), strict=True)):
                wrong += not _encloses(low, high, below[j] / below[-1] * _SCALE)
        if wrong or steps.high.size != (1 << group.width) - 1 or not _ascends(steps):
            findings.append(f"{wrong} thresholds of digits are wrong")
        lowest, highest = _step_range(steps, cells.size.bit_length() - 1)
        answers = cells != UNSETTLED
        if (answers & ((lowest != highest) | (cells != lowest))).any():
            findings.append("cells of digits lead elsewhere")
    return findings


def _power(rate: Fraction, count: int) -> Any:
    return (-ball(rate * count)).exp()


def _wrong_ground(tables: Sampler) -> list[str]:
    """Check the bounds of the rejections: 1 - exp(-rate·j) is concave in j, so its ends decide."""
    assert tables.offsets is not None
    ground = tables.offsets.ground
    if ground is None:
        return []
    findings = []
    for row, (rate, bits) in enumerate(zip(ground.rates, ground.bits, strict=True)):
        group, unit = tables.offsets.digits.groups[row], int(tables.offsets.units[row])
        if unit != 1 << bits or int(ground.masks[row]) != unit - 1 or (bits and group.rate != rate * unit):
            findings.append("the uniform digits do not continue those of the table")
        last = (1 << bits) - 1
        with precision(_BITS):
            fall = 1 - _power(rate, last)
            sure = ground.sure <= (1 - fall) * (1 << 16)
            bounded = (
                int(ground.least[row]) * last <= fall * _SCALE and int(ground.most[row]) >= rate * _SCALE
            )
        if not (sure and bounded):
            findings.append("a rejection is decided too early")
    return findings
