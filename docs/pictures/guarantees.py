"""Make the picture and the table of `docs/guarantees.md`: `python docs/pictures/guarantees.py [file.svg]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import dovetail as dv
from dovetail.noise import PiecewiseGeometric

MIXTURE = dv.GeometricMixture(inner="0.2", outer=1, break_point=5)


def noises() -> dict[str, PiecewiseGeometric]:
    """Return the mixture beside the geometric of equal zeta and the one of equal worst case."""
    zeta = dv.privacy_loss(MIXTURE).zeta
    return {
        "mixture (0.2 inside 5, 1 outside)": MIXTURE,
        f"geometric, equal zeta ({zeta:.3f})": dv.Geometric(zeta),
        "geometric, equal worst case (1)": dv.Geometric(1),
    }


def table() -> str:
    """Return the figures side by side, as Markdown."""
    lines = [
        "| noise | within ±5 | zeta | worst case | epsilon at delta = 1e-6, 100 uses | zeta, 100 uses |",
        "|---|---|---|---|---|---|",
    ]
    for name, noise in noises().items():
        loss = dv.privacy_loss(noise)
        many = loss.compose(100)
        lines.append(
            f"| {name} | {float(noise.within(5)):.1%} | {loss.zeta:.3f} | {loss.epsilon:.3f} "
            f"| {many.epsilon_at('1e-6'):.2f} | {many.zeta:.2f} |"
        )
    return "\n".join(lines)


def picture() -> Any:
    """Draw how likely a loss above t is, and delta(epsilon), for the three noises."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes, epsilons = np.linspace(0, 1.15, 1151), np.linspace(0, 1, 401)[:-1]
    styles = (("tab:blue", "-"), ("tab:orange", "--"), ("tab:green", ":"))
    for (name, noise), (colour, line) in zip(noises().items(), styles, strict=True):
        loss = dv.privacy_loss(noise)
        left.step(
            sizes,
            [loss.tail(float(t)) for t in sizes],
            color=colour,
            linestyle=line,
            label=name,
            where="post",
        )
        left.plot(loss.zeta, 0, marker="^", color=colour, markersize=9, clip_on=False, zorder=5)
        deltas = np.array([loss.delta(float(e)) for e in epsilons])
        right.semilogy(epsilons[deltas > 0], deltas[deltas > 0], color=colour, linestyle=line, label=name)
    left.set(
        xlabel="t",
        ylabel="probability",
        xlim=(0, 1.15),
        ylim=(0, 1.05),
        title="The loss of one answer exceeds t",
    )
    left.annotate("▲ zeta", (0.36, 0.03), fontsize=9)
    right.set(xlabel="epsilon", ylabel="delta", title="One use is (epsilon, delta)-private", ylim=(1e-5, 1))
    right.grid(True, alpha=0.3)
    right.legend(fontsize=9, loc="lower left")
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".svg")
    picture().savefig(target, dpi=110, metadata={"Date": None} if target.suffix == ".svg" else None)
    sys.stdout.write(table() + "\n")
