"""The tables of one law, and how a draw goes through them.

A draw reads 16 bits for its block and 16 for each group of digits of its offset. A table answers most of
them; a word whose cell is cut gets 48 bits more and is compared with the thresholds; what is then still
undecided, about one in 2^53, is settled by rigorous arithmetic. No floating-point number is involved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .bits import Source, extended, words
from .blocks import Blocks
from .digits import Digits
from .steps import UNSETTLED, Steps
from .uniform import Uniform, last_above

CHUNK = 1 << 16
_MIDDLE = 1 << 63
_INT64_END = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Everything that is worth keeping of a law between draws; it holds no random bit.

    Step s stands for block s - depth. `begins`, `masks` and `rows` say for each step where its block begins
    (with its sign), which digits of the offset count, and which row of the digit tables draws them. `cells`
    gives the begin for a 16-bit word, or the smallest integer of its type where the thresholds must be asked;
    `row_cells` gives the row, where more than one is frequent.
    """

    blocks: Blocks
    depth: int
    steps: Steps
    begins: NDArray[Any]
    masks: NDArray[np.int64]
    rows: NDArray[np.intp]
    cells: NDArray[Any]
    row_cells: NDArray[np.uint8] | None
    row: int
    row_of_run: tuple[int, ...]
    digits: tuple[Digits, ...]

    @property
    def planes(self) -> int:
        """How many 16-bit words a draw begins with."""
        return 1 + len(self.digits)

    @property
    def nbytes(self) -> int:
        """The size of all tables in bytes."""
        arrays = [self.steps.low, self.steps.high, self.begins, self.masks, self.rows, self.cells]
        arrays += [] if self.row_cells is None else [self.row_cells]
        for digits in self.digits:
            arrays += [digits.table, *(a for steps in digits.steps for a in (steps.low, steps.high))]
        return sum(array.nbytes for array in arrays)

    def fill(self, out: NDArray[np.int64], source: Source) -> None:
        """Fill a flat array with independent draws."""
        for begin in range(0, out.size, CHUNK):
            part = out[begin : begin + CHUNK]
            heads = words(source, self.planes * part.size).reshape(self.planes, -1)
            values, beyond = self._draw(heads, source)
            part[:] = values
            for position, value in beyond.items():
                if not -_INT64_END <= value < _INT64_END:
                    fix = "Draw again; this happens less than once in 2^63 draws."
                    raise InvalidParameter("out", "an int64 array", "wide enough for every draw", fix)
                part[position] = value

    def one(self, source: Source) -> int:
        """Return one draw: the same words through the same tables, without the cost of arrays."""
        raw = source.read(2 * self.planes)
        word = raw[0] | raw[1] << 8
        value = int(self.cells.item(word))
        if value != _unset(self.cells):
            row = self.row if self.row_cells is None else self.row_cells.item(word)
            offset = 0
            for number, digits in enumerate(self.digits, start=1):
                word = raw[2 * number] | raw[2 * number + 1] << 8
                digit = digits.table.item(row, word >> digits.drop)
                if digit == UNSETTLED:
                    break
                offset |= digit << digits.shift
            else:
                return value - offset if value < 0 else value + offset
        values, beyond = self._draw(np.frombuffer(raw, dtype="<u2").reshape(-1, 1), source)
        return beyond.get(0, int(values[0]))

    def _draw(
        self, heads: NDArray[np.uint16], source: Source
    ) -> tuple[NDArray[np.signedinteger[Any]], dict[int, int]]:
        """Return the draws that begin with the given words, and apart those beyond the tables by position."""
        values = np.empty(heads.shape[1], self.cells.dtype)
        np.take(self.cells, heads[0], out=values, mode="clip")
        cut = np.flatnonzero(values == _unset(self.cells))
        steps = self.steps.settle(
            extended(heads[0, cut], source), lambda word, _: self._resolve(word, source) + self.depth
        )
        inside = steps.clip(0, 2 * self.depth)
        values[cut] = self.begins[inside]
        if self.digits:
            row = self.row if self.row_cells is None else self.row_cells.take(heads[0]).astype(np.intp)
            offsets = self._offsets(heads[1:], row, source)
            offsets[cut] = self._offsets(heads[1:, cut], self.rows[inside], source) & self.masks[inside]
            # Away from zero on both sides: ~offset + 1 = -offset.
            sign = values >> (8 * values.itemsize - 1)
            offsets ^= sign
            offsets -= sign
            values += offsets
        beyond = {}
        for place in np.flatnonzero(steps != inside).tolist():
            position = int(cut[place])
            beyond[position] = self._beyond(int(steps[place]) - self.depth, heads[1:, [position]], source)
        return values, beyond

    def _offsets(
        self, heads: NDArray[np.uint16], row: int | NDArray[np.intp], source: Source
    ) -> NDArray[np.signedinteger[Any]]:
        total = np.zeros(heads.shape[1], self.cells.dtype)
        for digits, plane in zip(self.digits, heads, strict=True):
            part = digits.draw(plane, row, source).astype(self.cells.dtype)
            part <<= digits.shift
            total |= part
        return total

    def _resolve(self, word: int, source: Source) -> int:
        """Return the block of a uniform number that begins with `word`: outwards from the nearer end."""
        right = word >= _MIDDLE
        number = Uniform(word, source, mirrored=right)
        block = last_above(number, lambda i: partial(self.blocks.tail_ball, i), 0)
        return block if right else -block

    def _beyond(self, block: int, heads: NDArray[np.uint16], source: Source) -> int:
        """Return a value of a block that lies beyond the tables."""
        segment = self.blocks.segment(abs(block))
        row = np.array([self.row_of_run[segment.run]])
        offset = int(self._offsets(heads, row, source)[0]) & ((1 << segment.bits) - 1)
        value = segment.begin(abs(block)) + offset
        return value if block > 0 else -value


def _unset(cells: NDArray[Any]) -> int:
    return -1 << (8 * cells.itemsize - 1)
