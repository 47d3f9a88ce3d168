"""Beyond the paper: all one-way and all two-way marginals of Adult, released together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dovetail as dv

from . import drawing
from .adult import CATEGORICAL, load
from .agreement import mean_chance
from .item import Drawing, Item, ItemResult, StepInputs, table
from .rivals import Guarantee, Rival, rivals

_COLUMNS = (
    "release sense histograms cells mechanism worst_case_epsilon_of_all zeta_of_one_use "
    "total_error total_sampled chance total_clamped largest_error largest_sampled"
)
_GUARANTEES = (None, "1e-6")
_TICKS = (5, 10, 20, 50, 100, 200, 500)


@dataclass(frozen=True, slots=True, eq=False)
class _Marginals:
    """The true counts of all cells of several histograms; cells are the values of the code book."""

    name: str
    histograms: int
    counts: NDArray[np.int64]


def _marginals(ways: int) -> _Marginals:
    adult, schema = load(), dv.datasets.adult().schema
    assert schema is not None
    values = {column.name: column.values for column in schema.columns}
    sizes = [len(values[name]) for name in CATEGORICAL]
    chosen = list(combinations(range(len(CATEGORICAL)), ways))
    counts = []
    for axes in chosen:
        shape = [sizes[axis] for axis in axes]
        joint = np.ravel_multi_index(tuple(adult.codes[list(axes)]), shape)
        # Cells that no record has are released too: that they are empty is private.
        counts.append(np.bincount(joint, minlength=int(np.prod(shape))))
    return _Marginals(("one-way", "two-way")[ways - 1], len(chosen), np.concatenate(counts).astype(np.int64))


def _expected_largest(noise: dv.noise.IntegerNoise, cells: int) -> float:
    """Return the expected largest error over independent cells: the sum of P(largest > t) over t."""
    reach = int(noise.error_bound("1e-12", cells))
    inside = np.asarray(noise.within(np.arange(reach + 1)))
    return float((1 - inside**cells).sum())


def _rows(release: _Marginals, delta: str | None, releases: int) -> list[tuple[Any, ...]]:
    guarantee = Guarantee("1", delta, release.histograms)
    return [_row(release, guarantee, rival, releases) for rival in rivals(guarantee)]


def _row(release: _Marginals, guarantee: Guarantee, rival: Rival, releases: int) -> tuple[Any, ...]:
    cells, noise = len(release.counts), rival.noise
    drawn = np.asarray(noise.sample((releases, cells)))
    errors, clamped = np.abs(drawn), np.abs(np.maximum(drawn, -release.counts))
    sizes = np.arange(int(noise.error_bound("1e-15")) + 1)
    law = np.asarray(noise.pmf(sizes)) * np.where(sizes == 0, 1, 2)
    chance = mean_chance(float(errors.mean()), [(sizes.astype(float), law / law.sum())], errors.size)
    return (
        release.name,
        guarantee.sense,
        release.histograms,
        cells,
        rival.family,
        f"{rival.worst_case:.6g}",
        rival.zeta,
        cells * noise.mean_abs(),
        float(errors.mean()) * cells,
        chance,
        float(clamped.mean()) * cells,
        _expected_largest(noise, cells),
        float(errors.max(axis=1).mean()),
    )


def _make(run: StepInputs) -> ItemResult:
    rows: list[tuple[Any, ...]] = []
    for ways in (1, 2):
        release = _marginals(ways)
        for number, delta in enumerate(_GUARANTEES):
            rows += _rows(release, delta, run.sizes.releases)
            run.advance((2 * ways + number - 1) / 4)
    caption = (
        "Histograms of the eight categorical attributes of Adult, one by one (left) and in pairs (right), "
        "all released together at ε = 1: in the worst case above the grey line, with δ = 1e-6 below it. A "
        "person is in one cell of each histogram, so that k histograms are k uses at sensitivity 1."
    )
    note = (
        "Equal privacy means the same worst-case epsilon, or the same (epsilon, delta), of the whole "
        "release; zeta is that of one histogram. total_error, the sum of |error| over all cells, and "
        "largest_error, the largest of them, are exact expectations; sampled is the mean over "
        f"{run.sizes.releases} releases, total_clamped has negative counts set to zero and is sampled."
    )
    return ItemResult(
        (table("marginals", _COLUMNS, rows),),
        (Drawing("marginals", caption, _draw(rows)),),
        shown=("marginals",),
        note=note,
    )


def _draw(rows: list[tuple[Any, ...]]) -> Any:
    figure, panels = drawing.axes(1, 2, width=11.0, height=4.4, sharey=True)
    labels: list[str] = []
    for panel, release in zip(panels, ("one-way", "two-way"), strict=True):
        chosen = [row for row in rows if row[0] == release]
        labels = [f"{row[4]}  ({_short(row[1])})" for row in chosen]
        for place, row in enumerate(chosen):
            each, largest, colour = row[7] / row[3], row[11], drawing.COLOURS[row[4]]
            panel.plot([each, largest], [place, place], color=colour, linewidth=1)
            panel.plot(each, place, "o", color=colour)
            panel.plot(largest, place, "D", color=colour, markerfacecolor="white")
        panel.axhline(sum("worst" in row[1] for row in chosen) - 0.5, color="#888888", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
        panel.minorticks_off()
        panel.set_xlim(*_limits(chosen))
        panel.set_xlabel("error of a cell (persons); ● expected, ◇ largest of all")
        panel.set_title(f"{release}: {chosen[0][2]} histograms, {chosen[0][3]:,} cells")
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].invert_yaxis()
    return figure


def _limits(chosen: list[tuple[Any, ...]]) -> tuple[float, float]:
    return 0.85 * min(row[7] / row[3] for row in chosen), 1.15 * max(row[11] for row in chosen)


def _short(sense: str) -> str:
    return "worst case" if "worst" in sense else "δ = 1e-6"


ITEMS = (Item("marginals", "Beyond: marginals of Adult", _make, uses=("releases",)),)
