"""Find which public cell a group of rows belongs to: one group at a time, or many, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.query.field import Constant
from dovetail.query.partitions import Discovered, Keys, ListedAxis, Steps

from .engine import Column
from .row_expressions import needs_flag

NOWHERE = -1


class Values:
    """Read the value by which a group was made."""

    def __init__(self, axis: Discovered) -> None:
        self._field = axis.field

    def take(self, items: Iterator[Any]) -> Constant | None:
        """Take the value of one group."""
        value = next(items)
        return None if value is None else self._field.constant(value)


class Places:
    """Find the number of the cell that a group belongs to on one axis."""

    def __init__(self, axis: ListedAxis) -> None:
        self._flagged = needs_flag(axis)
        self.cells = axis.cells
        self._other = None if axis.other is None else axis.cells - 1
        # Groups of steps and bins are made by whole numbers, one after another.
        self._first = axis.lattice.low if isinstance(axis, Steps) else 0
        self._count = axis.cells if axis.other is None else axis.cells - 1
        self._numbers: dict[Any, int] | None = None
        if isinstance(axis, Keys):
            # A number comes back as a double.
            values = (float(value) if isinstance(value, Fraction) else value for value in axis.values)
            self._numbers = {value: number for number, value in enumerate(values)}
        self._missing = self._number(None)

    def take(self, items: Iterator[Any]) -> int | None:
        """Take the cell of one group, None for no cell."""
        value = next(items)
        missing = next(items) if self._flagged else value is None
        if value is None:
            return self._missing if missing else self._other
        return self._number(value)

    def _number(self, value: Any) -> int | None:
        if self._numbers is not None:
            return self._numbers.get(value, self._other)
        if value is None or not 0 <= int(value) - self._first < self._count:
            return self._other
        return int(value) - self._first

    def take_all(self, columns: Iterator[Column]) -> NDArray[np.int64]:
        """Take the cells of many groups, column by column; NOWHERE for no cell."""
        column = next(columns)
        other, missing = (NOWHERE if place is None else place for place in (self._other, self._missing))
        if self._numbers is None:
            return self._counted(column, other)
        places, absent = _looked_up(column, self._numbers, other)
        if self._flagged:
            flags = np.asarray(_listed(next(columns)), np.bool_)
            places[absent] = np.where(flags[absent], missing, other)
        else:
            places[absent] = missing
        return places

    def _counted(self, column: Column, other: int) -> NDArray[np.int64]:
        values, absent = _whole(column)
        places = values - self._first
        places[absent | (places < 0) | (places >= self._count)] = other
        return places


def whole_numbers(column: Column) -> NDArray[np.int64]:
    """Return a column of whole numbers as an array; no number is 0."""
    return _whole(column)[0]


def _whole(column: Column) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a column of whole numbers, and where it has none."""
    if isinstance(column, list):
        absent = np.array([value is None for value in column], np.bool_)
        return np.array([0 if value is None else int(value) for value in column], np.int64), absent
    return _numbers_of(column.fill_null(0) if column.null_count else column), _absent(column)


def _numbers_of(column: Any) -> NDArray[np.int64]:
    """Return an array of Arrow's without missing values; its own way would import pandas."""
    import pyarrow

    whole = column.cast(pyarrow.int64())
    return np.frombuffer(whole.buffers()[1], np.int64, len(whole), 8 * whole.offset)


def _absent(column: Any) -> NDArray[np.bool_]:
    """Return where an array of Arrow's has no value."""
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return _numbers_of(column.is_null()) > 0


def _listed(column: Column) -> list[Any]:
    return column if isinstance(column, list) else list(column.to_pylist())


def _looked_up(
    column: Column, numbers: dict[Any, int], other: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the number of each value, and where there is no value."""
    import pyarrow
    from pyarrow import compute

    if not isinstance(column, list) and pyarrow.types.is_string(column.type):
        known = [value for value in numbers if value is not None]
        index = compute.index_in(column, value_set=pyarrow.array(known, pyarrow.string()))
        at = _numbers_of(index.fill_null(len(known)))
        return np.array([*(numbers[value] for value in known), other], np.int64)[at], _absent(column)
    listed = _listed(column)
    places = np.array([numbers.get(value, other) for value in listed], np.int64)
    return places, np.array([value is None for value in listed], np.bool_)
