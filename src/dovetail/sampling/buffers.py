"""The arrays that a call works in: made for the call, used for each of its chunks, never shared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Scratch(NamedTuple):
    """Room for the words of a chunk and for what becomes of them; new memory costs more than the draws.

    `room` is for values that are narrower than the output, which holds the indices into the tables meanwhile.
    Values of 64 bits go to the output at once; `room` is for the indices then. Where no places are drawn,
    their words are those of `heads`.
    """

    heads: NDArray[np.uint16]
    room: NDArray[Any]
    flags: NDArray[np.bool_]
    tails: NDArray[Any]
    places: NDArray[Any]

    @classmethod
    def of(cls, size: int, kind: np.dtype[Any], place_kind: np.dtype[Any] | None) -> Scratch:
        """Return room for `size` draws by the types of their values and places."""
        heads = np.empty(size, np.uint16)
        return cls(
            heads=heads,
            room=np.empty(size, kind),
            flags=np.empty(size, np.bool_),
            tails=np.empty(size, place_kind) if place_kind else heads,
            places=np.empty(size, place_kind) if place_kind else heads,
        )

    def first(self, size: int) -> Scratch:
        """Return the room of the first `size` draws."""
        heads, room, flags, tails, places = self
        return Scratch(heads[:size], room[:size], flags[:size], tails[:size], places[:size])
