"""Make pictures of how-tos and of what cannot be done: `python docs/pictures/how_to.py`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pyarrow

import dovetail as dv

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, GREY = "#2457a6", "#d9822b", "#3a8a5f", "#8a8a8a"
GROUPS, TRUE = 100, 200
WORDS = 3000
SHARES = """
SELECT education, COUNT(*) AS n, 100 * COUNT(*) / 32561 AS percent
FROM data GROUP BY education HAVING n > 1000 ORDER BY percent DESC
"""


def sql(folder: Path) -> Any:
    """Draw the SELECT of the page on SQL, as `answer.plot()` does."""
    with dv.Session(dv.datasets.adult(), budget=dv.Budget.pure(1), ledger=folder / "adult.ledger") as session:
        return session.sql(SHARES, noise=dv.Geometric(0.5)).plot().figure


def largest(_: Path) -> Any:
    """Draw a hundred equal groups with noise, and both intervals of the largest."""
    noise = dv.Geometric("0.1")
    values = np.sort(TRUE + noise.sample(GROUPS))
    figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    ax.plot(range(GROUPS), values, ".", color=GREY, label="noisy counts, sorted")
    ax.axhline(TRUE, color=GREEN, lw=1, label=f"the true count of every group: {TRUE}")
    together = noise.quantile_abs(0.95 ** (1 / GROUPS))
    for reach, place, colour, name in (
        (noise.quantile_abs(0.95), GROUPS + 2, ORANGE, "interval for one group, chosen in advance"),
        (together, GROUPS + 6, BLUE, "interval for all groups at once, as shown"),
    ):
        ax.errorbar(place, values[-1], yerr=float(reach), fmt="o", color=colour, capsize=4, label=name)
    ax.set_xlabel("group")
    ax.set_ylabel("count")
    ax.set_ylim(top=values[-1] + float(together) * 2.1)
    ax.legend(loc="upper left", frameon=False, fontsize=9)
    return _bare(figure, ax)


def by_month(folder: Path) -> Any:
    """Draw the months and the ages of the page on derived columns, as `answer.plot()` does."""
    days = [date(2024, 1, 1) + timedelta(days=i * 7 % 366) for i in range(3000)]
    visits = pyarrow.table({"admitted": days, "age": [i % 100 for i in range(3000)]})
    schema = dv.Schema(
        [
            dv.Column("admitted", "date", low="2024-01-01", high="2024-12-31"),
            dv.Column("age", "integer", low=0, high=109),
        ]
    )
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    with dv.Session(
        visits, name="visits", schema=schema, budget=dv.Budget.pure(3), ledger=folder / "visits.ledger"
    ) as session:
        session.histogram("admitted.month", within=20).plot(axes[0])
        session.histogram("FLOOR(age / 10) * 10", within=20).plot(axes[1])
    return figure


def words(folder: Path) -> Any:
    """Draw the words that were found, and how likely a word of n rows is to be found."""
    # The quantiles of the page's Pareto distribution.
    ranks = [int((1 - (i + 0.5) / WORDS) ** (-1 / 0.7)) for i in range(WORDS)]
    table = pyarrow.table({"word": [f"word{rank}" for rank in ranks]})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", width_ratios=(1.3, 1))
    with dv.Session(
        table, name="words", budget=dv.Budget.approximate(2, "1e-6"), ledger=folder / "words.ledger"
    ) as session:
        answer = session.histogram("word", keys="discover", noise=dv.Geometric("0.5"), delta="1e-8")
    least = answer.threshold.least
    values = sorted(answer.table.column("value").to_pylist(), reverse=True)
    left.bar(range(1, len(values) + 1), values, color=BLUE)
    left.set_yscale("log")
    left.axhline(least, color=ORANGE, ls="--")
    left.annotate(f"threshold {least}", (len(values) + 0.7, least * 1.08), color=ORANGE)
    left.set_xlim(0.3, len(values) + 3)
    left.set_ylim(bottom=least / 3)
    left.set_xlabel(f"the {len(values)} words that were found, of {len(set(table['word'].to_pylist()))}")
    left.set_ylabel("noisy count")
    rows = np.arange(61)
    for noise, shown_from, colour in (
        (dv.Geometric(1), 22, BLUE),
        (dv.GeometricMixture("0.25", 1, 5), 25, GREEN),
        (dv.Geometric("0.5"), 42, ORANGE),
    ):
        # A word of no row is never shown; one of n rows if n + Y reaches the threshold.
        right.plot(rows[1:], noise.sf(shown_from - 1 - rows[1:]), color=colour, label=_named(noise))
    right.set_xlabel("rows with this word")
    right.set_ylabel("probability of being found\n(delta = 1e-9)")
    right.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1), ncol=3)
    return _bare(figure, left, right)


def limits(_: Path) -> Any:
    """Draw the answers for 0 and for 2 people, and how many counts a budget pays for."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    noise, k = dv.Geometric(1), np.arange(-6, 9)
    for true, colour, shift in ((0, ORANGE, -0.2), (2, BLUE, 0.2)):
        left.bar(k + shift, noise.pmf(k - true), width=0.4, color=colour, label=f"a cell with {true} people")
    left.set_xlabel("noisy count, epsilon 1")
    left.set_ylabel("probability")
    left.legend(frameon=False, fontsize=9)
    errors = [5, 10, 20, 50, 100]
    counts = [int(1 / dv.design(within=one).loss.epsilon) for one in errors]
    right.bar_label(right.bar([f"±{one}" for one in errors], counts, color=BLUE))
    right.set_xlabel("error of each count, 19 times out of 20")
    right.set_ylabel("counts that epsilon 1\npays for in total")
    return _bare(figure, left, right)


def _named(noise: Any) -> str:
    rates = ", ".join(str(float(rate)) for rate in noise.rates)
    return f"Geometric({rates})" if len(noise.rates) == 1 else f"mixture, rates {rates}"


def _bare(figure: Any, *axes: Any) -> Any:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure


PICTURES: dict[str, Callable[[Path], Any]] = {
    "sql-shares": sql,
    "sql-largest": largest,
    "derived-columns": by_month,
    "unknown-keys": words,
    "limits": limits,
}


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "dovetail"
    for name, draw in PICTURES.items():
        with TemporaryDirectory() as folder:
            draw(Path(folder)).savefig(HERE / f"{name}.svg", metadata={"Date": None})
