"""Draw what a noise adds: its probabilities, its break-points, and where nearly all of it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from .sheet import sheet, shown_by_notebooks


def draw_noise(
    places: ArrayLike,
    masses: ArrayLike,
    *,
    whole: bool,
    breaks: Sequence[float],
    within: float,
    title: str,
    ax: Any = None,
) -> Any:
    """Draw the probability or density at each place, and return the axes."""
    if ax is None:
        ax = shown_by_notebooks(sheet(6.4, 3.6).add_subplot())
    ax.plot(places, masses, color="#2457a6", drawstyle="steps-mid" if whole else "default")
    ax.axvspan(-within, within, color="#2457a6", alpha=0.08, label=f"95 % lie within ±{within:,.4g}")
    for number, point in enumerate(breaks):
        for side in (-point, point):
            label = "break-points" if number == 0 and side < 0 else None
            ax.axvline(side, color="#d9822b", linewidth=0.8, linestyle="--", label=label)
    ax.set(xlabel="noise", ylabel="probability" if whole else "density")
    ax.set_title(title, parse_math=False, fontsize=10)
    ax.set_ylim(bottom=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=8)
    return ax
