"""The tables of one law, and how a draw goes through them.

A draw reads 16 bits for its block and, if the noise is wide, more for its offset there. A table answers most
of them; a word whose cell is cut gets 48 bits more and is compared with the thresholds; what is then still
undecided, about one in 2^53, is settled by rigorous arithmetic. No floating-point number is involved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .bits import Source, extended
from .blocks import Blocks
from .offsets import RIGHT, Offsets
from .scratch import Scratch
from .steps import Steps
from .uniform import Uniform, last_above

CHUNK = 1 << 18
_MIDDLE = 1 << 63
_INT64_END = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Everything that is worth keeping of a law between draws; it holds no random bit.

    Step s stands for block s - depth. `begins`, `masks` and `rows` say for each step which value of its block
    is nearest to 0, which digits of the offset count, and by which row of tables they are drawn. `cells`
    leads from a 16-bit word to the edge of its block, from which offsets are counted, or to the least integer
    of its type, `unset`, where the thresholds must be asked; `row_cells` leads to the row, where several are
    frequent. `words` unpacks the 16-bit words that one draw begins with.
    """

    blocks: Blocks
    depth: int
    steps: Steps
    begins: NDArray[np.int64]
    masks: NDArray[np.int64]
    rows: NDArray[np.intp]
    cells: NDArray[Any]
    row_cells: NDArray[np.intp] | None
    row: int
    row_of_run: tuple[int, ...]
    offsets: Offsets | None
    words: Struct
    unset: int

    @property
    def planes(self) -> int:
        """How many 16-bit words a draw begins with."""
        return self.words.size // 2

    @property
    def nbytes(self) -> int:
        """The size of the tables."""
        arrays = [self.begins, self.masks, self.rows, self.cells, self.steps.low, self.steps.high]
        if self.row_cells is not None:
            arrays.append(self.row_cells)
        if self.offsets is not None:
            arrays += [self.offsets.digits.table]
            arrays += [array for steps in self.offsets.digits.steps for array in (steps.low, steps.high)]
        return sum(array.nbytes for array in arrays)

    def fill(self, out: NDArray[np.int64], source: Source) -> None:
        """Fill a flat array with independent draws."""
        scratch = self._scratch(min(CHUNK, out.size))
        for begin in range(0, out.size, CHUNK):
            part = out[begin : begin + CHUNK]
            if part.size != scratch.values.size:
                scratch = self._scratch(part.size)
            source.fill(scratch.heads)
            beyond = self._draw(scratch, source)
            part[:] = scratch.values
            for position, value in beyond.items():
                if not -_INT64_END <= value < _INT64_END:
                    fix = "Draw again; this happens less than once in 2^63 draws."
                    raise InvalidParameter("out", "an int64 array", "wide enough for every draw", fix)
                part[position] = value

    def one(self, source: Source) -> int:
        """Return one draw: the same words through the same tables, without the cost of arrays."""
        words = self.words.unpack(source.read(self.words.size))
        value: int = self.cells.item(words[0])
        if value != self.unset:
            if self.offsets is None:
                return value
            row = self.row if self.row_cells is None else self.row_cells.item(words[0])
            offset = self.offsets.one(words, row)
            if offset is not None:
                return value + offset
        scratch = self._scratch(1)
        scratch.heads[:, 0] = words
        beyond = self._draw(scratch, source)
        return beyond.get(0, int(scratch.values[0]))

    def _scratch(self, size: int) -> Scratch:
        kind = self.cells.dtype
        return Scratch.of(self.planes, size, kind, kind if self.offsets is None else self.offsets.kind)

    def _draw(self, scratch: Scratch, source: Source) -> dict[int, int]:
        """Draw by the words in `scratch`; return apart, by position, what lies beyond the tables."""
        values, first = scratch.values, scratch.heads[0]
        np.copyto(scratch.index, first)
        np.take(self.cells, scratch.index, out=values, mode="clip")
        cut = np.flatnonzero(np.equal(values, self.unset, out=scratch.flags))
        steps = self.steps.settle(
            extended(first[cut], source), lambda word, _: self._resolve(word, source) + self.depth
        )
        inside = steps.clip(0, 2 * self.depth)
        if self.offsets is None:
            values[cut] = self.begins[inside]
        else:
            self._place(scratch, cut, inside, source)
        return {
            int(cut[place]): self._beyond(int(steps[place]) - self.depth, scratch, cut[[place]], source)
            for place in np.flatnonzero(steps != inside).tolist()
        }

    def _place(
        self, scratch: Scratch, cut: NDArray[np.intp], steps: NDArray[np.intp], source: Source
    ) -> None:
        """Add the offsets: `cut` are the draws that the cells left open, `steps` what the thresholds said."""
        assert self.offsets is not None
        rows, masks, begins = self.rows[steps], self.masks[steps], self.begins[steps]
        if self.row_cells is None:
            self.offsets.draw(scratch, self.row, source)
            wrong = (rows != self.row) & (masks != 0)
            if wrong.any():
                some = scratch.selected(cut[wrong])
                self.offsets.draw(some, rows[wrong], source)
                scratch.offsets[cut[wrong]] = some.offsets
        else:
            np.take(self.row_cells, scratch.index, out=scratch.rows, mode="clip")
            scratch.rows[cut] = rows
            self.offsets.draw(scratch, scratch.rows, source)
        distances = self._distances(scratch, cut, rows, masks)
        values, part = scratch.values, scratch.part
        # Offsets are below 2^15 wherever the values have 16 bits.
        np.copyto(part, scratch.offsets, casting="unsafe")
        values += part
        values[cut] = np.where(begins < 0, begins - distances, begins + distances)

    def _distances(
        self, scratch: Scratch, positions: NDArray[np.intp], rows: NDArray[np.intp], masks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how far some draws lie from the begins of their blocks, whatever size these have."""
        assert self.offsets is not None
        left = scratch.heads[0, positions] < RIGHT
        upwards = scratch.offsets[positions].astype(np.int64)
        return (upwards ^ np.where(left, self.offsets.top(rows), 0)) & masks

    def _resolve(self, word: int, source: Source) -> int:
        """Return the block of a uniform number that begins with `word`: outwards from the nearer end."""
        right = word >= _MIDDLE
        number = Uniform(word, source, mirrored=right)
        block = last_above(number, lambda i: partial(self.blocks.tail_ball, i), 0)
        return block if right else -block

    def _beyond(self, block: int, scratch: Scratch, position: NDArray[np.intp], source: Source) -> int:
        """Return a value of a block that lies beyond the tables, which may be too far out for 64 bits."""
        segment = self.blocks.segment(abs(block))
        value = segment.begin(abs(block))
        if self.offsets is not None:
            some = scratch.selected(position)
            row = np.array([self.row_of_run[segment.run]])
            self.offsets.draw(some, row, source)
            mask = np.array([(1 << segment.bits) - 1], np.int64)
            value += int(self._distances(some, np.array([0]), row, mask)[0])
        return value if block > 0 else -value
