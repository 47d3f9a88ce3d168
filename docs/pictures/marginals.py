"""Make the pictures of `docs/how-to/marginals.md`: `python docs/pictures/marginals.py`."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet

import dovetail as dv

HERE = Path(__file__).parent
BLUE, ORANGE, GREY = "#2457a6", "#d9822b", "#8a8f98"
COLUMNS = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "income")
SPEND = dv.Budget.approximate(1, "1e-6")
# The columns of 3, 6, 10 and 28 tables, and the ways that are shown.
ASKED = ((5, 6, 7), (2, 4, 5, 6), (0, 1, 2, 6, 7), range(8))
WAYS = {"plain, Gaussian": GREY, "joint, designed": BLUE, "residuals, designed": ORANGE}


def ways(session: dv.Session, ax: Any) -> None:
    """Draw the standard error of a cell, of each way and number of tables."""
    for place, columns in enumerate(ASKED):
        quote = session.quote(dv.Marginals(*(COLUMNS[i] for i in columns)), spend=SPEND)
        found = {way.name: way.errors.values() for way in quote.asked[0].ways}
        for number, (name, colour) in enumerate(WAYS.items()):
            error = sqrt(float(np.mean([each**2 for each in found[name]])))
            at = place + 0.27 * (number - 1)
            ax.bar(at, error, 0.25, color=colour, label=name if place == 0 else None)
            ax.annotate(f"{error:.1f}", (at, error), ha="center", va="bottom", fontsize=7)
    ax.set_xticks(range(len(ASKED)), ["3 tables", "6", "10", "28"])
    ax.set_ylabel("standard error of a cell, (1, 1e-6)")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def synthetic(answer: dv.MarginalsAnswer, ax: Any) -> None:
    """Draw the counts of all cells of two columns, of real rows and of synthetic ones."""
    real = pyarrow.parquet.read_table(dv.datasets.adult().data).to_pandas()
    made = answer.synthetic(len(real)).to_pandas()
    pairs = []
    for columns in answer.tables:
        counted = [rows.value_counts(list(columns)) for rows in (real, made)]
        both = counted[0].to_frame("real").join(counted[1].to_frame("made"), how="outer").fillna(0)
        pairs.append(both.to_numpy())
    points = np.concatenate(pairs)
    ax.plot([0.5, 3e4], [0.5, 3e4], color=GREY, lw=1)
    ax.plot(*np.maximum(points, 0.7).T, ".", color=BLUE, ms=3, alpha=0.5, rasterized=True)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("rows of Adult in a cell of two columns")
    ax.set_ylabel("synthetic rows")
    ax.spines[["top", "right"]].set_visible(False)


def pictures() -> None:
    """Draw both pictures."""
    with (
        TemporaryDirectory() as folder,
        dv.Session(
            dv.datasets.adult(),
            budget=dv.Budget.approximate(2, "1e-5"),
            ledger=Path(folder) / "tables.ledger",
        ) as session,
    ):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        ways(session, axes[0])
        answer = session.marginals(*COLUMNS, spend=SPEND)
        synthetic(answer, axes[1])
        figure.savefig(HERE / "marginals-errors.svg", dpi=150, metadata={"Date": None})
        figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
        answer.plot("education", "occupation", ax=ax)
        figure.savefig(HERE / "marginals-map.svg", metadata={"Date": None})


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "dovetail"
    pictures()
