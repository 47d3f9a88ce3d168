"""Oracles in dense linear algebra, straight from the definitions."""

from __future__ import annotations

import numpy as np

from dovetail.workloads import Tree


def measured_rows(tree: Tree) -> np.ndarray:
    """The matrix whose rows are the blocks of a tree, level by level."""
    rows = []
    for width, blocks in zip(tree.widths, tree.blocks, strict=True):
        for block in range(blocks):
            row = np.zeros(tree.cells)
            row[block * width : (block + 1) * width] = 1
            rows.append(row)
    return np.array(rows)


def covariance(tree: Tree) -> np.ndarray:
    rows = measured_rows(tree)
    return np.linalg.inv(rows.T @ rows)


def step(cells: int, edges: list[int], values: list[float]) -> np.ndarray:
    return np.repeat(values, np.diff(edges)).astype(float) if edges[-1] == cells else np.zeros(cells)
