"""Draw curves with the bands that their truths lie in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .sheet import sheet, shown_by_notebooks

MOST_CURVES = 6
_COLOURS = ("#2457a6", "#d9822b", "#3a8f5c", "#8c4a9e", "#a33d3d", "#5f6b73")


@dataclass(frozen=True, slots=True)
class BandCurve:
    """A curve that steps from place to place, and the ends of its band there."""

    name: str
    values: Any
    lows: Any
    highs: Any


def draw_bands(
    places: Sequence[Any], curves: Sequence[BandCurve], *, title: str, across: str, scale: str, ax: Any = None
) -> Any:
    """Draw each curve with its band, and return the axes; more curves than can be told apart are left out."""
    if ax is None:
        ax = shown_by_notebooks(sheet(7.5, 4.2).add_subplot())
    shown = curves[:MOST_CURVES]
    for curve, colour in zip(shown, _COLOURS, strict=False):
        ax.fill_between(places, curve.lows, curve.highs, color=colour, alpha=0.25, step="post", lw=0)
        ax.plot(places, curve.values, color=colour, drawstyle="steps-post", label=curve.name)
    more = len(curves) - len(shown)
    ax.set_title(f"{title} (the first {len(shown)} groups; {more} more)" if more else title, parse_math=False)
    ax.set_xlabel(across, parse_math=False)
    ax.set_ylabel(scale, parse_math=False)
    ax.yaxis.set_major_formatter("{x:,.10g}")
    if len(shown) > 1:
        for text in ax.legend().get_texts():
            text.set_parse_math(False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
