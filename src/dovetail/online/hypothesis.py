"""The public hypothesis: how many rows each cell is believed to hold.

It is made from released numbers alone, so to read it costs nothing. Cells are floats in one array, 8 bytes a
cell. A count over a product of conditions reads the array once, as a matrix between two vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.privacy.atoms import Floats

from .region import Region, halves

MOST_CELLS = 10**7
# Marginals up to this size are kept until the next change; a question about few columns then costs little.
_KEPT_CELLS = 1 << 16
_MOST_KEPT = 256
# The scale is multiplied in before it leaves what floats hold well.
_FAR = 2.0**200
# Where so little is left of a sum, what was subtracted has taken too many of its digits.
_LITTLE = 2.0**-16
# So many cells are changed at once: a copy of them stays in the processor's cache.
_BLOCK = 1 << 14


class Hypothesis:
    """A table of non-negative floats that add up to `total`, changed in place.

    >>> guess = Hypothesis.uniform((2, 5), total=100)
    >>> guess.count(Region.product((2, 5), {1: [True, True, False, False, False]}))
    40.0
    """

    def __init__(self, cells: Floats, total: Real) -> None:
        """Take over an array of non-negative cells and scale it, lazily, to `total` rows, at least 1."""
        if not 0 < cells.size <= MOST_CELLS:
            raise InvalidParameter("cells", cells.size, f"1 to {MOST_CELLS} cells", "Use fewer columns.")
        if not (cells.dtype == np.float64 and cells.flags.c_contiguous and np.min(cells) >= 0):
            raise InvalidParameter("cells", cells.dtype, "a contiguous array of floats of at least 0")
        self.cells = cells
        # The number of rows is itself a noisy answer, which may be anything.
        self.total = max(float(check.rational("total", total)), 1.0)
        self.version = 0
        self._sum = float(np.sum(cells))
        if not 0 < self._sum < np.inf:
            raise InvalidParameter("cells", self._sum, "a positive sum")
        self._kept: dict[tuple[int, ...], Floats] = {}
        self._asked: set[tuple[int, ...]] = set()
        self._rows, self._columns = halves(cells.shape)

    @classmethod
    def uniform(cls, shape: Sequence[int], total: Real) -> Hypothesis:
        """Return a table that believes nothing: every cell alike."""
        size = prod(shape)
        if not 0 < size <= MOST_CELLS:
            raise InvalidParameter("shape", tuple(shape), f"1 to {MOST_CELLS} cells", "Use fewer columns.")
        return cls(np.ones(tuple(shape)), total)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return self.cells.shape

    @property
    def _scale(self) -> float:
        return self.total / self._sum

    def count(self, region: Region) -> float:
        """Return how many rows are believed to lie in the region."""
        if region.shape != self.shape:
            raise InvalidParameter("region", region.shape, f"about cells of shape {self.shape}")
        return self._raw_count(region) * self._scale

    def marginal(self, axes: Sequence[int]) -> Floats:
        """Return the table of some axes, ascending, summed over all others."""
        return self._raw_marginal(tuple(axes)) * self._scale

    def multiply(self, region: Region, factor: float) -> None:
        """Multiply the cells of a region, then give all cells the same total as before."""
        if not 0 < factor < np.inf:
            raise InvalidParameter("factor", factor, "a finite number above 0")
        inside, before = self._raw_count(region), self._sum
        self._multiply_cells(region, factor)
        self._sum += (factor - 1) * inside
        self._kept.clear()
        self._asked.clear()
        self.version += 1
        if not max(1 / _FAR, _LITTLE * before) < self._sum < _FAR or self.version % 1000 == 0:
            self._renormalise()

    def _renormalise(self) -> None:
        """Multiply the scale in and add up anew, so that roundings do not gather."""
        self._sum = float(np.sum(self.cells))
        self.cells *= self._scale
        self._sum = float(np.sum(self.cells))

    def _raw_count(self, region: Region) -> float:
        left, right = region.over(self._rows), region.over(self._columns)
        if left is None or right is None or self._worth_keeping(region.axes):
            mask = region.over(region.axes)
            assert mask is not None
            return float(np.sum(self._raw_marginal(region.axes), where=mask))
        matrix = self.cells.reshape(left.size, right.size)
        return float(left.ravel().astype(np.float64) @ (matrix @ right.ravel().astype(np.float64)))

    def _worth_keeping(self, axes: tuple[int, ...]) -> bool:
        """Say whether a marginal answers faster: it is kept, or asked for again before a change."""
        if axes in self._kept:
            return True
        again = axes in self._asked
        self._asked.add(axes)
        return again and prod(self.shape[axis] for axis in axes) <= _KEPT_CELLS

    def _raw_marginal(self, axes: tuple[int, ...]) -> Floats:
        known = self._kept.get(axes)
        if known is not None:
            return known
        others = tuple(axis for axis in range(len(self.shape)) if axis not in axes)
        table = np.asarray(np.sum(self.cells, axis=others))
        if table.size <= _KEPT_CELLS and len(self._kept) < _MOST_KEPT:
            self._kept[axes] = table
        return table

    def _multiply_cells(self, region: Region, factor: float) -> None:
        left, right = region.over(self._rows), region.over(self._columns)
        if left is None or right is None:
            np.multiply(self.cells, factor, out=self.cells, where=region.dense())
            return
        matrix = self.cells.reshape(left.size, right.size)
        weights = np.where(right.ravel(), factor, 1.0)
        rows = np.flatnonzero(left)
        block = max(1, _BLOCK // weights.size)
        for start in range(0, len(rows), block):
            matrix[rows[start : start + block]] *= weights
