"""Draw released counts beside the truth, for public data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .sheet import sheet


def beside_truth(
    names: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    truths: Sequence[float],
    *,
    title: str = "",
) -> Any:
    """Draw the bars with the true counts marked and, beside them, each error with its interval.

    Intervals of a few units vanish beside counts of thousands, so they get a scale of their own.
    """
    figure = sheet(10, 1.4 + 0.28 * len(names))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    places = range(len(names))
    left.barh(places, values, color="#8fb3d9", label="released")
    left.plot(truths, places, "|", color="#c0392b", markersize=11, markeredgewidth=2, label="true")
    left.set_yticks(places, names, parse_math=False)
    left.invert_yaxis()
    left.set_title(title, parse_math=False)
    left.legend(loc="lower right")
    errors = [value - truth for value, truth in zip(values, truths, strict=True)]
    ends = [(low - true, high - true) for (low, high), true in zip(intervals, truths, strict=True)]
    right.axvline(0, color="#c0392b", linewidth=2)
    right.hlines(places, [low for low, _ in ends], [high for _, high in ends], colors="#222222")
    right.plot(errors, places, "o", color="#3b6ea5", markersize=4)
    right.set_title("released minus true, with 95 % intervals")
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.3)
    return figure
