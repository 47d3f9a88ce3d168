"""Figures 4 to 6: the geometric mixture over its two rates, against a geometric mechanism of equal zeta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dovetail as dv

from . import drawing
from .claims import Measured
from .item import Drawing, Item, ItemResult, ItemTable, StepInputs, table

_BREAK = 5
_MOST_OUTER = 3
_METRICS = {
    "fig4": ("mean_abs", "E|Y| (persons)", "expected size of the noise"),
    "fig5": ("log_variance", "ln Var Y (persons², natural log)", "logarithm of the variance"),
    "fig6": ("entropy", "H(Y) (nats)", "entropy"),
}


def _row(inner: Fraction, outer: Fraction) -> tuple[float, ...]:
    mixture = dv.GeometricMixture(inner, outer, _BREAK)
    loss = dv.privacy_loss(mixture)
    standard = dv.Geometric(Fraction(loss.zeta).limit_denominator(10**9))
    figures: list[float] = []
    for noise in (mixture, standard):
        figures += [noise.mean_abs(), log(noise.variance()), noise.entropy()]
    return float(inner), float(outer), loss.zeta, loss.epsilon, *figures


def _compute(run: StepInputs) -> ItemResult:
    """Tabulate both mechanisms on a grid of inner rates in (0, 1] and outer rates up to 3."""
    steps = run.sizes.grid
    inners = [Fraction(i + 1, steps) for i in range(steps)]
    outers = [Fraction(_MOST_OUTER * (j + 1), steps) for j in range(steps)]
    rows = []
    for number, inner in enumerate(inners):
        rows += [_row(inner, outer) for outer in outers if outer >= inner]
        run.advance((number + 1) / steps)
    columns = (
        "inner outer zeta worst_case_epsilon mean_abs log_variance entropy "
        "mean_abs_geometric log_variance_geometric entropy_geometric"
    )
    return ItemResult(
        tables=(table("surfaces", columns, rows),),
        note="zeta and worst-case epsilon at sensitivity 1. The geometric beside each mixture has the "
        "same zeta; its worst-case epsilon is that zeta, the mixture's is the outer rate.",
    )


@dataclass(frozen=True, slots=True)
class _Surface:
    inners: NDArray[np.float64]
    outers: NDArray[np.float64]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]


def _surface(kept: ItemTable, metric: str) -> _Surface:
    inners, outers = sorted(set(kept.column("inner"))), sorted(set(kept.column("outer")))
    value = np.full((len(inners), len(outers)), np.nan)
    gain = value.copy()
    columns = (kept.column(name) for name in ("inner", "outer", metric, f"{metric}_geometric"))
    for inner, outer, ours, standard in zip(*columns, strict=True):
        place = inners.index(inner), outers.index(outer)
        value[place], gain[place] = ours, standard - ours
    return _Surface(np.array(inners), np.array(outers), value, gain)


def _largest_beneficial(surface: _Surface) -> NDArray[np.float64]:
    """Return for each inner rate the outer rate at which the gain ends; NaN where it outlasts the grid."""
    found = []
    for gains in surface.gain:
        ends = np.flatnonzero((gains[:-1] > 0) & (gains[1:] <= 0))
        if not len(ends):
            found.append(np.nan)
            continue
        i = ends[-1]
        share = gains[i] / (gains[i] - gains[i + 1])
        found.append(surface.outers[i] + share * (surface.outers[i + 1] - surface.outers[i]))
    return np.array(found)


def _ever_beneficial(surface: _Surface) -> float:
    """Return the share of inner rates below 1 at which some larger outer rate brings a gain."""
    steeper = surface.outers[None, :] > surface.inners[:, None]
    better = np.asarray(((surface.gain > 0) & steeper).any(axis=1))
    return float(better[surface.inners < 1].mean())


def _draw(name: str, surface: _Surface) -> Drawing:
    _, unit, words = _METRICS[name]
    figure, (left, right) = drawing.axes(1, 2, width=9.2, height=4.0)
    _colour(figure, left, surface, surface.value, "viridis", unit, None)
    most = float(np.nanmax(np.abs(surface.gain)))
    _colour(figure, right, surface, surface.gain, "PuOr", "geometric of equal ζ minus mixture", most)
    right.contour(
        surface.inners, surface.outers, surface.gain.T, levels=[0.0], colors="black", linewidths=1.4
    )
    left.set_title("mixture")
    right.set_title("gain of the mixture (black: none)")
    for panel in (left, right):
        panel.text(0.97, 0.05, "rε < ε", transform=panel.transAxes, ha="right", color="#595959")
    caption = (
        f"{words.capitalize()} of the geometric mixture with break-point {_BREAK} (left), and how much "
        "more a geometric mechanism of equal ζ has (right; above zero the mixture is better). Equal ζ is "
        "not equal worst-case ε: the mixture's worst case is rε, the geometric's is ζ."
    )
    return Drawing(name, caption, figure)


def _colour(
    figure: Any, axes: Any, surface: _Surface, data: Any, palette: str, label: str, most: Any
) -> None:
    limits: dict[str, Any] = {"norm": "log"} if most is None and np.nanmin(data) > 0 else {}
    if most is not None:
        limits = {"vmin": -most, "vmax": most}
    image = axes.pcolormesh(
        surface.inners, surface.outers, data.T, shading="nearest", cmap=palette, rasterized=True, **limits
    )
    figure.colorbar(image, ax=axes, label=label)
    axes.set_xlabel("ε, inside the break-point (per person)")
    axes.set_ylabel("rε, outside (per person)")
    axes.grid(visible=False)


def _figure(name: str) -> Item:
    metric, _, words = _METRICS[name]

    def make(run: StepInputs) -> ItemResult:
        surface = _surface(run.tables["surfaces"], metric)
        ends = _largest_beneficial(surface)
        reached = ends[np.isfinite(ends)]
        measured = {
            f"{name}-benefit-up-to-one": Measured(_ever_beneficial(surface)),
            f"{name}-shrinks": Measured(float(reached[-1] - reached[0])),
        }
        kept = table(
            f"{name}_region", "inner largest_beneficial_outer", zip(surface.inners, ends, strict=True)
        )
        return ItemResult((kept,), (_draw(name, surface),), measured)

    return Item(name, f"Fig. {name[3:]}: {words} of the geometric mixture", make, needs=("surfaces",))


FIGURES = (
    Item("surfaces", "Grid of rates for Figs. 4 to 6", _compute, uses=("grid",)),
    *(_figure(name) for name in _METRICS),
)
