"""Draw the speed of a call beside NumPy's, by the number of draws: docs/pictures/draws.svg."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from .report import Row

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "draws.svg"
_CASE = re.compile(r"([0-9,]+) draws at scale (\S+), NumPy")
_COLOURS = ("#2457a6", "#d9822b")


def points(rows: Iterable[Row]) -> dict[str, list[tuple[int, float]]]:
    """Return the sizes and ratios of each scale.

    >>> points([Row("1,000 draws at scale 3, NumPy laplace+rint", "", "", 2.5)])
    {'3': [(1000, 2.5)]}
    """
    found: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if (named := _CASE.match(row.case)) and row.ratio is not None:
            found.setdefault(named[2], []).append((int(named[1].replace(",", "")), float(row.ratio)))
    return found


def draw(rows: Iterable[Row], path: Path = PICTURE) -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "draws"
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for (scale, listed), colour in zip(points(rows).items(), _COLOURS, strict=False):
        sizes, ratios = zip(*listed, strict=True)
        ax.plot(sizes, ratios, "o-", color=colour, label=f"scale {float(scale):,.0f}")
    ax.axhline(1, color="#8a8a8a", linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="draws in one call", ylabel="speed, NumPy = 1")
    ax.set_yticks([0.25, 0.5, 1, 2, 4, 8], ["¼", "½", "1", "2", "4", "8"])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
