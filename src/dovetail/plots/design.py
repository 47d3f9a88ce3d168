"""Draw a designed noise beside the standard ones, and comparisons of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .sheet import sheet

_COLOURS = ("#1f4e9c", "#d9822b", "#3a8f5c", "#9a3b6b", "#6b6b6b", "#7a5cc7")
_LINES = ("-", "--", ":", "-.")

# Rarer errors are cut off from the picture.
_LEAST_CHANCE = 1e-5


def design(
    *,
    values: ArrayLike,
    pmfs: Mapping[str, ArrayLike],
    breaks: Sequence[int],
    sizes: ArrayLike,
    misses: Mapping[str, ArrayLike],
    epsilons: ArrayLike,
    deltas: Mapping[str, ArrayLike],
    least_delta: float,
    target: tuple[float, float] | None = None,
) -> Any:
    """Draw probabilities with the break-points, the chance of each error size, and delta(epsilon)."""
    figure = sheet(13, 3.8)
    left, middle, right = figure.subplots(1, 3)
    for (name, pmf), style in zip(pmfs.items(), _styles(len(pmfs)), strict=True):
        left.plot(values, pmf, drawstyle="steps-mid", label=name, **style)
    widest = float(np.max(np.abs(np.asarray(values))))
    for number, point in enumerate(point for point in breaks if point <= widest):
        for side in (-point, point):
            label = "break-points" if number == 0 and side < 0 else None
            left.axvline(side, color="#bbbbbb", linewidth=0.7, zorder=0, label=label)
    left.set(xlabel="noise", ylabel="probability", title="What is added to an answer")
    left.set_ylim(bottom=0)
    left.legend(fontsize=8)
    _errors(middle, sizes, misses)
    _chances(right, epsilons, deltas, least=least_delta / 10)
    if target is not None:
        right.plot(*target, "o", color="#b02020", markersize=6, label="the budget", zorder=len(deltas) + 4)
        right.legend(fontsize=8)
    right.set(xlabel="epsilon", ylabel="delta", title="Privacy of all queries together")
    right.set_ylim(least_delta / 10, 1)
    right.grid(alpha=0.3)
    return figure


def comparison(
    sizes: ArrayLike, misses: Mapping[str, ArrayLike], costs: Mapping[str, tuple[float, float]], title: str
) -> Any:
    """Draw the chance of an error above each size, one curve for each noise, and what each costs.

    `costs` holds zeta and the worst-case epsilon, which stand side by side: equal in the one sense is not
    equal in the other.
    """
    figure = sheet(11, 4.2)
    axes, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _errors(axes, sizes, misses)
    axes.set_title(title)
    _costs(right, costs)
    return figure


def _costs(axes: Any, costs: Mapping[str, tuple[float, float]]) -> None:
    """Draw zeta and the worst case of each noise as bars; one without bound is written, not drawn."""
    known = [cost for pair in costs.values() for cost in pair if np.isfinite(cost)]
    top = max(known, default=1.0)
    for place, (zeta, worst) in enumerate(costs.values()):
        for shift, cost, colour in ((-0.2, zeta, _COLOURS[0]), (0.2, worst, _COLOURS[1])):
            drawn = cost if np.isfinite(cost) else 0.0
            axes.barh(place + shift, drawn, height=0.36, color=colour)
            text = f"{cost:.4g}" if np.isfinite(cost) else "without bound"
            axes.annotate(
                text,
                (drawn, place + shift),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    for label, colour in (("zeta (on average)", _COLOURS[0]), ("worst-case epsilon", _COLOURS[1])):
        axes.plot([], [], color=colour, linewidth=6, label=label)
    axes.set_yticks(range(len(costs)), list(costs), parse_math=False)
    axes.invert_yaxis()
    axes.set_xlim(0, top * 1.35)
    axes.set(xlabel="privacy loss of one answer", title="What each costs")
    axes.legend(fontsize=8)


def _errors(axes: Any, sizes: ArrayLike, misses: Mapping[str, ArrayLike]) -> None:
    from matplotlib.ticker import MaxNLocator

    _chances(axes, sizes, misses, least=_LEAST_CHANCE)
    axes.axhline(0.05, color="#bbbbbb", linewidth=0.7, zorder=0)
    axes.text(
        float(np.max(np.asarray(sizes))),
        0.052,
        "1 in 20",
        ha="right",
        va="bottom",
        fontsize=8,
        color="#777777",
    )
    axes.set(xlabel="size of the error", ylabel="chance of a larger error", title="How far answers are off")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    # A caller's names may hold any text: no mathematical notation is read into a dollar sign.
    for text in axes.legend(fontsize=8).get_texts():
        text.set_parse_math(False)


def _chances(axes: Any, places: ArrayLike, curves: Mapping[str, ArrayLike], *, least: float) -> None:
    for (name, curve), style in zip(curves.items(), _styles(len(curves)), strict=True):
        chances = np.asarray(curve, float)
        shown = chances > least
        axes.semilogy(np.asarray(places)[shown], chances[shown], label=name, **style)


def _styles(count: int) -> Iterator[dict[str, Any]]:
    """Yield how each of several curves is drawn; the first, which the picture is about, above the others."""
    for number in range(count):
        yield {
            "color": _COLOURS[number % len(_COLOURS)],
            "linestyle": _LINES[number // len(_COLOURS) % len(_LINES)],
            "zorder": 3 + count - number,
        }
