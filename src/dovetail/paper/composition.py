"""Beyond the paper: the same comparison where privacy is equal in the worst case, or as (epsilon, delta)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import drawing
from .item import Drawing, Item, ItemResult, StepInputs, table
from .rivals import Guarantee, Rival, rivals

USES = (1, 10, 100)
_EPSILON = "1"
_DELTA = "1e-6"


def _row(guarantee: Guarantee, rival: Rival, geometric: Rival) -> tuple[Any, ...]:
    noise = rival.noise
    bound = geometric.noise.quantile_abs("0.95")
    return (
        guarantee.uses,
        guarantee.epsilon,
        guarantee.delta or "0",
        rival.family,
        f"{rival.worst_case:.6g}",
        rival.zeta,
        noise.mean_abs(),
        noise.variance(),
        noise.variance() / geometric.noise.variance(),
        int(noise.quantile_abs("0.95")),
        int(bound),
        float(noise.within(bound)),
        repr(noise),
    )


_COLUMNS = (
    "uses epsilon delta mechanism worst_case_epsilon_of_all zeta_of_one_use mean_abs variance "
    "variance_over_geometric error_bound_95 geometric_bound within_geometric_bound noise"
)


def _item(name: str, title: str, delta: str | None) -> Item:
    def make(run: StepInputs) -> ItemResult:
        rows: list[tuple[Any, ...]] = []
        figure, panels = drawing.axes(1, len(USES), width=12.0, height=4.2, sharey=True)
        for number, (uses, panel) in enumerate(zip(USES, panels, strict=True)):
            guarantee = Guarantee(_EPSILON, delta, uses)
            others = rivals(guarantee)
            rows += [_row(guarantee, rival, others[0]) for rival in others]
            _draw(panel, guarantee, others)
            run.advance((number + 1) / len(USES))
        panels[0].set_ylabel("P(|error| ≤ x)")
        kept = table(name, _COLUMNS, rows)
        return ItemResult(
            (kept,), (Drawing(name, _caption(delta), figure),), shown=(name,), note=_NOTES[name]
        )

    return Item(name, title, make)


def _caption(delta: str | None) -> str:
    if delta is None:
        return (
            "CDF of the error of one answer when k answers together have a worst case of ε = 1. The "
            "discrete Gaussian has no worst case and is missing. No noise on the integers errs less "
            "at a given worst case than the geometric mechanism, and the designer returns it."
        )
    return (
        f"CDF of the error of one answer when k answers together are (1, {delta})-differentially private, "
        "composed exactly. The mixture is the paper's {5, 1/5, 1}, stretched; “two pieces” and “designed” "
        "have the least variance that the designer finds with up to two and up to eight pieces."
    )


_NOTES = {
    "equal_epsilon": "Equal privacy here means equal worst-case epsilon of all uses together. zeta "
    "is that of one use.",
    "equal_delta": "Equal privacy here means the same (epsilon, delta) of all uses together. The worst "
    "case of all uses stands beside it: the Gaussian has none. zeta is that of one use.",
}


def _draw(panel: Any, guarantee: Guarantee, found: tuple[Rival, ...]) -> None:
    furthest = max(float(rival.noise.quantile_abs("0.999")) for rival in found)
    errors = np.unique(np.linspace(0, furthest, 60).astype(int))
    for rival in found:
        style = drawing.line_style(rival.family, markevery=max(1, len(errors) // 12), markersize=4)
        label = f"{rival.family}: std {rival.noise.std():.3g}"
        dashed = {"designed": (0, (4, 2)), "two pieces": (0, (1, 1))}.get(rival.family, "-")
        width = 3.0 if rival.family == "geometric" else 1.5
        panel.plot(
            errors, rival.noise.within(errors), **style, linestyle=dashed, linewidth=width, label=label
        )
    panel.set_title(f"k = {guarantee.uses}")
    panel.set_xlabel("|error| of one answer (persons)")
    panel.legend(loc="lower right")


ITEMS = (
    _item("equal_epsilon", "Beyond: equal worst-case ε", None),
    _item("equal_delta", "Beyond: equal (ε, δ)", _DELTA),
)
