"""Figures 7 to 9: the three utility metrics of the simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import drawing
from .agreement import mean_chance, share_chance
from .claims import Measured
from .clamped import SUPPORT, smallest_bound
from .item import Drawing, Item, ItemResult, StepInputs, table
from .mechanisms import FIVE, SETTINGS, SIX, Mechanism, Setting
from .simulation import ALL_COUNTS, COUNTS, Simulated, simulated

_SMALL = (1, 3)
_LARGE = (10, 50, 200, 1000)
_LEVEL = 0.995
# From 50 on, no noise here takes an answer below zero (chance under 1e-5).
_UNCLAMPED = tuple(count for count in ALL_COUNTS if count >= 50)
_SENSE = "Standard mechanisms at the paper's equal budget have equal ζ, not equal worst-case ε: {}."


def _sense(setting: Setting) -> str:
    standard = f"{setting.published} for the standards, {setting.outer} for the mixtures"
    return _SENSE.format(f"the worst case is {standard}")


def _plot(axes: Any, mechanism: Mechanism, x: Any, exact: Any, sampled: Any, width: float = 0) -> None:
    """Draw what is exact as a line and what was sampled as marks on it."""
    colour, marker = drawing.COLOURS[mechanism.family], drawing.MARKERS[mechanism.family]
    label = f"{mechanism.family}, {mechanism.label}" + (" (relaxed)" if mechanism.role == "relaxed" else "")
    width = width or drawing.line_width(mechanism.family)
    axes.plot(x, exact, color=colour, linestyle=mechanism.linestyle, linewidth=width, label=label)
    hollow = {"markerfacecolor": "white"} if mechanism.role == "relaxed" else {}
    axes.plot(x, sampled, color=colour, linestyle="none", marker=marker, markersize=4.5, **hollow)


def _within(data: Simulated, mechanism: Mechanism, counts: tuple[int, ...], bound: int) -> Measured:
    exact, sampled = data.laws(mechanism, counts)
    observed = float(np.mean([law.within(bound) for law in sampled]))
    shares = [law.within(bound) for law in exact]
    return Measured(float(np.mean(shares)), observed, share_chance(observed, shares, data.samples))


def _figure7(run: StepInputs) -> ItemResult:
    data = simulated(run.tables["simulation"])
    bound = FIVE.break_point
    figure, panels = drawing.axes(1, 2, width=9.2, height=4.0, sharey=True)
    rows = []
    for mechanism in FIVE.all():
        exact, sampled = data.laws(mechanism, COUNTS)
        pairs = [(a.within(bound), b.within(bound)) for a, b in zip(exact, sampled, strict=True)]
        rows += [(mechanism.name, n, bound, *pair) for n, pair in zip(COUNTS, pairs, strict=True)]
        if mechanism.role != "equal":
            panel = panels[0 if "Laplace" in mechanism.family else 1]
            _plot(panel, mechanism, COUNTS, [a for a, _ in pairs], [b for _, b in pairs], width=1.6)
    for panel, title in zip(panels, ("Laplace", "geometric"), strict=True):
        panel.set_xscale("log")
        panel.set_title(title)
        panel.set_xlabel("true count (persons)")
        panel.legend(loc="upper right")
        panel.set_ylim(0.8, 1.02)
    panels[0].set_ylabel(f"P(|error| ≤ {bound})")
    measured = {"simulation-zeros": _zeros(data, FIVE.geometric_mixture())}
    for kind, mixture, standard, relaxed in zip(("geometric", "laplace"), *_triples(FIVE), strict=True):
        for size, counts in (("small", _SMALL), ("large", _LARGE)):
            shares = [_within(data, each, counts, bound) for each in (mixture, standard, relaxed)]
            measured[f"fig7-{size}-{kind}"] = shares[0]
            measured[f"fig7-{size}-gain-{kind}"] = shares[0].minus(shares[1])
            measured[f"fig7-{size}-relaxed-{kind}"] = shares[0].minus(shares[2])
    caption = (
        f"Probability that the error stays within the break-point {bound}, by true count, negative answers "
        f"set to zero. Lines: exact; marks: {data.samples:,} samples each. {_sense(FIVE)}"
    )
    shown = table("fig7", "mechanism count bound exact sampled", rows)
    return ItemResult((shown,), (Drawing("fig7", caption, figure),), measured, ("fig7",))


def _zeros(data: Simulated, mechanism: Mechanism) -> Measured:
    """Return how often a true count of 1 is released as 0."""
    exact, negative = float(mechanism.noise.cdf(-1)), SUPPORT < 0
    drawn = float(data.shares[mechanism.name, 1][negative].sum())
    return Measured(exact, drawn, share_chance(drawn, [exact], data.samples))


def _triples(setting: Setting) -> tuple[tuple[Mechanism, ...], ...]:
    """Return (mixtures, standards at the published budget, relaxed ones), geometric first in each."""
    equal, relaxed = (
        setting.standards(setting.published, "published"),
        setting.standards(setting.relaxed, "relaxed"),
    )
    return setting.mixtures(), equal, relaxed


def _figure8(run: StepInputs) -> ItemResult:
    data = simulated(run.tables["simulation"])
    figure, panels = drawing.axes(1, 2, width=9.2, height=4.2, sharey=True)
    rows, measured = [], {}
    for panel, setting in zip(panels, SETTINGS, strict=True):
        for mechanism in setting.all():
            exact, sampled = data.pooled(mechanism, ALL_COUNTS)
            rows += [(mechanism.name, e, float(exact[e]), float(sampled[e])) for e in range(41)]
            if mechanism.role != "equal":
                _plot(panel, mechanism, range(26), exact[:26], sampled[:26])
        panel.set_xlabel("|error| (persons)")
        panel.axvline(setting.break_point, color="#888888", linewidth=0.8, linestyle=(0, (1, 2)))
        panel.set_title(f"break-point {setting.break_point}")
        panel.legend(loc="lower right", fontsize=7.5)
        measured.update(_figure8_claims(data, setting))
    panels[0].set_ylabel("P(|true − noisy| ≤ error)")
    caption = (
        "CDF of the absolute error over the twelve true counts, negative answers set to zero. Lines: "
        f"exact; marks: {data.samples:,} samples for each count. {_sense(FIVE)} {_sense(SIX)}"
    )
    kept = table("fig8", "mechanism error exact sampled", rows)
    return ItemResult((kept,), (Drawing("fig8", caption, figure),), measured)


def _figure8_claims(data: Simulated, setting: Setting) -> dict[str, Measured]:
    found = {}
    for role, pair in zip(("mixture", "equal", "relaxed"), _triples(setting), strict=True):
        mechanism = pair[0]
        found[f"fig8-{setting.name}-within-{role}"] = _within(
            data, mechanism, ALL_COUNTS, setting.break_point
        )
        for name, counts in (("bound", _UNCLAMPED), ("bound-all", ALL_COUNTS)):
            exact, sampled = data.pooled(mechanism, counts)
            bound, drawn = smallest_bound(exact, _LEVEL), smallest_bound(sampled, _LEVEL)
            # A bound is found from the share of errors within it, so that share is what is compared.
            chance = _within(data, mechanism, counts, bound).chance
            found[f"fig8-{setting.name}-{name}-{role}"] = Measured(bound, drawn, chance)
    mixtures = [_within(data, each, ALL_COUNTS, setting.break_point) for each in setting.mixtures()]
    found[f"fig8-{setting.name}-mixtures-alike"] = mixtures[0].minus(mixtures[1])
    return found


def _beyond(data: Simulated, mechanism: Mechanism, bound: int, count: int) -> Measured:
    exact, sampled = data.exact(mechanism, count), data.sampled(mechanism, count)
    sizes = np.arange(len(exact.shares)) * (np.arange(len(exact.shares)) > bound) / count
    chance = mean_chance(sampled.beyond(bound), [(sizes, exact.shares)], data.samples)
    return Measured(exact.beyond(bound), sampled.beyond(bound), chance)


def _figure9(run: StepInputs) -> ItemResult:
    data = simulated(run.tables["simulation"])
    figure, panels = drawing.axes(1, 2, width=9.2, height=4.2, sharey=True)
    rows = []
    for panel, setting in zip(panels, SETTINGS, strict=True):
        for mechanism in setting.all():
            errors = [_beyond(data, mechanism, setting.break_point, n) for n in COUNTS]
            rows += [
                (mechanism.name, n, setting.break_point, e.exact, e.sampled, e.chance)
                for n, e in zip(COUNTS, errors, strict=True)
            ]
            if mechanism.role != "equal":
                _plot(panel, mechanism, COUNTS, [e.exact for e in errors], [e.sampled for e in errors])
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel("true count (persons)")
        panel.set_title(f"break-point {setting.break_point}")
        panel.legend(loc="lower left", fontsize=7.5)
    panels[0].set_ylabel("E(|error|; |error| > $c_t$) / true count")
    caption = (
        "Weighted mean relative error beyond the break-point, negative answers set to zero. Lines: exact; "
        f"marks: {data.samples:,} samples each. {_sense(FIVE)} {_sense(SIX)}"
    )
    kept = table("fig9", "mechanism count break_point exact sampled chance", rows)
    drawn = Drawing("fig9", caption, figure)
    return ItemResult((kept,), (drawn,), _figure9_claims(data), note=" ".join(map(_equal_note, SETTINGS)))


def _equal_note(setting: Setting) -> str:
    """Say what changes when the Laplace mechanism gets the epsilon that makes zeta truly equal."""
    mixture, published = setting.laplace_mixture(), setting.standards(setting.published, "published")[1]
    equal, bound = setting.truly_equal()[1], setting.break_point
    errors = [Simulated.exact(each, 50).beyond(bound) for each in (mixture, published, equal)]
    return (
        f"Beside the Laplace mixture with break-point {bound}, the Laplace mechanism at the published "
        f"{published.label} has {errors[1] / errors[0]:.2f} times its relative error; at the truly equal ζ, "
        f"{equal.label}, it has {errors[2] / errors[0]:.2f} times (worst-case ε of the mixture: "
        f"{setting.outer})."
    )


def _figure9_claims(data: Simulated) -> dict[str, Measured]:
    found = {}
    for setting in SETTINGS:
        (mixture, _), (standard, _), (relaxed, _) = _triples(setting)
        compared = mixture, standard, relaxed
        error, equal, loose = (_beyond(data, each, setting.break_point, 50) for each in compared)
        found[f"fig9-{setting.name}-factor"] = equal.over(error)
        better, worse = (loose, error) if setting is FIVE else (error, loose)
        found[f"fig9-{setting.name}-relaxed"] = better.over(worse)
        found[f"fig9-{setting.name}-at-ten"] = _beyond(data, mixture, setting.break_point, 10)
        found[f"fig9-{setting.name}-above-ten"] = error
    geometric, laplace = (_beyond(data, each, 5, 50) for each in FIVE.standards(FIVE.relaxed, "relaxed"))
    found["fig9-c5-relaxed-alike"] = laplace.over(geometric)
    five, six = FIVE.geometric_mixture(), SIX.geometric_mixture()
    found["fig9-increase"] = _beyond(data, six, 6, 50).over(_beyond(data, five, 5, 50))
    return found


FIGURES = (
    Item("fig7", "Fig. 7: errors within the break-point", _figure7, needs=("simulation",)),
    Item("fig8", "Fig. 8: CDF of the error", _figure8, needs=("simulation",)),
    Item("fig9", "Fig. 9: mean relative error beyond the break-point", _figure9, needs=("simulation",)),
)
