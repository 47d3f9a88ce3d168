"""Draw a privacy loss: its atoms, and what remains beyond each epsilon."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def loss(values: ArrayLike, masses: ArrayLike, epsilons: ArrayLike, deltas: ArrayLike, zeta: float) -> Any:
    """Draw the probabilities of the losses beside delta(epsilon); return the Matplotlib figure."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    losses, chances = np.asarray(values, float), np.asarray(masses, float)
    if len(losses) <= 60:
        left.vlines(losses, 0, chances, color="tab:blue", linewidth=3)
        left.set_ylim(bottom=0)
    else:
        left.plot(losses, chances, color="tab:blue")
    left.axvline(zeta, color="tab:orange", linestyle="--", label=f"zeta = {zeta:.3g}")
    left.axvline(losses[-1], color="tab:red", linestyle=":", label=f"worst case = {losses[-1]:.3g}")
    left.set(xlabel="privacy loss", ylabel="probability", title="How much an answer gives away")
    left.legend()
    shown = np.asarray(deltas, float) > 0
    right.semilogy(np.asarray(epsilons, float)[shown], np.asarray(deltas, float)[shown], color="tab:blue")
    right.set(xlabel="epsilon", ylabel="delta", title="Chance of giving away more than epsilon")
    right.grid(True, which="major", alpha=0.3)
    return figure
