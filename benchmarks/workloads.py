"""How exact are ranges, marginals and synthetic rows: `python -m benchmarks.workloads`.

Errors are root mean squares in rows. Those of ranges, at pure epsilon 1, are exact, over all ranges alike.
Beside them stand the histogram's, and the least that any Gaussian matrix mechanism can reach at (1, 1e-6) (Li
and Miklau 2013: the sum of the singular values of the workload). Those of marginals are what a quote says.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import combinations
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow
import pyarrow.parquet as parquet
from scipy.optimize import minimize
from scipy.stats import rankdata

import dovetail as dv
from dovetail.privacy.normal import normal_sigma
from dovetail.query.measures import Way
from dovetail.workloads import best_tree
from dovetail.workloads.tree_shapes import closed_form

from .report import Row, show

TITLE = "Ranges, marginals and synthetic rows"
COLUMNS = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "income")
BUDGET = dv.Budget.approximate(1, "1e-6")
WHOLE = dv.Budget.approximate(3, "1e-5")
DRAWS = 20_000
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
def sizes() -> tuple[int, ...]:
    """Return how many values the columns have."""
    known = {column.name: column.values for column in dv.datasets.adult().schema.columns}
    return tuple(len(known[name]) for name in COLUMNS)


@contextmanager
def opened(data: object = None) -> Iterator[dv.Session]:
    """Open a session on Adult, or on some of its rows, with a ledger that is thrown away."""
    with TemporaryDirectory() as folder:
        source = dv.datasets.adult()
        given = source if data is None else dv.Source.of(data, name="rows", schema=source.schema)
        with dv.Session(given, budget=WHOLE, ledger=Path(folder) / "adult.ledger") as session:
            yield session


def typical(way: Way) -> float:
    """Return the root of the mean variance over tables."""
    return sqrt(float(np.mean([error**2 for error in way.errors.values()])))


def _marginals() -> Iterator[Row]:
    pairs = [
        ("28 tables", range(8), 17.7),
        ("3 tables", (5, 6, 7), 3.6),
        ("6 tables", (2, 4, 5, 6), 7.4),
        ("10 tables", (0, 1, 2, 6, 7), 10.7),
    ]
    with opened() as session:
        for name, columns, most in pairs:
            began = time.process_time()
            quote = session.quote(dv.Marginals(*(COLUMNS[i] for i in columns)), spend=BUDGET)
            seconds = time.process_time() - began
            ways = quote.asked[0].ways
            plain = next(way for way in ways if way.name == "plain, Gaussian")
            best = min((way for way in ways if way.certified), key=typical)
            case = f"{name} at (1, 1e-6), {best.name}: plain Gaussian"
            found, other = typical(best), typical(plain)
            yield Row(case, f"{found:.4g}", f"{other:.4g}", other / found, other / most)
            case = f"{name}: quote the first time, processor time: the limit"
            yield Row(case, f"{seconds:.1f} s", "3 s", 3 / seconds, 1.0)
            if len(columns) == 8:
                yield _simulated(ways[0])
        pure = session.quote(dv.Marginals(*COLUMNS), spend=dv.Budget.pure(1)).asked[0].ways
        plain = next(way for way in pure if way.name.startswith("plain"))
        found, other = typical(pure[0]), typical(plain)
        case = f"28 tables at epsilon 1, {pure[0].name}: plain"
        yield Row(case, f"{found:.4g}", f"{other:.4g}", other / found, other / 33.0)
        yield from _synthetic(session.marginals(*COLUMNS, spend=BUDGET))
    yield _income()


def _simulated(way: Way) -> Row:
    """Compare the planner's prediction of the worst table with draws of the noise of its residuals.

    With so many draws the root mean square errs by about half a per cent.
    """
    strategy = way.measure.measured(way.noises)
    wanted = strategy.wanted
    predicted, table = max(zip(way.errors.values(), wanted.tables, strict=True))
    errors = np.zeros((DRAWS, *wanted.shape(table)))
    for columns, noise in zip(strategy.measured, strategy.noises, strict=True):
        if not set(columns) <= set(table):
            continue
        drawn = np.asarray(noise.sample((DRAWS, *wanted.shape(columns))), np.float64)
        for axis in range(1, drawn.ndim):
            drawn -= drawn.mean(axis=axis, keepdims=True)
        spread = [wanted.sizes[i] if i in columns else 1 for i in table]
        # A residual is released as many times as its table has cells, and spread over the other columns.
        errors += drawn.reshape(DRAWS, *spread) / wanted.cells(table)
    found = sqrt(float(np.mean(errors**2)))
    case = f"28 tables: worst table, predicted: drawn {DRAWS:,} times"
    near = min(found / predicted, predicted / found)
    return Row(case, f"{predicted:.4g}", f"{found:.4g}", near, 0.97)


def _synthetic(answer: dv.MarginalsAnswer) -> Iterator[Row]:
    real = adult_codes()
    measure, given = answer.query.measure, (answer.cells[0], answer.noises)
    measure.tables_of(*given)
    began = time.perf_counter()
    measure.tables_of(*given)
    seconds = time.perf_counter() - began
    yield Row("estimating 28 tables: the limit", f"{1000 * seconds:.1f} ms", "50 ms", 0.05 / seconds, 1.0)
    began = time.process_time()
    made = codes(answer.synthetic(len(real)))
    seconds = time.process_time() - began
    for way, most in ((2, 0.016), (3, None)):
        found, bootstrap = (distance(real, other, way) for other in (made, resampled(real)))
        case = f"synthetic rows in {seconds:.0f} s, {way}-way total variation: bootstrap"
        yield Row(
            case, f"{found:.4f}", f"{bootstrap:.4f}", bootstrap / found, bootstrap / most if most else None
        )


def _income() -> Row:
    """Train a logistic model of income on synthetic and on real rows; both predict rows that neither saw."""
    table = parquet.read_table(dv.datasets.adult().data)
    order = np.random.default_rng(0).permutation(len(table))
    train, test = table.take(order[:26_000]), table.take(order[26_000:])
    with opened(train) as session:
        made = session.marginals(*COLUMNS, spend=BUDGET).synthetic(len(train))
    ours, theirs = (area(codes(rows), codes(test)) for rows in (made, train))
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
    return codes(parquet.read_table(dv.datasets.adult().data))


def codes(table: pyarrow.Table) -> np.ndarray:
    """Return rows as value numbers."""
    known = {column.name: column.values for column in dv.datasets.adult().schema.columns}
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
