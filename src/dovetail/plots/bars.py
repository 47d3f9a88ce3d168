"""Draw values with their error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def draw_bars(
    names: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    *,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw one horizontal bar per name with its interval, and return the axes."""
    from matplotlib.figure import Figure

    if ax is None:
        # A figure of its own, outside pyplot's global state.
        ax = Figure(figsize=(7, 1 + 0.28 * len(names)), layout="constrained").add_subplot()
    places = range(len(names))
    ax.barh(places, values, color="#8fb3d9")
    ax.hlines(places, [low for low, _ in intervals], [high for _, high in intervals], colors="#222222")
    # Names may hold any text: no mathematical notation is read into a dollar sign.
    ax.set_yticks(places, names, parse_math=False)
    ax.invert_yaxis()
    ax.set_title(title, parse_math=False)
    ax.grid(axis="x", alpha=0.3)
    return ax
