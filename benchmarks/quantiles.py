"""How near are medians to the true one, beside others: `python -m benchmarks.quantiles`.

Rows are values from 0 to 1,499 with one steep hump, as incomes have it. An error is a rank: how many rows lie
between the value given and the median, as a mean over runs. Ours is a tree, which also answers every other
quantile and every range, and comes with an interval; its width is a mean too. Theirs are one draw of an
exponential mechanism for this one median, without an interval: OpenDP over these 1,500 values, diffprivlib
over the reals. `workloads.QuantileChoice` is that mechanism drawn exactly: it shows where a tree is weak.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet as parquet
from numpy.typing import NDArray

import dovetail as dv
from dovetail.noise import Geometric
from dovetail.workloads import QuantileChoice, RangeEstimates, best_tree

from .report import Row, show

TITLE = "Medians"
VALUES = 1500
SIZES = (1_000, 32_561, 10**6)
PRICES = ("0.1", "1")
RUNS = 40
# Rows times epsilon from where one draw of an exponential mechanism is better to where a tree does as well.
SMALL = (10, 30, 100, 300, 1_000, 3_000)
HALF = Fraction(1, 2)


def rows() -> Iterator[Row]:
    """Compute and give one row after another."""
    for size in SIZES:
        for price in PRICES:
            yield from _medians(size, price)
    for product in SMALL:
        tree, choice = (rank_error(each, 1000, product / 1000) for each in (tree_median, chosen_median))
        yield Row(
            f"1,000 rows, rows x epsilon {product}: exponential mechanism", f"{tree:.3g}", f"{choice:.3g}"
        )
    yield from _speed()


def _medians(size: int, price: str) -> Iterator[Row]:
    errors, widths = [], []
    for _ in range(RUNS):
        point, low, high = tree_interval(size, float(price))
        errors.append(rank(size, point))
        widths.append(high - low)
    ours = float(np.mean(errors))
    case = f"{size:,} rows, epsilon {price}"
    yield Row(
        f"{case}: rank error of ours, width of its interval", f"{ours:.3g}", f"{np.mean(widths):.3g} values"
    )
    for name, asked in (("OpenDP", opendp_median), ("diffprivlib", diffprivlib_median)):
        theirs = rank_error(asked, size, float(price))
        yield Row(f"{case}: rank error, {name}", f"{ours:.3g}", f"{theirs:.3g}")


@lru_cache
def sample(size: int) -> NDArray[np.int64]:
    """Return the rows: the same whenever asked."""
    drawn = np.random.default_rng(size).lognormal(5.3, 0.6, size)
    return np.clip(drawn, 0, VALUES - 1).astype(np.int64)


@lru_cache
def counts(size: int) -> NDArray[np.int64]:
    """Return how many rows have each value."""
    return np.bincount(sample(size), minlength=VALUES)


@lru_cache
def ordered(size: int) -> NDArray[np.int64]:
    """Return the rows from the least to the largest."""
    return np.sort(sample(size))


def rank(size: int, value: float) -> int:
    """Return how many rows lie between a value and the median: 0 for the median itself."""
    below, upto = (int(np.searchsorted(ordered(size), value, side=side)) for side in ("left", "right"))
    half = (size + 1) // 2
    return max(below + 1 - half, half - upto, 0)


def rank_error(asked: Callable[[int, float], float], size: int, epsilon: float) -> float:
    """Return the mean rank error of a way to ask for the median."""
    return float(np.mean([rank(size, asked(size, epsilon)) for _ in range(RUNS)]))


def tree_interval(size: int, epsilon: float) -> tuple[float, int, int]:
    """Return a median of ours with its interval at 95 %."""
    tree, noise = _tree(str(epsilon))
    noisy = [level + np.asarray(noise.sample(len(level))) for level in tree.counts(counts(size))]
    found = RangeEstimates(tree, noise, noisy).quantile(HALF, "0.05")
    return found.point, found.low, found.high


def tree_median(size: int, epsilon: float) -> float:
    """Return a median of ours."""
    return tree_interval(size, epsilon)[0]


@lru_cache
def _tree(epsilon: str) -> tuple[Any, Any]:
    """Return the tree and the noise that a session would choose."""
    price = Fraction(epsilon)
    shape = best_tree(VALUES, lambda levels: Geometric(price / levels).variance())
    return shape.tree, Geometric(price / len(shape.tree.widths))


def chosen_median(size: int, epsilon: float) -> float:
    """Return one draw of the exponential mechanism."""
    return QuantileChoice(HALF, str(epsilon)).draw(counts(size))


def opendp_median(size: int, epsilon: float) -> float:
    """Return OpenDP's: a report-noisy-max over the same values."""
    return float(_opendp(epsilon)(sample(size).tolist()))


@lru_cache
def _opendp(epsilon: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    asked = dp.max_divergence(), list(range(VALUES)), 0.5
    return dp.binary_search_chain(
        lambda scale: dp.m.make_private_quantile(*space, *asked, scale), d_in=1, d_out=epsilon, T=float
    )


def diffprivlib_median(size: int, epsilon: float) -> float:
    """Return diffprivlib's, a real number between the bounds, rounded to the nearest value."""
    import warnings

    from diffprivlib.tools import median

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return round(float(median(sample(size), epsilon=epsilon, bounds=(0, VALUES - 1))))


def _speed() -> Iterator[Row]:
    """Quantiles of ten million rows beside the bare histogram, in processor time: both use both cores."""
    import duckdb

    with TemporaryDirectory() as folder:
        place = Path(folder)
        parquet.write_table(pyarrow.table({"x": sample(10**7)}), place / "rows.parquet")
        bare = duckdb.connect()
        text = f"SELECT x, COUNT(*) FROM '{place / 'rows.parquet'}' GROUP BY x"
        with dv.Session(
            place / "rows.parquet", budget=dv.Budget.pure(1000), ledger=place / "rows.ledger", protects="rows"
        ) as session:

            def ours() -> None:
                session.quantiles(
                    "x",
                    [0.25, 0.5, 0.75],
                    low=0,
                    high=VALUES - 1,
                    step=1,
                    spend=dv.Budget.pure(1),
                    fresh=True,
                )

            seconds = {"ours": [], "bare": []}
            for _ in range(9):
                for name, work in (("ours", ours), ("bare", lambda: bare.execute(text).fetchall())):
                    begin = time.process_time()
                    work()
                    seconds[name].append(time.process_time() - begin)
        mine, theirs = (float(np.median(seconds[name][1:])) for name in ("ours", "bare"))
        shown = f"{mine * 1e3:.0f} ms", f"{theirs * 1e3:.0f} ms"
        yield Row("quartiles of 10,000,000 rows, the bare histogram", *shown, theirs / mine, 1 / 1.5)


if __name__ == "__main__":
    sys.exit(0 if show(TITLE, rows()) else 1)
