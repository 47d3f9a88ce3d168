"""How a draw goes through the tables of a law.

A draw reads 16 bits for its block and, if the noise is wide, a word for its place there. A table answers most
of them; where it does not, 48 bits more are compared with the thresholds; what is then still undecided is
settled by rigorous arithmetic. No floating-point number is involved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .bits import Source
from .buffers import Scratch
from .settle import settled, settled_one
from .tables import Tables

CHUNK = 1 << 17
# Up to here the fixed cost of the chunks' buffers is more than the draws cost.
_FEW = 1 << 12
# So many open draws are settled one by one in the time that arrays take for any number.
_ONE_BY_ONE = 12
_HEAD = np.dtype("<u2")
_CHUNKS_AT_ONCE = 4
_INT64_END = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class Sampler(Tables):
    """Draw from the tables of a law."""

    def fill(self, out: NDArray[np.int64], source: Source) -> None:
        """Fill a flat array with independent draws."""
        if out.size <= _FEW:
            self._fill_few(out, source)
            return
        scratch = Scratch.of(min(CHUNK, out.size), self.cells.dtype, self.place_kind)
        waiting: list[tuple[NDArray[Any], ...]] = []
        for begin in range(0, out.size, CHUNK):
            part = out[begin : begin + CHUNK]
            if part.size != scratch.heads.size:
                scratch = Scratch.of(part.size, self.cells.dtype, self.place_kind)
            self._look(part, scratch, source)
            places = np.flatnonzero(scratch.flags)
            waiting.append((places + begin, scratch.heads.take(places), scratch.tails.take(places)))
            # Many are settled at once, because a few take almost as long.
            if begin + part.size == out.size or len(waiting) == _CHUNKS_AT_ONCE:
                self._settle(out, waiting, source)
                waiting.clear()

    def _fill_few(self, out: NDArray[np.int64], source: Source) -> None:
        """Fill a short array: the same words through the same tables, with as few steps as can be."""
        heads = np.frombuffer(source.read(2 * out.size), _HEAD)
        values = self.cells.take(heads)
        tails = heads
        # The mark is the least value of its type.
        open_ones = (values == self.unset).nonzero()[0] if values.size and values.min() == self.unset else ()
        if self.place_kind is None:
            out[:] = values
        else:
            kind = self.place_kind.newbyteorder("<")
            tails = np.frombuffer(source.read(out.size * kind.itemsize), kind)
            mask = self.mask if self.cell_masks is None else self.cell_masks.take(heads)
            np.add(values, tails & mask, out=out)
        if len(open_ones) <= _ONE_BY_ONE:
            for position in open_ones:
                out[position] = _within_int64(
                    settled_one(self, heads.item(position), tails.item(position), source)
                )
        else:
            where = np.asarray(open_ones)
            self._settle(out, [(where, heads.take(where), tails.take(where))], source)

    def one(self, source: Source) -> int:
        """Return one draw: the same words through the same tables, without the cost of arrays."""
        raw = source.read(self.draw_bytes)
        head = raw[0] | raw[1] << 8
        value: int = self.cells.item(head)
        if value == self.unset:
            return settled_one(self, head, int.from_bytes(raw[2:], "little"), source)
        if self.place_kind is None:
            return value
        mask: int = self.mask if self.cell_masks is None else self.cell_masks.item(head)
        return value + (int.from_bytes(raw[2:], "little") & mask)

    def _look(self, part: NDArray[np.int64], scratch: Scratch, source: Source) -> None:
        """Read values from the tables; raise flags where they do not decide."""
        values, places = part if scratch.values is None else scratch.values, scratch.places
        source.fill(scratch.heads)
        np.copyto(scratch.index, scratch.heads)
        np.take(self.cells, scratch.index, out=values, mode="clip")
        np.equal(values, self.unset, out=scratch.flags)
        if self.place_kind is not None:
            source.fill(scratch.tails)
            mask: int | NDArray[Any] = self.mask
            if self.cell_masks is not None:
                mask = np.take(self.cell_masks, scratch.index, out=places, mode="clip")
            np.bitwise_and(scratch.tails, mask, out=places)
            values += places
        if values is not part:
            part[:] = values

    def _settle(
        self, out: NDArray[np.int64], waiting: list[tuple[NDArray[Any], ...]], source: Source
    ) -> None:
        """Put in what the tables left open, given as places in `out`, words of blocks and words of places."""
        where, heads, tails = (np.concatenate(columns) for columns in zip(*waiting, strict=True))
        out[where], apart = settled(self, heads, tails, source)
        for position, value in apart.items():
            out[where[position]] = _within_int64(value)


def _within_int64(value: int) -> int:
    if not -_INT64_END <= value < _INT64_END:
        fix = "Draw again; this happens less than once in 2^63 draws."
        raise InvalidParameter("out", "an int64 array", "wide enough for every draw", fix)
    return value
