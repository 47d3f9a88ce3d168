"""An empty figure that stands by itself and that a notebook shows."""

from __future__ import annotations

from io import BytesIO
from typing import Any


def sheet(width: float, height: float) -> Any:
    """Return an empty Matplotlib figure of this size in inches, outside pyplot's global state.

    >>> sheet(4, 3)._repr_png_()[1:4]
    b'PNG'
    """
    from matplotlib.figure import Figure

    return shown_by_notebooks(Figure(figsize=(width, height), layout="constrained"))


def shown_by_notebooks(drawn: Any) -> Any:
    """Let a notebook show a figure, or the figure around its axes, without pyplot."""

    def picture() -> bytes:
        page = BytesIO()
        drawn.figure.savefig(page, format="png")
        return page.getvalue()

    # Notebooks ask for this name; pyplot, which would teach them about figures, may never be imported.
    drawn._repr_png_ = picture
    return drawn
