"""Figures 1 to 3: the densities, distribution functions and probabilities of section III."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

import dovetail as dv

from . import drawing
from .claims import Measured
from .item import Drawing, Item, ItemResult, StepInputs, table

_CUT = "4.5"
_INTEGER_CUT = 5


def _reals() -> list[tuple[str, str, str, Any]]:
    """Return label, family, line and noise; the text's scales, of which the captions misprint one pair."""
    return [
        ("mixture, 1/10 inside, 1 outside", "Laplace mixture", "-", dv.LaplaceMixture("1/10", 1, _CUT)),
        ("mixture, 1 inside, 1/10 outside", "Laplace mixture", ":", dv.LaplaceMixture(1, "1/10", _CUT)),
        ("Laplace, ε = 1/10", "Laplace", "-", dv.Laplace("1/10")),
        ("Laplace, ε = 1", "Laplace", ":", dv.Laplace(1)),
        ("Laplace, ε = 0.2975", "Laplace", "--", dv.Laplace("0.2975")),
    ]


def _integers() -> list[tuple[str, str, str, Any]]:
    cut = _INTEGER_CUT
    return [
        ("mixture, 1/10 inside, 1 outside", "geometric mixture", "-", dv.GeometricMixture("1/10", 1, cut)),
        ("mixture, 1 inside, 1/10 outside", "geometric mixture", ":", dv.GeometricMixture(1, "1/10", cut)),
        ("geometric, ε = 1/10", "geometric", "-", dv.Geometric("1/10")),
        ("geometric, ε = 1", "geometric", ":", dv.Geometric(1)),
        ("geometric, ε = 0.2894", "geometric", "--", dv.Geometric("0.2894")),
    ]


def _curves(
    name: str, caption: str, noises: list[tuple[str, str, str, Any]], method: str, unit: str
) -> ItemResult:
    whole = method == "pmf"
    x = np.arange(-15, 16) if whole else np.linspace(-15, 15, 601)
    figure, axes = drawing.axes(width=6.8, height=4.2)
    columns = [x]
    for label, family, line, noise in noises:
        y = np.asarray(getattr(noise, method)(x))
        columns.append(y)
        marker = drawing.MARKERS[family] if whole else ""
        axes.plot(
            x, y, linestyle=line, color=drawing.COLOURS[family], marker=marker, markersize=3, label=label
        )
    cut = _INTEGER_CUT if whole else float(_CUT)
    for point in (-cut, cut):
        axes.axvline(point, color="#888888", linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_xlabel(f"noise Y (persons); grey: break-points ±{cut:g}")
    axes.set_ylabel(unit)
    axes.set_xlim(-15, 15)
    if method == "cdf":
        axes.set_ylim(-0.02, 1.02)
    axes.legend(loc="upper left" if method == "cdf" else "upper right")
    data = table(
        name, "y " + " ".join(f"curve{i + 1}" for i in range(len(noises))), zip(*columns, strict=True)
    )
    note = (
        "Curves in the table: " + "; ".join(f"{i + 1} {label}" for i, (label, *_) in enumerate(noises)) + "."
    )
    return ItemResult((data,), (Drawing(name, caption, figure),), note=note)


def _figure1(run: StepInputs) -> ItemResult:
    drawn = _curves(
        "fig1",
        "Densities of the Laplace mixtures (break-points ±4.5) and of standard Laplace noise.",
        _reals(),
        "pdf",
        "density (1/person)",
    )
    outside = 1 - dv.LaplaceMixture("1/10", 1, _CUT).within(4.5)
    # What the paper seems to have done: the geometric formula, with the mass outside the break-points.
    made = log(exp(0.1) * (1 - outside) + exp(1) * outside)
    exact_zeta = dv.privacy_loss(dv.LaplaceMixture("1/10", 1, _CUT)).zeta
    measured = {
        "fig1-scale": Measured(1 / 0.2975),
        "fig1-epsilon": Measured(made),
        "fig1-zeta": Measured(exact_zeta),
    }
    return ItemResult(drawn.tables, drawn.drawings, measured, note=drawn.note)


def _figure2(run: StepInputs) -> ItemResult:
    return _curves(
        "fig2",
        "Distribution functions of the Laplace mixtures (break-points ±4.5) and of standard Laplace noise.",
        _reals(),
        "cdf",
        "P(Y ≤ y)",
    )


def _figure3(run: StepInputs) -> ItemResult:
    drawn = _curves(
        "fig3",
        "Probabilities of the geometric mixtures (break-points ±5) and of standard geometric noise.",
        _integers(),
        "pmf",
        "P(Y = y)",
    )
    zeta = dv.privacy_loss(dv.GeometricMixture("1/10", 1, _INTEGER_CUT)).zeta
    return ItemResult(drawn.tables, drawn.drawings, {"fig3-epsilon": Measured(zeta)}, note=drawn.note)


FIGURES = (
    Item("fig1", "Fig. 1: Laplace mixture densities", _figure1),
    Item("fig2", "Fig. 2: Laplace mixture distribution functions", _figure2),
    Item("fig3", "Fig. 3: geometric mixture probabilities", _figure3),
)
