"""Draw a privacy loss: its atoms, and what remains beyond each epsilon."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .sheet import sheet


def loss(
    values: ArrayLike,
    masses: ArrayLike,
    epsilons: ArrayLike,
    deltas: ArrayLike,
    *,
    zeta: float,
    worst: float,
    ax: Any = None,
) -> Any:
    """Draw the probabilities of the losses beside delta(epsilon); return the Matplotlib figure.

    Into axes that are given, only the losses are drawn.
    """
    if ax is not None:
        _losses(ax, values, masses, zeta, worst)
        return ax.figure
    figure = sheet(9, 3.6)
    left, right = figure.subplots(1, 2)
    _losses(left, values, masses, zeta, worst)
    shown = np.asarray(deltas, float) > 0
    right.semilogy(np.asarray(epsilons, float)[shown], np.asarray(deltas, float)[shown], color="tab:blue")
    right.set(xlabel="epsilon", ylabel="delta", title="What remains beyond epsilon")
    right.grid(True, which="major", alpha=0.3)
    return figure


def _losses(left: Any, values: ArrayLike, masses: ArrayLike, zeta: float, worst: float) -> None:
    losses, chances = np.asarray(values, float), np.asarray(masses, float)
    seen = chances > 1e-4 * chances.max()
    left.vlines(losses[seen], 0, chances[seen], color="tab:blue", linewidth=3 if seen.sum() < 40 else 0.8)
    left.set_ylim(bottom=0)
    left.axvline(zeta, color="tab:orange", linestyle="--", label=f"zeta = {zeta:.3g}")
    if worst <= 2 * losses[seen].max():
        left.axvline(worst, color="tab:red", linestyle=":", label=f"worst case = {worst:.3g}")
    else:  # too far out to be drawn to scale
        left.plot([], [], color="tab:red", linestyle=":", label=f"worst case = {worst:.3g} (outside)")
    left.set(xlabel="privacy loss", ylabel="probability", title="Privacy loss of one answer")
    left.locator_params(axis="x", nbins=6)
    left.legend()
