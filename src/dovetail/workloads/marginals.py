"""Marginal tables as sums of residuals, on which all of them agree.

Columns are numbered, column i having sizes[i] values. The residual of a table on columns C is what the table
says beyond its own margins: the mean along every axis is subtracted. Table A is the sum over all C within A
of the residual of C, spread evenly over the columns that A has and C has not. Residuals of different C are
orthogonal, so least squares treats each one alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail import check
from dovetail.errors import InvalidParameter

from .cutoff import Floats

Columns: TypeAlias = tuple[int, ...]

MOST_CELLS = 10**7
_TABLES = "List the columns of each table once, in rising order, for example (0, 2)."


def subsets(columns: Columns) -> Iterable[Columns]:
    """Give all subsets, the smallest first.

    >>> list(subsets((0, 2)))
    [(), (0,), (2,), (0, 2)]
    """
    return chain.from_iterable(combinations(columns, size) for size in range(len(columns) + 1))


@dataclass(frozen=True)
class MarginalWorkload:
    """Which tables are wanted over which columns.

    >>> wanted = MarginalWorkload((3, 4, 2), ((0, 1), (1, 2)))
    >>> wanted.residuals
    ((), (0,), (1,), (2,), (0, 1), (1, 2))
    """

    sizes: tuple[int, ...]
    tables: tuple[Columns, ...]

    def __post_init__(self) -> None:
        for size in self.sizes:
            check.integer("sizes", size, 1, MOST_CELLS, "Give the number of values of each column.")
        known = set(range(len(self.sizes)))
        for table in self.tables:
            if not set(table) <= known or tuple(sorted(set(table))) != table:
                raise InvalidParameter("tables", table, f"columns from 0 to {len(self.sizes) - 1}", _TABLES)
            if self.cells(table) > MOST_CELLS:
                raise InvalidParameter("tables", table, f"tables of at most {MOST_CELLS} cells")
        if not self.tables or len(set(self.tables)) != len(self.tables):
            raise InvalidParameter("tables", self.tables, "one table or more, each once", _TABLES)

    @classmethod
    def of_ways(cls, sizes: tuple[int, ...], way: int) -> MarginalWorkload:
        """Return all tables of `way` columns."""
        count = check.integer("way", way, 1, len(sizes), "Give how many columns each table has.")
        return cls(tuple(sizes), tuple(combinations(range(len(sizes)), count)))

    @cached_property
    def residuals(self) -> tuple[Columns, ...]:
        """Every set of columns that lies within a table, the smallest first."""
        parts = {subset for table in self.tables for subset in subsets(table)}
        return tuple(sorted(parts, key=lambda columns: (len(columns), columns)))

    def cells(self, columns: Iterable[int]) -> int:
        """Return the number of cells of a table."""
        return prod(self.sizes[i] for i in columns)

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """Return the shape of a table's array."""
        return tuple(self.sizes[i] for i in columns)

    def others(self, table: Columns, columns: Columns) -> Columns:
        """Return the columns of a table that are not among `columns`."""
        return tuple(i for i in table if i not in columns)

    def margin(self, table: NDArray[Any], columns: Columns, onto: Columns) -> NDArray[Any]:
        """Sum a table on `columns` to those in `onto`."""
        axes = tuple(axis for axis, column in enumerate(columns) if column not in onto)
        return np.asarray(table.sum(axis=axes)) if axes else table

    def spread(self, values: Floats, columns: Columns, onto: Columns) -> Floats:
        """Repeat values on `columns` along the other axes of `onto`; the result is a view that broadcasts."""
        return values.reshape([self.sizes[i] if i in columns else 1 for i in onto])

    def share(self, within: Columns, columns: Columns) -> float:
        """Return one over the number of cells of `within` for each cell of `columns`."""
        return 1.0 / self.cells(self.others(within, columns))

    def table(self, columns: Columns, residuals: Mapping[Columns, Floats]) -> Floats:
        """Return the table on `columns` that the residuals make."""
        total = np.zeros(self.shape(columns))
        for part in subsets(columns):
            total += self.spread(residuals[part], part, columns) * self.share(columns, part)
        return total


def centred(table: NDArray[Any]) -> Floats:
    """Subtract the mean along every axis.

    >>> centred(np.array([[1, 2], [3, 8]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    residual = np.array(table, np.float64)
    for axis in range(residual.ndim):
        residual -= residual.mean(axis=axis, keepdims=True)
    return residual


def whole_residual(table: NDArray[Any]) -> NDArray[Any]:
    """Return the residual times the number of cells, in whole numbers: n·table - sum, axis by axis.

    >>> whole_residual(np.array([[1, 2], [3, 8]]))
    array([[ 4, -4],
           [-4,  4]])
    """
    residual = np.array(table)
    for axis, size in enumerate(residual.shape):
        residual = size * residual - residual.sum(axis=axis, keepdims=True)
    return residual
