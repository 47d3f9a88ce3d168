"""Draw values with their error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .sheet import sheet, shown_by_notebooks

# A picture of more bars could be read by nobody, and the largest could not be written at all.
MOST_BARS = 200


def draw_bars(
    names: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    *,
    amounts: Sequence[str],
    title: str = "",
    scale: str = "",
    times: bool = False,
    ax: Any = None,
) -> Any:
    """Draw one horizontal bar per name with its interval, and return the axes.

    An error bar of a few units vanishes beside counts of thousands, so each bar ends in its `amounts`: the
    value and its error in figures. Values that are `times`, in days since the start of 1970, are points.
    """
    count = min(len(names), MOST_BARS)
    if ax is None:
        ax = shown_by_notebooks(sheet(7.5, 1.3 + 0.28 * count).add_subplot())
    places = range(count)
    lows, highs = [low for low, _ in intervals[:count]], [high for _, high in intervals[:count]]
    if times:
        ax.plot(values[:count], places, "o", color="#8fb3d9")
    else:
        ax.barh(places, values[:count], color="#8fb3d9")
    ax.hlines(places, lows, highs, colors="#222222")
    # Caps show the ends of a bar that is shorter than the line is wide.
    ax.plot([*lows, *highs], [*places, *places], "|", color="#222222", markersize=7)
    for place, high, amount in zip(places, highs, amounts, strict=False):
        ax.annotate(
            amount,
            (high if times else max(high, 0.0), place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            parse_math=False,
        )
    zero = [] if times or not count else [0.0]
    _make_room(ax, [*zero, *lows], [*zero, *highs], longest=max(map(len, amounts[:count]), default=0))
    # Names may hold any text: no mathematical notation is read into a dollar sign.
    ax.set_yticks(places, names[:count], parse_math=False)
    ax.set_ylim(count - 0.4, -0.6)
    more = len(names) - count
    ax.set_title(f"{title} (the first {count}; {more} more)" if more > 0 else title, parse_math=False)
    ax.set_xlabel(scale, parse_math=False)
    if times:
        _mark_days(ax)
    else:
        ax.xaxis.set_major_formatter("{x:,.10g}")
    ax.grid(axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    return ax


def _make_room(ax: Any, lows: Sequence[float], highs: Sequence[float], longest: int) -> None:
    """Widen the scale so that the figures at the ends of the bars stay inside."""
    low, high = min(lows, default=0.0), max(highs, default=0.0)
    span = (high - low) or 1.0
    ax.set_xlim(low - 0.02 * span if low else 0, high + span * min(0.06 + 0.016 * longest, 0.6))


def _mark_days(ax: Any) -> None:
    """Write few days or times along the axis, and leave more room: their figures are long."""
    from matplotlib import dates

    made: Any = dates
    low, high = ax.get_xlim()
    ax.set_xlim(low, high + 0.55 * (high - low))
    places = made.AutoDateLocator(maxticks=6)
    ax.xaxis.set_major_locator(places)
    ax.xaxis.set_major_formatter(made.ConciseDateFormatter(places))
