"""Make the picture of `docs/how-to/quantiles.md`: `python docs/pictures/ranges.py`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import dovetail as dv

HERE = Path(__file__).parent
BLUE, ORANGE = "#2457a6", "#d9822b"
# Of all rows, and of few of them.
ASKED = ((None, "all 32,561 rows"), ("education = 'Doctorate'", "rows with a doctorate"))


def cdf(session: dv.Session, where: str | None, title: str, ax: Any) -> None:
    """Draw the rows up to each age with their band, and the median with its interval."""
    answer = session.ranges("age", low=17, high=90, step=1, where=where, spend=dv.Budget.pure("0.2"))
    table = answer.cdf().to_pydict()
    ax.fill_between(table["age"], table["low"], table["high"], color=BLUE, alpha=0.25, step="mid", lw=0)
    ax.plot(table["age"], table["value"], color=BLUE, drawstyle="steps-mid")
    middle = answer.quantile(0.5)
    ax.axvspan(middle.low, middle.high, color=ORANGE, alpha=0.3)
    ax.axvline(middle.value, color=ORANGE)
    ax.annotate(f"median {middle.value:g}", (middle.high + 1, 0), color=ORANGE, va="bottom")
    ax.set_title(title)
    ax.set_xlabel("age")
    ax.set_ylabel("rows up to this age, ε = 0.2")
    ax.spines[["top", "right"]].set_visible(False)


def picture() -> Any:
    """Draw both panels."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    with (
        TemporaryDirectory() as folder,
        dv.Session(
            dv.datasets.adult(), budget=dv.Budget.pure(1), ledger=Path(folder) / "ages.ledger"
        ) as session,
    ):
        for (where, title), ax in zip(ASKED, axes, strict=True):
            cdf(session, where, title, ax)
    return figure


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "dovetail"
    picture().savefig(HERE / "ranges-cdf.svg", metadata={"Date": None})
