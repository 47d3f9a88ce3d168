"""Make pictures of the tutorial, the custodian's guide and how-tos: `python docs/pictures/pages.py`."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pyarrow

import dovetail as dv

HERE = Path(__file__).parent
BLUE, ORANGE = "#2457a6", "#d9822b"
WARDS = ["surgery", "children", "emergency"]
EPSILONS = (0.1, 0.5, 1, 2, 3, 5)


def education(session: dv.Session) -> Any:
    """Draw the histogram of the tutorial, as `answer.plot()` does."""
    return session.histogram("education", within=100).plot().figure


def design(_: dv.Session) -> Any:
    """Draw the design of the tutorial, as `design.plot()` does."""
    made = dv.design(within=20, queries=20, delta="1e-6").plot()
    return getattr(made, "figure", made)


def two_way(session: dv.Session) -> Any:
    """Draw two columns, as `answer.plot()` does."""
    return session.histogram("education", "sex", within=100).plot().figure


def regions(_: dv.Session) -> Any:
    """Draw the question of the page on one's own CSV."""
    table = pyarrow.table({"region": [("north", "south", "west")[i % 3] for i in range(900)]})
    with (
        TemporaryDirectory() as folder,
        dv.Session(
            table, name="people", budget=dv.Budget.pure(1), ledger=Path(folder) / "people.ledger"
        ) as session,
    ):
        return session.histogram("region", keys=["north", "south", "east", "west"], within=10).plot().figure


def bounds(_: dv.Session) -> Any:
    """Draw how many rows persons have, and which bound is best."""
    visits = pyarrow.table(
        {
            "patient": [f"p{n * n // 50000}" for n in range(20_000)],
            "ward": [WARDS[n % 3] for n in range(20_000)],
        }
    )
    schema = dv.Schema([dv.Column("ward", "text", values=WARDS)])
    with (
        TemporaryDirectory() as folder,
        dv.Session(
            visits,
            name="visits",
            schema=schema,
            unit="patient",
            budget=dv.Budget.pure(1),
            ledger=Path(folder) / "visits.ledger",
        ) as session,
    ):
        return session.contributions("ward", most_rows=20, spend=dv.Budget.pure("0.2")).plot().figure


def odds(_: dv.Session) -> Any:
    """Draw how far a guess can rise by what is published."""
    figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    steps = [number / 50 for number in range(301)]
    for before, colour in ((0.5, BLUE), (0.1, ORANGE)):
        rises = [before * exp(one) / (before * exp(one) + 1 - before) * 100 for one in steps]
        ax.plot(steps, rises, color=colour, label=f"a guess of {before:.0%} before")
    for epsilon in EPSILONS:
        sure = 100 / (1 + exp(-epsilon))
        ax.plot(epsilon, sure, "o", color=BLUE, ms=4)
        # Above the curve where the other one comes near.
        place = (4, -11) if epsilon <= 2 else (-14, 5)
        ax.annotate(f"{sure:.1f} %", (epsilon, sure), place, textcoords="offset points", fontsize=8)
    ax.set_xlabel("epsilon of all that is published")
    ax.set_ylabel("the guess after, at most (%)")
    ax.set_ylim(0, 110)
    ax.set_yticks(range(0, 101, 20))
    ax.legend(loc="lower right", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def months(_: dv.Session) -> Any:
    """Draw what three months with two releases each spend, shared and disjoint."""
    labels = ("2026-01", "2026-02", "2026-03")
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained", sharey=True)
    titles = ("vintages share the budget", "vintages are disjoint, rows are protected")
    for ax, title, disjoint in zip(axes, titles, (False, True), strict=True):
        for month in range(len(labels)):
            before = 0 if disjoint else 0.5 * month
            ax.bar(month, before, color=BLUE, alpha=0.25, width=0.6)
            ax.bar(month, 0.5, bottom=before, color=BLUE, width=0.6)
        ax.axhline(2, color=ORANGE, ls="--")
        ax.annotate("budget", (-0.42, 2.05), color=ORANGE)
        ax.set_xticks(range(len(labels)), labels)
        ax.set_ylim(0, 2.4)
        ax.set_title(title, fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("spent after two releases\nof epsilon 0.25 a month")
    return figure


PICTURES: dict[str, Callable[[dv.Session], Any]] = {
    "tutorial-education": education,
    "tutorial-design": design,
    "answers-two-way": two_way,
    "own-csv-regions": regions,
    "persons-bounds": bounds,
    "custodian-odds": odds,
    "custodian-months": months,
}


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "dovetail"
    with (
        TemporaryDirectory() as folder,
        dv.Session(
            dv.datasets.adult(), budget=dv.Budget.pure(1), ledger=Path(folder) / "adult.ledger"
        ) as session,
    ):
        for name, draw in PICTURES.items():
            draw(session).savefig(HERE / f"{name}.svg", metadata={"Date": None})
