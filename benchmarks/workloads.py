"""How exact are ranges, marginals and synthetic rows: `python -m benchmarks.workloads`.

Errors are root mean squares in rows. Those of ranges, at pure epsilon 1, are exact, over all ranges alike.
Beside them stand the histogram's, and the least that any Gaussian matrix mechanism can reach at (1, 1e-6) (Li
and Miklau 2013: the sum of the singular values of the workload). Those of marginals come from the planner.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import sqrt

import numpy as np
import pyarrow.parquet as parquet
from scipy.optimize import minimize
from scipy.stats import rankdata

import dovetail as dv
from dovetail.designer.shapes import unit_shapes
from dovetail.noise import IntegerNoise
from dovetail.privacy.normal import normal_sigma
from dovetail.workloads import Candidate, Marginals, best_tree, fitted_joint, plan, synthetic_rows
from dovetail.workloads.tree_shapes import closed_form

from .report import Row, show

TITLE = "Ranges, marginals and synthetic rows"
COLUMNS = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "income")
BUDGET = dv.Budget.approximate(1, "1e-6")
RUNS = {99: 400, 121: 400, 1500: 100, 1_500_000: 3}


def rows() -> Iterator[Row]:
    """Compute and give one row after another."""
    ranges = (
        ("hours", 99, 6.9),
        ("age", 121, 7.3),
        ("fnlwgt in thousands", 1500, 13.6),
        ("fnlwgt", 1_500_000, 37),
    )
    for name, cells, most in ranges:
        yield from _ranges(name, cells, most)
    yield from _marginals()


def _ranges(name: str, cells: int, most: float) -> Iterator[Row]:
    shape = best_tree(cells, lambda levels: dv.Geometric(f"1/{levels}").variance())
    tree, noise = shape.tree, dv.Geometric(f"1/{len(shape.tree.widths)}")
    squares = []
    for _ in range(RUNS[cells]):
        errors = np.cumsum(tree.estimate([np.asarray(noise.sample(blocks)) for blocks in tree.blocks]))
        # The mean over all pairs of prefixes, the empty one included, of their squared difference.
        pairs = (cells + 1) * float(np.sum(errors**2)) - float(np.sum(errors)) ** 2
        squares.append(pairs / (cells * (cells + 1) / 2))
    found, drawn = sqrt(shape.variance), sqrt(float(np.mean(squares)))
    flat = sqrt(closed_form(cells, (1,)) * dv.Geometric(1).variance())
    case = f"all ranges of {name} ({cells:,} values), {tree.widths}"
    yield Row(f"{case}: histogram", f"{found:.4g}", f"{flat:.4g}", flat / found, flat / most)
    yield Row(f"all ranges of {name}: drawn {RUNS[cells]} times", f"{found:.4g}", f"{drawn:.4g}")
    if cells < 10_000:
        least = gaussian_floor(cells)
        case = f"all ranges of {name}: floor of Gaussians at (1, 1e-6)"
        yield Row(case, f"{found:.4g}", f"{least:.4g}", least / found)


def gaussian_floor(cells: int) -> float:
    """Return the least error over all ranges of a linear mechanism with Gaussian noise."""
    place = np.arange(cells)
    gram = (np.minimum.outer(place, place) + 1) * (cells - np.maximum.outer(place, place))
    nuclear = float(np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0))))
    return normal_sigma(1.0, 1e-6, 1) * nuclear / sqrt(cells * cells * (cells + 1) / 2)


@lru_cache
def calibrated(name: str, tables: int) -> IntegerNoise:
    """Return the noise with which so many counts keep the budget."""
    chosen = dv.design(epsilon=1, delta="1e-6", queries=tables)
    others = {other.name: other.noise for other in chosen.alternatives}
    return others.get(name, chosen.noise)


def shapes() -> dict[str, IntegerNoise]:
    """Return wide noises of the shapes that residuals are tried with."""
    many = unit_shapes(16)[0]
    rates, breaks = (part.tolist() for part in (many.rates, many.breaks))
    designed = dv.PiecewiseGeometric(
        [f"{rate / 1000:.9f}" for rate in rates], [round(1000 * b) for b in breaks]
    )
    return {"geometric": dv.Geometric("0.001"), "designed": designed, "Gaussian": dv.DiscreteGaussian(1000)}


@lru_cache
def sizes() -> tuple[int, ...]:
    """Return how many values the columns have."""
    known = {column.name: column.values for column in dv.datasets.adult().schema.columns}
    return tuple(len(known[name]) for name in COLUMNS)


def ranked(tables: tuple[tuple[int, ...], ...]) -> list[Candidate]:
    """Return the planner's candidates at (1, 1e-6)."""
    return plan(Marginals(sizes(), tables), BUDGET, calibrated, shapes())


def _marginals() -> Iterator[Row]:
    pairs = [
        ("28 tables", range(8), 17.7),
        ("3 tables", (5, 6, 7), 3.6),
        ("6 tables", (2, 4, 5, 6), 7.4),
        ("10 tables", (0, 1, 2, 6, 7), 10.7),
    ]
    for name, columns, most in pairs:
        began = time.process_time()
        found = ranked(tuple(combinations(columns, 2)))
        seconds = time.process_time() - began
        plain = next(each for each in found if each.strategy.kind == "plain" and each.noise == "Gaussian")
        best = min((each for each in found if each.certified), key=lambda each: each.typical)
        yield Row(
            f"{name} at (1, 1e-6), {best.strategy.kind} {best.noise}: plain Gaussian",
            f"{best.typical:.4g}",
            f"{plain.typical:.4g}",
            plain.typical / best.typical,
            plain.typical / most,
        )
        worst = (
            f"{name}: worst table of the choice, {found[0].strategy.kind} {found[0].noise}; processor time"
        )
        yield Row(worst, f"{found[0].worst:.4g}", f"{seconds:.1f} s")
        if len(found[0].strategy.wanted.tables) == 28:
            yield from _synthetic(found[0])
    pure = plan(
        Marginals.of_ways(sizes(), 2),
        dv.Budget.pure(1),
        lambda name, tables: dv.Geometric(f"1/{tables}") if name == "geometric" else None,
        {"geometric": dv.Geometric("0.001")},
    )
    plain = next(each for each in pure if each.strategy.kind == "plain")
    yield Row(
        f"28 tables at epsilon 1, {pure[0].strategy.kind}: plain",
        f"{pure[0].typical:.4g}",
        f"{plain.typical:.4g}",
        plain.typical / pure[0].typical,
        plain.typical / 33.0,
    )


def _synthetic(chosen: Candidate) -> Iterator[Row]:
    real = adult_codes()
    noisy = released(chosen, real)
    chosen.strategy.estimate(noisy)
    began = time.perf_counter()
    tables = chosen.strategy.estimate(noisy)
    seconds = time.perf_counter() - began
    yield Row("estimating 28 tables: the limit", f"{1000 * seconds:.1f} ms", "50 ms", 0.05 / seconds, 1.0)
    began = time.process_time()
    made = synthetic_rows(fitted_joint(chosen.strategy, tables), len(real))
    seconds = time.process_time() - began
    for way, most in ((2, 0.016), (3, None)):
        found, bootstrap = (distance(real, other, way) for other in (made, resampled(real)))
        case = f"synthetic rows in {seconds:.0f} s, {way}-way total variation: bootstrap"
        yield Row(
            case, f"{found:.4f}", f"{bootstrap:.4f}", bootstrap / found, bootstrap / most if most else None
        )
    yield _income(chosen, real)


def released(chosen: Candidate, codes: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """Return the noisy numbers of some rows."""
    truth = {table: counted(codes, table) for table in chosen.strategy.wanted.tables}
    pairs = zip(chosen.strategy.numbers(truth).items(), chosen.strategy.noises, strict=True)
    return {columns: numbers + np.asarray(noise.sample(numbers.shape)) for (columns, numbers), noise in pairs}


def _income(chosen: Candidate, real: np.ndarray) -> Row:
    """Train a logistic model of income on synthetic and on real rows; both predict rows that neither saw."""
    shuffled = real[np.random.default_rng(0).permutation(len(real))]
    train, test = shuffled[:26_000], shuffled[26_000:]
    tables = chosen.strategy.estimate(released(chosen, train))
    made = synthetic_rows(fitted_joint(chosen.strategy, tables), len(train))
    ours, theirs = area(made, test), area(train, test)
    return Row(
        "income model on synthetic rows, AUC: on real rows",
        f"{ours:.4f}",
        f"{theirs:.4f}",
        ours / theirs,
        1 - 0.01 / theirs,
    )


def area(train: np.ndarray, test: np.ndarray) -> float:
    """Return the area under the curve of a logistic model of the last column."""

    def features(codes: np.ndarray) -> np.ndarray:
        columns = [np.eye(size)[codes[:, i]] for i, size in enumerate(sizes()[:-1])]
        return np.column_stack([*columns, np.ones(len(codes))])

    x, y = features(train), train[:, -1]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ weights
        gap = 1 / (1 + np.exp(-z)) - y
        value = np.mean(np.logaddexp(0, z) - y * z) + 1e-4 * weights @ weights
        return float(value), x.T @ gap / len(y) + 2e-4 * weights

    weights = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x
    ranks, rich = rankdata(features(test) @ weights), test[:, -1] == 1
    above = float(ranks[rich].sum()) - rich.sum() * (rich.sum() + 1) / 2
    return above / float(rich.sum() * (~rich).sum())


def adult_codes() -> np.ndarray:
    """Return the rows of Adult as value numbers."""
    source = dv.datasets.adult()
    known = {column.name: column.values for column in source.schema.columns}
    table = parquet.read_table(source.data)
    numbers = [{value: i for i, value in enumerate(known[name])} for name in COLUMNS]
    pairs = zip(COLUMNS, numbers, strict=True)
    return np.column_stack([[number[value] for value in table[name].to_pylist()] for name, number in pairs])


def counted(codes: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    """Return the table of some columns."""
    shape = tuple(sizes()[i] for i in columns)
    cells = np.ravel_multi_index(tuple(codes[:, list(columns)].T), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def resampled(codes: np.ndarray) -> np.ndarray:
    """Return as many rows, drawn with replacement."""
    return codes[np.random.default_rng(1).integers(0, len(codes), len(codes))]


def distance(real: np.ndarray, made: np.ndarray, way: int) -> float:
    """Return the mean total variation between tables of `way` columns."""
    found = []
    for columns in combinations(range(len(COLUMNS)), way):
        shares = [counted(codes, columns) / len(codes) for codes in (real, made)]
        found.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
    return float(np.mean(found))


if __name__ == "__main__":
    sys.exit(0 if show(TITLE, rows()) else 1)
