"""Figure 10: true counts of random queries on Adult, and how often one record changes an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import drawing
from .adult import Ints, load, random_queries
from .agreement import share_chance
from .claims import Measured
from .clamped import Floats
from .item import Drawing, Item, ItemResult, StepInputs, table

_LOW = 10


def _make(run: StepInputs) -> ItemResult:
    adult = load()
    pairs, sources = random_queries(adult, run.seed, "counts", run.sizes.queries)
    drawn = adult.counts[pairs, sources]
    run.advance(0.4)
    removed = np.repeat(np.arange(adult.records), run.sizes.per_neighbour)
    pairs, sources = random_queries(adult, run.seed, "neighbours", removed.size)
    changed = adult.changes(pairs, sources, removed).reshape(adult.records, -1).mean(axis=1)
    run.advance(0.8)
    values, shares = adult.count_distribution()
    exact = adult.change_probability()
    counted = np.bincount(np.searchsorted(values, drawn), minlength=len(values))
    edges = np.arange(0, 0.3001, 0.01)
    tables = (
        table("fig10_counts", "true_count probability drawn", zip(values, shares, counted, strict=True)),
        table(
            "fig10_records",
            "change_probability_from records_exact records_sampled",
            zip(
                edges[:-1].round(4),
                np.histogram(exact, edges)[0],
                np.histogram(changed, edges)[0],
                strict=True,
            ),
        ),
    )
    caption = (
        f"Left: true counts of random two-attribute queries, exact and for {drawn.size:,} seeded draws. "
        f"Right: how likely the removal of each of the {adult.records:,} records is to change a random "
        f"query, exact and estimated from {run.sizes.per_neighbour} queries a record."
    )
    figure = _draw(values, shares, counted / counted.sum(), exact, changed, run.sizes.per_neighbour)
    measured = {
        **_count_claims(values, shares, drawn),
        **_record_claims(exact, changed, run.sizes.per_neighbour),
    }
    measured["adult-records"] = Measured(adult.records)
    measured["adult-neighbours"] = Measured(adult.records)
    measured["adult-attributes"] = Measured(len(adult.columns) - 1)
    measured["adult-categorical"] = Measured(len(adult.columns) - 1 - adult.integer_columns)
    measured["adult-integers"] = Measured(adult.integer_columns)
    return ItemResult(tables, (Drawing("fig10", caption, figure),), measured)


def _count_claims(values: Ints, shares: Floats, drawn: NDArray[Any]) -> dict[str, Measured]:
    low, sampled = float(shares[values < _LOW].sum()), float((drawn < _LOW).mean())
    # Ten is more than twice the standard deviation of every noise compared here.
    large = float(shares[values > _LOW].sum())
    return {
        "fig10-low-counts": Measured(low, sampled, share_chance(sampled, [low], drawn.size)),
        "fig10-mostly-large": Measured(large, float((drawn > _LOW).mean())),
    }


def _record_claims(exact: Floats, changed: Floats, each: int) -> dict[str, Measured]:
    mean, sampled = float(exact.mean()), float(changed.mean())
    chance = share_chance(sampled, list(exact), each)
    centred = (exact - exact.mean()) / exact.std()
    return {
        "fig10-unchanged": Measured(1 - mean, 1 - sampled, chance),
        "fig12-similar": Measured(1 - mean, 1 - sampled, chance),
        "fig10-mean-change": Measured(mean, sampled, chance),
        "fig10-largest-change": Measured(float(exact.max())),
        "fig10-not-revealed": Measured(1 - float(exact.max())),
        "fig10-skewness": Measured(float((centred**3).mean())),
    }


def _draw(values: Ints, shares: Floats, sampled: Floats, exact: Floats, changed: Floats, each: int) -> Any:
    figure, (left, right) = drawing.axes(1, 2, width=9.2, height=4.0)
    left.plot(values, np.cumsum(shares), color="#0072B2", label="exact")
    some = np.unique(np.searchsorted(values, np.geomspace(1, values[-1], 28)))
    left.plot(
        values[some], np.cumsum(sampled)[some], "o", color="#D55E00", markersize=4, label="drawn queries"
    )
    left.axvline(_LOW, color="#888888", linewidth=0.8, linestyle=(0, (1, 2)))
    left.set_xscale("log")
    left.set_xlabel("true count (persons); grey: 10")
    left.set_ylabel("P(true count ≤ x)")
    left.legend()
    # One bar for each value that an estimate can take, so that no bar is empty by arithmetic.
    estimates, fine = (np.arange(0, 0.35, 1 / each) - 0.5 / each), np.arange(0, 0.31, 0.005)
    for data, bins, style in (
        (changed, estimates, {"color": "#E69F00", "alpha": 0.8, "label": "estimated from queries"}),
        (exact, fine, {"histtype": "step", "color": "#0072B2", "linewidth": 1.6, "label": "exact"}),
    ):
        # Scaled to records per 0.01, whatever the width of the bars.
        weights = np.full(data.size, 0.01 / (bins[1] - bins[0]))
        right.hist(data, bins=bins, weights=weights, **style)
    right.set_xlabel("P(removing the record changes an answer)")
    right.set_ylabel("records per 0.01")
    right.legend()
    return figure


ITEMS = (Item("fig10", "Fig. 10: the Adult data", _make, uses=("queries", "per_neighbour", "seed")),)
