"""How every figure looks: one colour for one mechanism, safe for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dovetail as dv

# Okabe and Ito's colours.
COLOURS = {
    "geometric mixture": "#D55E00",
    "Laplace mixture": "#0072B2",
    "geometric": "#E69F00",
    "Laplace": "#56B4E9",
    "discrete Gaussian": "#009E73",
    "designed": "#CC79A7",
    "two pieces": "#000000",
}
MARKERS = {
    "geometric mixture": "o",
    "Laplace mixture": "s",
    "geometric": "^",
    "Laplace": "v",
    "discrete Gaussian": "D",
    "designed": "P",
    "two pieces": "x",
}

_STYLE: dict[Any, Any] = {
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.fonttype": "path",
    # Fixed, so that the same data give the same file.
    "svg.hashsalt": "dovetail",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in our style inside this block, and leave everyone's own settings as they were."""
    try:
        import matplotlib
    except ImportError as error:
        raise dv.DovetailError("Figures need Matplotlib: pip install 'dovetail-dp[plot]'.") from error
    with matplotlib.rc_context(_STYLE):
        yield


def axes(
    rows: int = 1, columns: int = 1, *, width: float = 6.4, height: float = 4.0, **options: Any
) -> tuple[Any, Any]:
    """Return a new figure, outside pyplot's global state, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(rows, columns, **options)


def line_width(family: str) -> float:
    """Return a broad line for geometric noise: the Laplace line on top of it often runs the same way.

    >>> line_width("geometric mixture") > line_width("Laplace mixture")
    True
    """
    return 3.4 if family.startswith("geometric") else 1.3


def line_style(family: str, **options: Any) -> dict[str, Any]:
    """Return colour and marker of a mechanism.

    >>> line_style("geometric mixture", linestyle="--")["linestyle"]
    '--'
    """
    return {"color": COLOURS[family], "marker": MARKERS[family], **options}


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG and return both paths."""
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    figure.savefig(paths[0], dpi=160)
    # Without a date, the file says nothing of when it was made and can be compared.
    figure.savefig(paths[1], metadata={"Date": None})
    return paths
