"""Draws made in blocks and handed out in slices: many small calls cost no more a draw than a large one.

A call with fresh bits takes some microseconds before its first draw. Here a call takes a slice of a block
that `sample` drew, with a key of its own. Each draw is handed out once and erased where it lay. A block
belongs to one call at a time, and a forked child draws its own.

What is kept is noise of the future. No release uses it: releases draw with fresh bits in every call.
"""

from __future__ import annotations

import os
from typing import overload

import numpy as np
from numpy.typing import NDArray

from .draws import Size, sample
from .law import Law

BLOCK = 1 << 16
"""At most so many draws are kept of a law."""

MOST_AT_ONCE = BLOCK // 4
"""A call for more draws than this makes its own."""

_GROWTH = 4
_MOST_LAWS = 32
# An erased draw is no noise at all: the least integer would be seen in any answer, where 0 would not.
_ERASED = np.int64(np.iinfo(np.int64).min)


class ReadyDraws:
    """What is left of a block of draws of one law; holding the law keeps its identity from another object."""

    __slots__ = ("end", "law", "process", "used", "values")

    def __init__(self, law: Law, values: NDArray[np.int64], process: object) -> None:
        self.law, self.values, self.process = law, values, process
        self.used, self.end = 0, values.size

    def take(self, size: int) -> NDArray[np.int64]:
        """Hand out the next draws, of which there must be enough."""
        end = self.used + size
        part = self.values[self.used : end]
        drawn = part.copy()
        part.fill(_ERASED)
        self.used = end
        return drawn


# By the identity of their law, as to hash a law takes longer than to hand out its draws.
_ready: dict[int, ReadyDraws] = {}
# Another object in every process.
_process = object()


def _forget() -> None:
    """Erase what a forked child inherited."""
    global _process
    _process = object()
    for ready in _ready.values():
        ready.values.fill(_ERASED)
    _ready.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@overload
def sample_ready(law: Law, size: None = None, *, out: None = None) -> int: ...
@overload
def sample_ready(law: Law, size: Size | None = None, *, out: NDArray[np.int64]) -> NDArray[np.int64]: ...
@overload
def sample_ready(law: Law, size: Size, *, out: None = None) -> NDArray[np.int64]: ...
def sample_ready(
    law: Law, size: Size | None = None, *, out: NDArray[np.int64] | None = None
) -> int | NDArray[np.int64]:
    """Draw as `sample` does; small arrays come from a block of draws that is kept ready.

    >>> from dovetail.noise import Geometric
    >>> sample_ready(Geometric(1), 5).size
    5
    """
    if type(size) is not int or out is not None or not 0 < size <= MOST_AT_ONCE:
        return sample(law, size, out=out)
    # Taken out in one step: no other thread finds it, nor a signal handler in the middle of this call.
    ready = _ready.pop(id(law), None)
    if ready is None or ready.end - ready.used < size:
        return _with_a_new_block(law, size, 0 if ready is None else ready.end)
    return _handed_out(ready, size)


def _with_a_new_block(law: Law, size: int, last: int) -> NDArray[np.int64]:
    """Draw a block four times as large as the last and hand out its first draws; what was left is dropped.

    The first block holds one call's draws, so that a program that draws once neither waits for draws that it
    does not need nor keeps any. Whether draws are dropped depends on sizes alone, so the law stays exact.
    """
    process, count = _process, min(max(_GROWTH * last, size), BLOCK)
    ready = ReadyDraws(law, sample(law, count - count % size), process)
    if len(_ready) >= _MOST_LAWS:
        _ready.clear()
    return _handed_out(ready, size)


def _handed_out(ready: ReadyDraws, size: int) -> NDArray[np.int64]:
    """Hand out draws of a block that no other call holds, and keep the rest."""
    drawn = ready.take(size)
    if ready.process is not _process:  # a signal handler forked, and this is the child
        return sample(ready.law, size)
    _ready[id(ready.law)] = ready
    return drawn
