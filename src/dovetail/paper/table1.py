"""Table I: budgets, loss metrics and entropy of the mixtures and of the standard mechanisms beside them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from fractions import Fraction
from importlib.resources import files

import numpy as np

import dovetail as dv

from .claims import Measured
from .item import Item, ItemResult, ItemTable, StepInputs, table

# The paper prints sixths with three digits.
_SIXTHS = {"0.167": "1/6", "0.333": "1/3", "0.667": "2/3", "0.833": "5/6", "1.67": "5/3"}
# With break-point 7 the paper stops after epsilon = 0.2.
_LEFT_OUT = [
    ("7", inner, outer)
    for inner, outers in {"0.25": ("0.5", "1", "1.25", "2.5"), "0.5": ("1", "2", "2.5")}.items()
    for outer in outers
]
_KEYS = ("c_t", "epsilon", "r_epsilon")
_OURS = (
    *("zeta_geom_mix", "zeta_lap_mix", "epsilon_laplace_equivalent"),
    *("eabs_geom_mix", "eabs_lap_mix", "eabs_geom", "eabs_lap"),
    *("var_geom_mix", "var_lap_mix", "var_geom", "var_lap"),
    *("entropy_geom_mix", "entropy_lap_mix", "entropy_geom", "entropy_lap"),
)
_EXTRA = ("zeta_lap_mix_exact", "worst_case_epsilon")

# How far a printed figure may be from ours and still count as the same: half of its last digit, or more where
# the columns were evidently made with coarser arithmetic (absolute, relative).
_SLACK: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("zeta_geom_mix", "zeta_lap_mix"), (0.00051, 0.0)),
    "epsilon_laplace_equivalent": (0.0011, 0.0),
    **dict.fromkeys(("eabs_geom_mix", "eabs_geom", "entropy_geom_mix", "entropy_geom"), (0.0051, 0.0)),
    **dict.fromkeys(("eabs_lap_mix", "eabs_lap", "entropy_lap_mix", "entropy_lap"), (0.011, 0.0)),
    **dict.fromkeys(("var_geom_mix", "var_geom"), (0.0051, 0.0002)),
    **dict.fromkeys(("var_lap_mix", "var_lap"), (0.0051, 0.0018)),
}


def published_rows() -> list[dict[str, str]]:
    """Return the rows of Table I as printed.

    >>> len(published_rows())
    69
    """
    text = files(__package__).joinpath("table1.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def our_row(break_point: str, inner: str, outer: str) -> dict[str, float]:
    """Return our figures for one row; the Laplace columns mean rounded noise, but for the entropy."""
    rates = Fraction(_SIXTHS.get(inner, inner)), Fraction(_SIXTHS.get(outer, outer))
    real = dv.LaplaceMixture(*rates, break_point)
    mixture, rounded = dv.GeometricMixture(*rates, break_point), real.rounded()
    loss = dv.privacy_loss(mixture)
    zeta = dv.privacy.published_zeta(rounded)
    equivalent = dv.privacy.equivalent_epsilon("rounded_laplace", zeta)
    geometric = dv.Geometric(Fraction(loss.zeta).limit_denominator(10**9))
    laplace = dv.Laplace(Fraction(equivalent).limit_denominator(10**9))
    noises = (mixture, rounded, geometric, laplace.rounded())
    figures = [
        loss.zeta,
        zeta,
        equivalent,
        *(noise.mean_abs() for noise in noises),
        *(noise.variance() for noise in noises),
        *(noise.entropy() for noise in (mixture, real, geometric, laplace)),
        dv.privacy_loss(rounded).zeta,
        loss.epsilon,
    ]
    return dict(zip((*_OURS, *_EXTRA), figures, strict=True))


def _make(run: StepInputs) -> ItemResult:
    printed = published_rows()
    rows: list[tuple[dict[str, str], dict[str, float]]] = []
    for number, row in enumerate(printed + [dict(zip(_KEYS, keys, strict=True)) for keys in _LEFT_OUT]):
        rows.append((row, our_row(*(row[key] for key in _KEYS))))
        run.advance((number + 1) / (len(printed) + len(_LEFT_OUT)))
    agreement = list(_agreement(rows))
    measured = {f"table1-{name}": Measured(float(same)) for name, _, same, _ in agreement}
    return ItemResult(
        tables=(
            _whole(rows),
            table("table1_agreement", "column rows agreeing largest_difference", agreement),
        ),
        measured={**measured, **_prose([ours for _, ours in rows], [row for row, _ in rows])},
        shown=("table1_agreement", "table1"),
        note="zeta is an average over outcomes; worst_case_epsilon is the pure guarantee of both "
        "mixtures. The published zeta of the Laplace mixture ignores that the loss moves between the two "
        "rates at the break-point; zeta_lap_mix_exact is the sum over the rounded noise. Rows without "
        "published values are those that the paper leaves out at break-point 7.",
    )


def _whole(rows: Iterable[tuple[dict[str, str], dict[str, float]]]) -> ItemTable:
    columns = [*_KEYS, *(f"{name}{suffix}" for name in _OURS for suffix in ("", "_published")), *_EXTRA]
    listed = []
    for row, ours in rows:
        figures = [cell for name in _OURS for cell in (round(ours[name], 5), row.get(name, ""))]
        listed.append([*(row[key] for key in _KEYS), *figures, *(round(ours[name], 5) for name in _EXTRA)])
    return table("table1", " ".join(columns), listed)


def _agreement(rows: list[tuple[dict[str, str], dict[str, float]]]) -> Iterable[tuple[str, int, int, float]]:
    for name in _OURS:
        pairs = np.array([(ours[name], float(row[name])) for row, ours in rows if name in row])
        gaps = np.abs(pairs[:, 0] - pairs[:, 1])
        absolute, relative = _SLACK[name]
        same = int((gaps <= absolute + relative * pairs[:, 1]).sum())
        yield name, len(pairs), same, float(gaps.max())


def _prose(ours: list[dict[str, float]], rows: list[dict[str, str]]) -> dict[str, Measured]:
    """Return our figures for what the text says about the table."""
    example = next(o for o, r in zip(ours, rows, strict=True) if [r[k] for k in _KEYS] == ["5", "0.2", "1"])
    modest = [o for o, r in zip(ours, rows, strict=True) if float(r["r_epsilon"]) < 2]

    def share(among: list[dict[str, float]], holds: Callable[[dict[str, float]], bool]) -> Measured:
        return Measured(sum(holds(row) for row in among) / len(among))

    def gains(row: dict[str, float], metric: str, kind: str) -> float:
        return row[f"{metric}_{kind}"] / row[f"{metric}_{kind}_mix"]

    metrics, kinds = ("eabs", "var", "entropy"), ("geom", "lap")
    return {
        "table1-benefit": share(modest, lambda r: all(gains(r, m, k) > 1 for m in metrics for k in kinds)),
        "table1-half-variance": share(ours, lambda r: gains(r, "var", "geom") > 2),
        "table1-variance-gains-most": share(
            [r for r in modest if gains(r, "var", "geom") > 1],
            lambda r: gains(r, "var", "geom") > max(gains(r, "eabs", "geom"), gains(r, "entropy", "geom")),
        ),
        "table1-zeta-geometric": Measured(example["zeta_geom_mix"]),
        "table1-zeta-laplace": Measured(example["zeta_lap_mix"]),
        "table1-noise-geometric": Measured(example["eabs_geom"] - example["eabs_geom_mix"]),
        "table1-noise-laplace": Measured(example["eabs_lap"] - example["eabs_lap_mix"]),
        "table1-variance-geometric": Measured(gains(example, "var", "geom")),
        "table1-variance-laplace": Measured(gains(example, "var", "lap")),
        "table1-entropy-geometric": Measured(1 - 1 / gains(example, "entropy", "geom")),
        "table1-entropy-laplace": Measured(1 - 1 / gains(example, "entropy", "lap")),
        "lemma-bounded": share(
            ours, lambda r: max(r["zeta_geom_mix"], r["zeta_lap_mix_exact"]) <= r["worst_case_epsilon"]
        ),
        "zeta-between": share(ours, lambda r: r["zeta_lap_mix"] >= _inner(r, ours, rows)),
    }


def _inner(row: dict[str, float], ours: list[dict[str, float]], rows: list[dict[str, str]]) -> float:
    keys = next(r for o, r in zip(ours, rows, strict=True) if o is row)
    return float(Fraction(_SIXTHS.get(keys["epsilon"], keys["epsilon"])))


TABLE = Item("table1", "Table I", _make)
