"""Make the pictures of `docs/noise.md`, `docs/index.md` and the README: `python docs/pictures/noise.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import dovetail as dv

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, GREY = "#2457a6", "#d9822b", "#3a8a5f", "#8a8a8a"
MIXTURE = dv.GeometricMixture("0.2", 1, 5)
SHAPES = (("one piece (geometric)", 1), ("two pieces", 2), ("three pieces", 3), ("eight pieces", 8))
TEN = {"queries": 10, "epsilon": 1, "delta": "1e-6"}


def cover() -> Any:
    """Draw the paper's mixture beside the geometric noise of the same zeta, shaded within ±5."""
    rival = dv.Geometric(dv.privacy_loss(MIXTURE).zeta)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.1), sharey=True, layout="constrained")
    for ax, noise, colour, name in (
        (panels[0], rival, ORANGE, "one piece"),
        (panels[1], MIXTURE, BLUE, "two pieces, joined at ±5"),
    ):
        k = np.arange(-16, 17)
        inside = np.abs(k) <= 5
        ax.bar(k[inside], noise.pmf(k[inside]), width=0.8, color=colour)
        ax.bar(k[~inside], noise.pmf(k[~inside]), width=0.8, color=colour, alpha=0.4)
        loss = dv.privacy_loss(noise)
        ax.set_title(
            f"{name}: {float(noise.within(5)):.0%} of answers within ±5\n"
            f"zeta {loss.zeta:.3f}, worst case {loss.epsilon:.3f}",
            fontsize=11,
        )
        ax.set_xlabel("error of a released count")
        _bare(ax)
    panels[0].set_ylabel("probability")
    return figure


def potentials() -> Any:
    """Draw potentials and probabilities of one, two and eight pieces and a Gaussian, at equal cost."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    eight = dv.design(**TEN).noise
    two = dv.design(**TEN, pieces=2).noise
    gauss = dv.DiscreteGaussian(np.sqrt(_gaussian_variance()))
    k = np.arange(0, 61)
    for noise, name, colour, line in (
        (dv.Geometric("0.1"), "one piece (geometric)", ORANGE, "--"),
        (two, "two pieces", GREEN, "-"),
        (eight, "eight pieces", BLUE, "-"),
        (gauss, "Gaussian", GREY, ":"),
    ):
        drop = noise.log_pmf(0) - noise.log_pmf(k)
        left.plot(k, drop, color=colour, linestyle=line, label=name, linewidth=2)
        both = np.arange(-45, 46)
        right.plot(both, noise.pmf(both), color=colour, linestyle=line, linewidth=2)
    left.set(xlabel="|error|", ylabel="potential  −ln p(k)/p(0)", title="Straight pieces, growing steeper")
    right.set(xlabel="error", ylabel="probability", title="The same noises")
    left.legend(fontsize=9, frameon=False)
    _bare(left), _bare(right)
    return figure


def losses() -> Any:
    """Draw the privacy loss of the mixture answer by answer: small inside the break-point, larger outside."""
    figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
    k = np.arange(-12, 14)
    loss = MIXTURE.log_pmf(k) - MIXTURE.log_pmf(k - 1)
    mass = MIXTURE.pmf(k)
    ax.bar(k, loss, width=0.85, color=[BLUE if abs(x) < 0.5 else ORANGE for x in loss])
    for x, y, p in zip(k, loss, mass, strict=True):
        if p >= 0.01:
            ax.annotate(f"{p:.0%}", (x, y + (0.06 if y > 0 else -0.16)), ha="center", fontsize=7.5)
    ax.axhline(0, color="black", linewidth=0.6)
    ax.set(
        xlabel="released count minus the true one (percentages: how often)",
        ylabel="privacy loss",
        ylim=(-1.3, 1.3),
    )
    _bare(ax)
    return figure


def table() -> str:
    """Return the least variance of each shape for ten counts at a total of (1, 1e-6), as Markdown."""
    lines = ["| noise | variance | worst case of all ten |", "|---|---|---|"]
    for name, pieces in SHAPES:
        found = dv.design(**TEN, pieces=pieces)
        lines.append(f"| {name} | {found.utility.variance:.1f} | {found.total.epsilon:.2f} |")
    lines.append(f"| Gaussian | {_gaussian_variance():.1f} | none |")
    return "\n".join(lines)


def _gaussian_variance() -> float:
    return next(other.value for other in dv.design(**TEN).alternatives if other.name == "Gaussian")


def _bare(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "dovetail"  # the same file every time
    for name, made in (("cover", cover), ("noise-potentials", potentials), ("noise-losses", losses)):
        made().savefig(HERE / f"{name}.svg", metadata={"Date": None})
    sys.stdout.write(table() + "\n")
