"""Draw what depends on a whole number: counts with error bars, and what a bound gains and loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .sheet import sheet, shown_by_notebooks


def draw_counts(
    places: Sequence[int],
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    title: str,
    across: str,
    scale: str,
    ax: Any = None,
) -> Any:
    """Draw one upright bar per whole number with its interval, and return the axes."""
    ax = _axes(ax)
    ax.bar(places, values, color="#8fb3d9")
    ax.vlines(places, lows, highs, colors="#222222")
    ax.axhline(0, color="#222222", linewidth=0.8)
    return _labelled(ax, title, across, scale)


def draw_trade(
    places: Sequence[int],
    noise: Sequence[float],
    left_out: Sequence[float],
    *,
    chosen: int,
    title: str,
    across: str,
    ax: Any = None,
) -> Any:
    """Draw noise against what is left out, their sum, and the bound where that is least."""
    ax = _axes(ax)
    both = [one + other for one, other in zip(noise, left_out, strict=True)]
    ax.plot(places, noise, color="#2457a6", label="noise (± at 95 %)", linestyle="--")
    ax.plot(places, left_out, color="#d9822b", label="left out by the bound", linestyle="-.")
    ax.plot(places, both, color="#222222", label="together")
    ax.axvline(chosen, color="#a33d3d", linewidth=0.9, label=f"least at {chosen}")
    # Beyond a few times the best, only the shape matters.
    ax.set_ylim(0, max(4 * min(both), 1))
    ax.legend(fontsize=9)
    return _labelled(ax, title, across, "rows off")


def _axes(ax: Any) -> Any:
    return shown_by_notebooks(sheet(7.5, 3.8).add_subplot()) if ax is None else ax


def _labelled(ax: Any, title: str, across: str, scale: str) -> Any:
    from matplotlib.ticker import MaxNLocator

    ax.set_title(title, parse_math=False)
    ax.set_xlabel(across, parse_math=False)
    ax.set_ylabel(scale, parse_math=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter("{x:,.10g}")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
