"""Make the pictures of `docs/online.md`: `python docs/pictures/online.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import dovetail as dv
from dovetail.online.calibration import Calibrated, Terms, calibrate

HERE = Path(__file__).parent
BLUE, ORANGE, GREY = "#2457a6", "#d9822b", "#8a8a8a"
BUDGETS = (
    ("worst case ε = 1", dv.Budget.pure(1), ORANGE),
    ("(1, 1e-6)", dv.Budget.approximate(1, "1e-6"), BLUE),
)
UPDATES = (5, 10, 20, 50, 100)


def found(budget: dv.Budget, updates: int) -> Calibrated:
    """Return a run whose tests give one false alarm in ten thousand."""
    return calibrate(budget, Terms(updates, queries=250 * updates))


def curves() -> Any:
    """Draw response curves of 50 updates, and what is promised for several numbers of updates."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for name, budget, colour in BUDGETS:
        guard = found(budget, 50).guard
        errors = np.arange(0, guard.distance + 1)
        left.plot(errors, guard.tests.probabilities(guard.distance - errors), color=colour, label=name)
        promised = [found(budget, updates).alpha for updates in UPDATES]
        right.plot(UPDATES, promised, "o-", color=colour, label=name)
        right.annotate(f"±{promised[-1]:,}", (UPDATES[-1], promised[-1]), ha="right", va="bottom", fontsize=9)
    left.set_yscale("log")
    left.set_ylim(1e-5, 2)
    left.set_xlabel("how far the guess is off (threshold noise 0)")
    left.set_ylabel("chance that a test fires")
    left.legend(frameon=False)
    right.set_xlabel("updates paid for")
    right.set_ylabel("every answer that passes is within ±")
    right.set_ylim(0)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "dovetail"
    curves().savefig(HERE / "online-curves.svg", metadata={"Date": None})
