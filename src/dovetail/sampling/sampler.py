"""The tables of one law, and how a draw goes through them.

A draw reads 16 bits for its block and, if the noise is wide, more for its offset there. A table answers most
of them; a word whose cell is cut gets 48 bits more and is compared with the thresholds; what is then still
undecided, about one in 2^53, is settled by rigorous arithmetic. No floating-point number is involved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .bits import Source
from .blocks import Blocks
from .offsets import Offsets
from .scratch import Scratch
from .settle import settled
from .steps import Steps

CHUNK = 1 << 17
_CHUNKS_AT_ONCE = 32
_INT64_END = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Everything that is worth keeping of a law between draws; it holds no random bit.

    Step s stands for block s - depth. `begins`, `masks` and `rows` say for each step which value of its block
    is nearest to 0, which digits of the offset count, and by which row of tables they are drawn. `cells`
    leads from a 16-bit word to the edge of its block, from which offsets are counted, or to the least integer
    of its type, `unset`, where the thresholds must be asked; `row_cells` leads to the row, where several are
    frequent. A draw begins with `planes` 16-bit words.
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
    planes: int
    unset: int

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
        open_places: list[NDArray[np.intp]] = []
        open_heads: list[NDArray[np.uint16]] = []
        for begin in range(0, out.size, CHUNK):
            part = out[begin : begin + CHUNK]
            if part.size != scratch.values.size:
                scratch = self._scratch(part.size)
            source.fill(scratch.heads)
            self._look(scratch)
            part[:] = scratch.values
            places = np.flatnonzero(scratch.flags)
            open_places.append(places + begin)
            open_heads.append(scratch.heads[:, places])
            # Many are settled at once, because a few take almost as long.
            if begin + part.size == out.size or len(open_places) == _CHUNKS_AT_ONCE:
                self._settle(out, np.concatenate(open_places), np.hstack(open_heads), source)
                open_places.clear()
                open_heads.clear()

    def one(self, source: Source) -> int:
        """Return one draw: the same words through the same tables, without the cost of arrays."""
        raw = source.read(2 * self.planes)
        first = raw[0] | raw[1] << 8
        value: int = self.cells.item(first)
        if value != self.unset:
            if self.offsets is None:
                return value
            row = self.row if self.row_cells is None else self.row_cells.item(first)
            offset = self.offsets.one(raw, row)
            if offset is not None:
                return value + offset
        values, beyond = settled(self, np.frombuffer(raw, dtype="<u2").reshape(-1, 1), source)
        return beyond.get(0, int(values[0]))

    def _scratch(self, size: int) -> Scratch:
        kind = self.cells.dtype
        return Scratch.of(self.planes, size, kind, kind if self.offsets is None else self.offsets.kind)

    def _look(self, scratch: Scratch) -> None:
        """Read values from the tables for the words in `scratch`; raise flags where they do not decide."""
        values, part, index = scratch.values, scratch.part, scratch.index
        np.copyto(index, scratch.heads[0])
        np.take(self.cells, index, out=values, mode="clip")
        np.equal(values, self.unset, out=scratch.flags)
        if self.offsets is None:
            return
        row: int | NDArray[np.intp] = self.row
        if self.row_cells is not None:
            row = np.take(self.row_cells, index, out=scratch.rows, mode="clip")
        self.offsets.look(scratch, row)
        # Offsets are below 2^15 wherever the values have 16 bits.
        np.copyto(part, scratch.offsets, casting="unsafe")
        values += part

    def _settle(
        self, out: NDArray[np.int64], places: NDArray[np.intp], heads: NDArray[np.uint16], source: Source
    ) -> None:
        """Put in what the tables left open."""
        out[places], beyond = settled(self, heads, source)
        for place, value in beyond.items():
            if not -_INT64_END <= value < _INT64_END:
                fix = "Draw again; this happens less than once in 2^63 draws."
                raise InvalidParameter("out", "an int64 array", "wide enough for every draw", fix)
            out[places[place]] = value
