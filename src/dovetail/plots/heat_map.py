"""Draw tables of two columns as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sheet import sheet, shown_by_notebooks

# More names than these could not be read, and more maps not be told apart.
MOST_NAMES, MOST_MAPS = 40, 36
_FEW = 16


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """A table of counts: names of the values down and across, and the counts."""

    down: str
    across: str
    down_names: list[str]
    across_names: list[str]
    counts: NDArray[Any]


def draw_heat_map(drawn: HeatMap, *, title: str = "", ax: Any = None) -> Any:
    """Draw one table with its figures where they fit, and return the axes.

    The colour follows the square root of a count, so that small counts are seen beside large ones.
    """
    high, wide = drawn.counts.shape
    if ax is None:
        size = (max(3 + 0.55 * min(wide, 40), 5.5), 2 + 0.35 * min(high, 40))
        ax = shown_by_notebooks(sheet(*size).add_subplot())
    painted = _paint(ax, drawn.counts)
    for names, place in ((drawn.down_names, ax.set_yticks), (drawn.across_names, ax.set_xticks)):
        if len(names) <= MOST_NAMES:
            # Names may hold any text: no mathematical notation is read into a dollar sign.
            place(range(len(names)), [_cut(name) for name in names], parse_math=False)
    ax.tick_params(axis="x", rotation=45)
    for text in ax.get_xticklabels():
        text.set_horizontalalignment("right")
        text.set_rotation_mode("anchor")
    ax.set_ylabel(drawn.down, parse_math=False)
    ax.set_xlabel(drawn.across, parse_math=False)
    ax.set_title(title, parse_math=False, fontsize=10)
    if wide <= _FEW and high <= MOST_NAMES:
        _write(ax, drawn.counts)
    else:
        ax.figure.colorbar(painted, ax=ax, label="rows", format="{x:,.0f}")
    return ax


def draw_heat_maps(maps: Sequence[HeatMap], *, title: str = "") -> Any:
    """Draw several tables side by side, without names of values, and return the figure."""
    shown = list(maps)[:MOST_MAPS]
    wide = ceil(sqrt(len(shown)))
    high = ceil(len(shown) / wide)
    figure = sheet(2.2 * wide, 2.1 * high + 0.4)
    for place, drawn in enumerate(shown):
        ax = figure.add_subplot(high, wide, place + 1)
        _paint(ax, drawn.counts)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel(drawn.across, parse_math=False, fontsize=8)
        ax.set_ylabel(drawn.down, parse_math=False, fontsize=8)
    more = len(maps) - len(shown)
    figure.suptitle(f"{title} (the first {len(shown)}; {more} more)" if more else title, parse_math=False)
    return figure


def _paint(ax: Any, counts: NDArray[Any]) -> Any:
    from matplotlib.colors import PowerNorm

    top = max(float(counts.max(initial=0)), 1.0)
    shown = np.maximum(counts, 0)
    return ax.imshow(shown, cmap="Blues", aspect="auto", norm=PowerNorm(0.5, vmin=0, vmax=top))


def _write(ax: Any, counts: NDArray[Any]) -> None:
    """Write every count into its cell, light on dark."""
    top = float(np.sqrt(max(float(counts.max(initial=0)), 0.0)))
    for (row, column), count in np.ndenumerate(counts):
        dark = np.sqrt(max(float(count), 0.0)) > 0.6 * top
        ax.text(
            *(column, row, f"{float(count):,.0f}"),
            ha="center",
            va="center",
            fontsize=7,
            color="white" if dark else "#222222",
        )


def _cut(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"
