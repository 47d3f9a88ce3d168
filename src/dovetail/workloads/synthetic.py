"""Rows that look like the released marginals: a joint fitted to them, then rounded to whole rows.

All of it works on released numbers, so it costs nothing; the same numbers always give the same rows. The
result is biased (no count is negative) and carries no intervals: for counts, use the tables themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail import check
from dovetail.errors import InvalidParameter

from .cutoff import Floats
from .fitting import fit_joint
from .marginals import Columns
from .strategies import Strategy

_ROWS = "Give how many rows to make."


def fitted_joint(strategy: Strategy, tables: Mapping[Columns, NDArray[Any]]) -> Floats:
    """Return a table over all columns, without negative cells, whose margins come close to the estimates.

    >>> from dovetail.noise import Geometric
    >>> from dovetail.workloads import MarginalWorkload
    >>> strategy = Strategy.alike("joint", MarginalWorkload((2, 2), ((0,), (1,))), Geometric(9))
    >>> fitted_joint(strategy, {(0,): np.array([30, 10]), (1,): np.array([20, 20])}).round(1)
    array([[15., 15.],
           [ 5.,  5.]])
    """
    wanted = strategy.wanted
    variances = {table: strategy.variance(table) for table in wanted.tables}
    estimates = {table: np.asarray(tables[table], np.float64) for table in wanted.tables}
    return np.asarray(fit_joint(wanted.sizes, estimates, variances), np.float64)


def synthetic_rows(joint: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """Return `rows` rows, each a list of value numbers, one per column, in the order of the joint's cells.

    Rounding goes along the cells: a cell gets the rows whose places (i + 1/2)/rows lie in its part of the
    cumulated shares. So any run of neighbouring cells is right to within one row.

    >>> synthetic_rows(np.array([[1.0, 1.0], [2.0, 0.0]]), 4).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 0]]
    """
    wished = check.integer("rows", rows, 1, 10**9, _ROWS)
    shares = np.cumsum(np.asarray(joint, np.float64).ravel())
    if not shares[-1] > 0 or not np.isfinite(shares[-1]):
        raise InvalidParameter("joint", float(shares[-1]), "a table with a positive sum")
    places = (np.arange(wished) + 0.5) / wished * shares[-1]
    cells = np.minimum(np.searchsorted(shares, places, side="right"), shares.size - 1)
    return np.column_stack(np.unravel_index(cells, np.shape(joint))).astype(np.int64)


def consistent(
    strategy: Strategy, tables: Mapping[Columns, NDArray[Any]]
) -> dict[Columns, NDArray[np.int64]]:
    """Return whole tables without negative counts that agree with each other and keep the rounded total.

    They are the margins of one table of whole rows, so they agree exactly; biased, for display.
    """
    wanted = strategy.wanted
    every = tuple(range(len(wanted.sizes)))
    total = round(float(np.mean([tables[each].sum() for each in wanted.tables])))
    if total <= 0:
        return {each: np.zeros(wanted.shape(each), np.int64) for each in wanted.tables}
    joint = whole_joint(fitted_joint(strategy, tables), total)
    return {each: wanted.margin(joint, every, each) for each in wanted.tables}


def whole_joint(joint: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """Return how many of `synthetic_rows` each cell of the joint gets."""
    cells = np.ravel_multi_index(tuple(synthetic_rows(joint, rows).T), np.shape(joint))
    return np.bincount(cells, minlength=int(np.prod(np.shape(joint)))).reshape(np.shape(joint))
