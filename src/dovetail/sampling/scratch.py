"""The arrays that a call works in: made for the call, used for each of its chunks, never shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Scratch:
    """Room for the words of a chunk and for what becomes of them; new memory costs more than the draws.

    Where offsets fit into 16 bits, `offsets` is `digits` itself.
    """

    heads: NDArray[np.uint16]
    index: NDArray[np.intp]
    values: NDArray[Any]
    part: NDArray[Any]
    flags: NDArray[np.bool_]
    more_flags: NDArray[np.bool_]
    rows: NDArray[np.intp]
    digits: NDArray[np.uint16]
    short: NDArray[np.uint16]
    offsets: NDArray[Any]
    ground: NDArray[Any]

    @classmethod
    def of(cls, planes: int, size: int, kind: np.dtype[Any], offset_kind: np.dtype[Any]) -> Scratch:
        """Return room for `size` draws of `planes` words each, by the types of values and offsets."""
        digits = np.empty(size, np.uint16)
        return cls(
            heads=np.empty((planes, size), np.uint16),
            index=np.empty(size, np.intp),
            values=np.empty(size, kind),
            part=np.empty(size, kind),
            flags=np.empty(size, np.bool_),
            more_flags=np.empty(size, np.bool_),
            rows=np.empty(size, np.intp),
            digits=digits,
            short=np.empty(size, np.uint16),
            offsets=digits if offset_kind == digits.dtype else np.empty(size, offset_kind),
            ground=np.empty(size, offset_kind),
        )
