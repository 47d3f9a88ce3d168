"""Apply functions to many points: block by block, in arrays that are used again, or through a table."""

from __future__ import annotations

# What `threading` calls local; to load the module itself takes a hundredth of a first draw.
from _thread import _local as local
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail.errors import InvalidParameter

Floats: TypeAlias = NDArray[np.float64]

# A block and its few working arrays stay in the processor's cache.
_BLOCK = 1 << 15
# Integers are looked up in a table if there are at least so many.
_MANY = 1 << 16


class Room(local):
    """Working arrays for a block, of each thread its own: new ones would cost more than the arithmetic."""

    def __init__(self) -> None:
        self._number = np.empty(_BLOCK, np.intp)
        self._term = np.empty(_BLOCK)
        self._flag = np.empty(_BLOCK, np.bool_)

    def number(self, x: Floats) -> NDArray[np.intp]:
        """Return room for an index of each x."""
        return self._number[: x.size] if x.size <= _BLOCK else np.empty(x.size, np.intp)

    def term(self, x: Floats) -> Floats:
        """Return room for a number of each x."""
        return self._term[: x.size] if x.size <= _BLOCK else np.empty(x.size)

    def flag(self, x: Floats) -> NDArray[np.bool_]:
        """Return room for a truth of each x."""
        return self._flag[: x.size] if x.size <= _BLOCK else np.empty(x.size, np.bool_)


room = Room()


def blockwise(function: Callable[[Floats], Floats], x: ArrayLike, name: str = "x") -> float | Floats:
    """Apply `function` block by block; a scalar gives a float, an array an array of its shape.

    A block is a copy, and lies where its result will be: the function may work in place, and best returns it.
    """
    values = numbers(name, x)
    flat = values.reshape(-1)
    out = np.empty(flat.shape, np.float64)
    # Far out a log-probability is -inf; a block with infinities of both signs has no sum.
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, flat.size, _BLOCK):
            part = out[start : start + _BLOCK]
            part[:] = flat[start : start + _BLOCK]
            # The sum of a block is NaN if one of its values is; infinities of both signs are looked at too.
            unknown = None
            if values.dtype.kind == "f" and np.isnan(np.add.reduce(part)):
                unknown = np.isnan(part)
                part[unknown] = 0.0
            result = function(part)
            if result is not part:
                part[:] = result
            if unknown is not None:
                part[unknown] = np.nan
    return float(out[0]) if values.ndim == 0 else out.reshape(values.shape)


def numbers(name: str, x: ArrayLike) -> NDArray[Any]:
    """Return x as an array of floats or integers; what no float can hold is infinite."""
    try:
        values = np.asarray(x)
        if values.dtype.kind == "O":
            values = np.array([_as_float(value) for value in values.flat]).reshape(values.shape)
    except (TypeError, ValueError):
        values = np.asarray(None)
    if values.dtype.kind not in "fiu":
        raise InvalidParameter(name, x, "a real number or an array of them")
    return values


def _as_float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        raise TypeError("not a real number")
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def lookup(function: Callable[[Floats], Floats], k: ArrayLike, name: str = "x") -> float | Floats:
    """Apply `function` like `blockwise`; many whole numbers of a small range are looked up in a table."""
    values = numbers(name, k)
    flat = values.reshape(-1)
    if values.dtype.kind == "u" or values.size < _MANY or (flat[:_BLOCK] % 1).any():
        return blockwise(function, values)
    low, high = values.min(), values.max()
    # A NaN is not within the range, whichever of the two it becomes.
    if not max(float(high), -float(low)) <= min(values.size // 8, 1 << 18):
        return blockwise(function, values)
    least = int(low)
    table = np.asarray(blockwise(function, np.arange(least, int(high) + 1)))
    out = np.empty(flat.shape, np.float64)
    for start in range(0, flat.size, _BLOCK):
        part, result = flat[start : start + _BLOCK], out[start : start + _BLOCK]
        index = room.number(result)
        np.copyto(index, part, casting="unsafe")
        between = np.flatnonzero(index != part) if values.dtype.kind == "f" else ()
        index -= least
        np.take(table, index, out=result, mode="clip")
        if len(between):
            result[between] = blockwise(function, part[between])
    return out.reshape(values.shape)


def one_minus(tail: Floats, where: NDArray[np.bool_], out: Floats) -> Floats:
    """Put 1 - tail where told, and the tail itself elsewhere, as |1 - tail| or |0 - tail|: no branch."""
    np.subtract(where, tail, out=out)
    return np.abs(out, out=out)
