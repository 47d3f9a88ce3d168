"""Draw a two-way table: a square for each cell, its colour by value, with value and error in figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .sheet import sheet, shown_by_notebooks


def draw_grid(
    down: Sequence[str],
    across: Sequence[str],
    values: Sequence[float],
    *,
    amounts: Sequence[str],
    title: str,
    names: tuple[str, str],
    scale: str,
    ax: Any = None,
) -> Any:
    """Draw the cells, row by row, and return the axes."""
    if ax is None:
        wide = max(map(len, amounts), default=4)
        size = (2.2 + len(across) * max(1.0, 0.1 * wide), 1.6 + 0.42 * len(down))
        ax = shown_by_notebooks(sheet(max(size[0], 5.0), size[1]).add_subplot())
    grid = np.reshape(np.asarray(values, float), (len(down), len(across)))
    ax.imshow(grid, cmap="Blues", aspect="auto", vmin=min(0.0, float(grid.min())))
    dark = grid.max() * 0.6
    for place, amount in enumerate(amounts):
        row, column = divmod(place, len(across))
        colour = "white" if grid[row, column] > dark > 0 else "#222222"
        ax.text(column, row, amount, ha="center", va="center", fontsize=8, color=colour, parse_math=False)
    ax.set_xticks(range(len(across)), across, parse_math=False)
    ax.set_yticks(range(len(down)), down, parse_math=False)
    ax.set_title(title, parse_math=False)
    ax.set_ylabel(names[0], parse_math=False)
    ax.set_xlabel(f"{names[1]}\n{scale}", parse_math=False)
    return ax
