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
from .marginals import Columns, Marginals

MOST_JOINT_CELLS = 2 * 10**6
# Noisy tables without negative counts disagree a little, so fitting never ends by itself.
_SWEEPS = 12
_STILL = 1e-6
# Tables may contradict each other so far that no cell is left, if a share could be 0.
_LEAST_SHARE, _TINY = 1e-6, 1e-200
_ROWS = "Give how many rows to make."


def fitted_joint(
    wanted: Marginals,
    tables: Mapping[Columns, NDArray[Any]],
    *,
    rows: float | None = None,
    sweeps: int = _SWEEPS,
) -> Floats:
    """Return a table over all columns whose margins come close to the given ones, by proportional fitting.

    `tables` are estimates; what is negative counts as nothing, and every table is scaled to the same number
    of rows (by default the mean of their totals).

    >>> wanted = Marginals((2, 2), ((0,), (1,)))
    >>> fitted_joint(wanted, {(0,): np.array([30, 10]), (1,): np.array([20, 20])}).round(3)
    array([[15., 15.],
           [ 5.,  5.]])
    """
    if wanted.cells(range(len(wanted.sizes))) > MOST_JOINT_CELLS:
        raise InvalidParameter(
            "columns", wanted.sizes, f"at most {MOST_JOINT_CELLS} cells together", "Take fewer columns."
        )
    total = rows if rows is not None else float(np.mean([tables[each].sum() for each in wanted.tables]))
    total = max(total, 1.0)
    goals = {each: _never_zero(_proportions(tables[each])) * total for each in wanted.tables}
    every = tuple(range(len(wanted.sizes)))
    joint = np.full(wanted.sizes, total / wanted.cells(every))
    for _ in range(sweeps):
        change = 0.0
        for columns, goal in goals.items():
            have = wanted.margin(joint, every, columns)
            change = max(change, float(np.abs(goal - have).sum()) / total)
            joint *= wanted.spread(goal / np.maximum(have, _TINY), columns, every)
        if change < _STILL:
            break
    return joint * (total / max(float(joint.sum()), 1e-300))


def _never_zero(shares: Floats) -> Floats:
    return (1 - _LEAST_SHARE) * shares + _LEAST_SHARE / shares.size


def _proportions(table: NDArray[Any]) -> Floats:
    """Return shares of the cells, none of them negative, by moving all cells down alike and cutting at 0.

    That is the nearest table of non-negative cells with the same total.
    """
    flat = np.asarray(table, np.float64).ravel()
    total = float(flat.sum())
    if total <= 0:
        return np.full(np.shape(table), 1.0 / flat.size)
    falling = np.sort(flat)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, flat.size + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    cut = np.maximum(flat - excess[kept], 0.0)
    return np.asarray(cut / cut.sum(), np.float64).reshape(np.shape(table))


def whole_table(table: NDArray[Any], total: int) -> NDArray[np.int64]:
    """Round a table to whole numbers, none negative, that sum to `total`.

    Shares are rounded down, and what is missing goes to the largest remainders, the first of equals first.

    >>> whole_table(np.array([0.5, 1.5, 2.0]), 4)
    array([1, 1, 2])
    """
    wished = check.integer("rows", total, 0, 10**12, _ROWS)
    exact = _proportions(table).ravel() * wished
    found = np.floor(exact).astype(np.int64)
    short = wished - int(found.sum())
    order = np.argsort(-(exact - found), kind="stable")
    found[order[:short]] += 1
    return found.reshape(np.shape(table))


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


def consistent(wanted: Marginals, tables: Mapping[Columns, NDArray[Any]]) -> dict[Columns, NDArray[np.int64]]:
    """Return whole tables without negative counts that agree with each other and keep the rounded total.

    They are the margins of one table of whole rows, so they agree exactly; biased, for display.
    """
    total = max(round(float(np.mean([tables[each].sum() for each in wanted.tables]))), 0)
    every = tuple(range(len(wanted.sizes)))
    if total == 0:
        return {each: np.zeros(wanted.shape(each), np.int64) for each in wanted.tables}
    joint = whole_joint(fitted_joint(wanted, tables, rows=float(total)), total)
    return {each: wanted.margin(joint, every, each) for each in wanted.tables}


def whole_joint(joint: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """Return how many of `synthetic_rows` each cell of the joint gets."""
    cells = np.ravel_multi_index(tuple(synthetic_rows(joint, rows).T), np.shape(joint))
    return np.bincount(cells, minlength=int(np.prod(np.shape(joint)))).reshape(np.shape(joint))
