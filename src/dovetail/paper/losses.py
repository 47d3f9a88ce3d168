"""Figure 12: the privacy loss between neighbouring databases, estimated as in the paper, and exact."""

from __future__ import annotations

from typing import Any

import numpy as np

import dovetail as dv

from . import drawing
from .adult import load, random_queries
from .claims import Measured
from .clamped import REACH, SUPPORT, Floats, noise_shares, summed
from .item import Drawing, Item, ItemResult, StepInputs, table
from .mechanisms import FIVE, Mechanism, geometric, laplace
from .simulation import noise_histogram

# From here on the chance of a negative answer is below 1e-11.
_NEVER_CLAMPED = 80
_NOTE = (
    "The paper's figure for equal counts is the error of its estimate: with N samples a side it is about "
    "sqrt(4/(πN)) times the sum of the square roots of the probabilities, whatever the mechanism."
)


def _mechanisms() -> tuple[Mechanism, ...]:
    return (*FIVE.mixtures(), geometric("0.328", "published"), laplace("0.332", "published"))


def _outputs(shares: Floats, count: int) -> Floats:
    """Return the law of the released count, negative answers set to zero, from 0 to 2·REACH + 1."""
    start = min(count, REACH + 1)
    released = np.maximum(SUPPORT + start, 0)
    return summed(released, shares, 2 * REACH + 2)


def estimated_zeta(first: Floats, second: Floats) -> float:
    """Return ln of the mean of exp|L| from two histograms; outcomes missing in either are left out.

    >>> estimated_zeta(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    0.0
    """
    seen = (first > 0) & (second > 0)
    p, q = first[seen], second[seen]
    return float(np.log(np.maximum(q, p * p / q).sum() / p.sum()))


def _estimate(mechanism: Mechanism, count: int, removed: int, draws: int) -> float:
    laws = [_outputs(noise_histogram(mechanism.noise, draws) / draws, n) for n in (count, count - removed)]
    # Shifting by the same start keeps large counts within the table.
    if count > REACH + 1:
        laws[1] = np.roll(laws[1], -removed)
    return estimated_zeta(*laws)


def clamped_zeta(noise: dv.noise.IntegerNoise, count: int) -> float:
    """Return the exact zeta between the counts `count` and `count - 1`, negative answers set to zero.

    >>> round(clamped_zeta(dv.Geometric("0.3"), 1), 6) <= 0.3
    True
    """
    if count > _NEVER_CLAMPED:
        return dv.privacy_loss(noise).zeta
    laws = [_outputs(noise_shares(noise), n)[: 2 * _NEVER_CLAMPED + 2] for n in (count, count - 1)]
    first, second = ((law / law.sum()).tolist() for law in laws)
    return dv.PrivacyLoss.from_pmfs(first, second).zeta


def _make(run: StepInputs) -> ItemResult:
    adult = load()
    counts = adult.counts[random_queries(adult, run.seed, "losses", run.sizes.loss_queries)].tolist()
    rows = []
    for number, mechanism in enumerate(_mechanisms()):
        worst = dv.privacy_loss(mechanism.noise).epsilon
        for removed in (0, 1):
            for count in counts:
                estimate = _estimate(mechanism, count, removed, run.sizes.loss_samples)
                rows.append(
                    (
                        mechanism.name,
                        removed,
                        count,
                        estimate,
                        clamped_zeta(mechanism.noise, count) if removed else 0.0,
                        worst,
                    )
                )
        run.advance((number + 1) / 4)
    kept = table("fig12", "mechanism removed true_count estimated_zeta exact_zeta worst_case_epsilon", rows)
    caption = (
        f"General privacy loss ζ of {len(counts)} random queries between neighbouring databases that give "
        f"the same count (left) and different counts (right), estimated from {run.sizes.loss_samples:,} "
        "samples of each (marks) and exact (lines). Left, the truth is 0 and the marks show sampling "
        "error alone. ζ is an average: the worst case is ε = 1 for both mixtures, 0.328 for the "
        "geometric, 0.332 for the Laplace."
    )
    return ItemResult((kept,), (Drawing("fig12", caption, _draw(rows)),), _claims(rows), note=_NOTE)


def _claims(rows: list[tuple[Any, ...]]) -> dict[str, Measured]:
    names = [mechanism.name for mechanism in _mechanisms()]

    def figures(removed: int, name: str, column: int) -> list[float]:
        return [row[column] for row in rows if row[1] == removed and row[0] == name]

    same = [estimate for name in names for estimate in figures(0, name, 3)]
    zetas = [dv.privacy_loss(mechanism.noise).zeta for mechanism in _mechanisms()]
    sampled = [float(np.median(figures(1, name, 3))) for name in names]
    return {
        "fig12-same": Measured(0.0, max(same)),
        "fig12-different-mixture": Measured(zetas[0], sampled[0]),
        "fig12-different-geometric": Measured(zetas[2], sampled[2]),
        "fig12-different-laplace": Measured(zetas[3], sampled[3]),
        "fig12-follow-geometric": Measured(zetas[0] - zetas[2], sampled[0] - sampled[2]),
        "fig12-follow-laplace": Measured(zetas[1] - zetas[3], sampled[1] - sampled[3]),
        "fig12-worst-case": Measured(dv.privacy_loss(FIVE.geometric_mixture().noise).epsilon),
    }


def _draw(rows: list[tuple[Any, ...]]) -> Any:
    figure, panels = drawing.axes(1, 2, width=9.2, height=4.2)
    for removed, panel in enumerate(panels):
        for mechanism in _mechanisms():
            chosen = [row for row in rows if row[1] == removed and row[0] == mechanism.name]
            chosen.sort(key=lambda row: row[2])
            counts = [max(row[2], 1) for row in chosen]
            style = drawing.line_style(mechanism.family, linestyle="none", markersize=4)
            label = f"{mechanism.name}: worst case {chosen[0][5]:g}"
            panel.plot(counts, [row[3] for row in chosen], **style, label=label)
            exact = {"color": drawing.COLOURS[mechanism.family], "linestyle": mechanism.linestyle}
            panel.plot(counts, [row[4] for row in chosen], linewidth=1, **exact)
        panel.set_xscale("log")
        panel.set_xlabel("true count (persons)")
        panel.set_ylabel("ζ, an average (nats)")
        panel.set_title(("same count", "counts differ by one")[removed])
        panel.set_ylim(*_limits(panel, removed))
        panel.legend(fontsize=7.5, loc="upper left" if removed == 0 else "lower left")
    return figure


def _limits(panel: Any, removed: int) -> tuple[float, float]:
    """Leave room for the legend above the estimates of zero, below those of the budget."""
    low, high = panel.get_ylim()
    return (-0.03 * high, 1.45 * high) if removed == 0 else (low - 0.4 * (high - low), high)


ITEMS = (
    Item("fig12", "Fig. 12: privacy loss on Adult", _make, uses=("loss_queries", "loss_samples", "seed")),
)
