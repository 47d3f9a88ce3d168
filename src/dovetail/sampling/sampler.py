"""How a draw goes through the tables of a law.

A draw reads 16 bits for its block and, if the noise is wide, a word for its place there. A table answers most
of them; where it does not, 48 bits more are compared with the thresholds; what is then still undecided is
decided by rigorous arithmetic. No floating-point number is involved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

from .bits import BitSource
from .buffers import Scratch
from .tables import Tables
from .undecided_draws import ONE_BY_ONE, decide, decide_one

CHUNK = 1 << 17
# Up to here the fixed cost of the chunks' buffers is more than the draws cost.
FEW = 1 << 14
_HEAD = np.dtype("<u2")
_CHUNKS_AT_ONCE = 32
_INT64_END = 1 << 63


class Sampler(Tables):
    """Draw from the tables of a law."""

    __slots__ = ()

    def fill(self, out: NDArray[np.int64], source: BitSource) -> None:
        """Fill a flat array with independent draws."""
        if out.size <= FEW:
            out[:] = self.few(out.size, source)
            return
        # Chunks of one size: a short last one would cost almost as much as a whole one.
        chunk = -(-out.size // -(-out.size // CHUNK))
        scratch = Scratch.of(chunk, self.cells.dtype, self.place_kind)
        waiting: list[tuple[NDArray[Any], ...]] = []
        for begin in range(0, out.size, chunk):
            part = out[begin : begin + chunk]
            if part.size < chunk:
                scratch = scratch.first(part.size)
            self._look(part, scratch, source)
            where = scratch.flags.nonzero()[0]
            heads = scratch.heads.take(where)
            tails = heads if self.place_kind is None else scratch.tails.take(where)
            waiting.append((where + begin, heads, tails))
            # Many are decided at once, because a few take almost as long.
            if begin + part.size == out.size or len(waiting) == _CHUNKS_AT_ONCE:
                self._decide(out, waiting, source)
                waiting.clear()

    def few(self, count: int, source: BitSource) -> NDArray[np.int64]:
        """Return a short array of draws: the same words through the same tables, in few steps."""
        if self.place_kind is None:
            heads = tails = np.frombuffer(source.read(2 * count), _HEAD)
            values = self.cells.take(heads)
            drawn = values.astype(np.int64)
        else:
            raw = source.read(self.draw_bytes * count)
            heads = np.frombuffer(raw, _HEAD, count)
            tails = np.frombuffer(raw, self.place_kind.newbyteorder("<"), count, 2 * count)
            values = self.cells.take(heads)
            mask = self.mask if self.cell_masks is None else self.cell_masks.take(heads)
            drawn = values.astype(np.int64)
            drawn += tails & mask
        # The mark is the least value of its type.
        if count and values.item(values.argmin()) == self.unset:
            self._decide_few(
                drawn, (values == self.cells.dtype.type(self.unset)).nonzero()[0], heads, tails, source
            )
        return drawn

    def _decide_few(
        self,
        drawn: NDArray[np.int64],
        where: NDArray[np.intp],
        heads: NDArray[np.uint16],
        tails: NDArray[Any],
        source: BitSource,
    ) -> None:
        if where.size > ONE_BY_ONE:
            self._decide(drawn, [(where, heads.take(where), tails.take(where))], source)
            return
        for position in where.tolist():
            drawn[position] = _within_int64(
                decide_one(self, heads.item(position), tails.item(position), source)
            )

    def one(self, source: BitSource) -> int:
        """Return one draw: the same words through the same tables, without the cost of arrays."""
        raw = source.read(self.draw_bytes)
        head = raw[0] | raw[1] << 8
        value: int = self.cells.item(head)
        if value == self.unset:
            return decide_one(self, head, int.from_bytes(raw[2:], "little"), source)
        if self.place_kind is None:
            return value
        mask: int = self.mask if self.cell_masks is None else self.cell_masks.item(head)
        return value + (int.from_bytes(raw[2:], "little") & mask)

    def _look(self, part: NDArray[np.int64], scratch: Scratch, source: BitSource) -> None:
        """Read values from the tables; raise flags where they do not decide."""
        places = scratch.places
        index, values = (scratch.room, part) if scratch.room.dtype == part.dtype else (part, scratch.room)
        source.fill(scratch.heads)
        np.copyto(index, scratch.heads)
        np.take(self.cells, index, out=values, mode="wrap")
        np.equal(values, self.unset, out=scratch.flags)
        if self.place_kind is not None:
            source.fill(scratch.tails)
            mask: int | NDArray[Any] = self.mask
            if self.cell_masks is not None:
                mask = np.take(self.cell_masks, index, out=places, mode="wrap")
            np.bitwise_and(scratch.tails, mask, out=places)
            values += places
        if values is not part:
            part[:] = values

    def _decide(
        self, out: NDArray[np.int64], waiting: list[tuple[NDArray[Any], ...]], source: BitSource
    ) -> None:
        """Put in what the tables left open, given as places in `out`, words of blocks and words of places."""
        where, heads, tails = (np.concatenate(columns) for columns in zip(*waiting, strict=True))
        out[where], apart = decide(self, heads, tails, source)
        for position, value in apart.items():
            out[where[position]] = _within_int64(value)


def _within_int64(value: int) -> int:
    if not -_INT64_END <= value < _INT64_END:
        fix = "Draw again; this happens less than once in 2^63 draws."
        raise InvalidParameter("out", "an int64 array", "wide enough for every draw", fix)
    return value
