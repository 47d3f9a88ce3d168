"""How fast are probabilities of many values, against numpy.exp of as many, and how light is the import?

Targets: at most 5 times numpy.exp (a ratio of at least 0.2), and at most 1.5 times the import of NumPy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial

import numpy as np

from dovetail.noise import Geometric, GeometricMixture, LaplaceMixture, PiecewiseGeometric, PiecewiseLaplace

from .report import Row, measured, show, timed, with_bytecode

TITLE = "Evaluating noise, against numpy.exp and the import of NumPy"
MANY = 10_000_000
ROUNDS = 15
EIGHT_RATES = [f"0.{i}" for i in range(1, 9)]
EIGHT_BREAKS = range(2, 16, 2)


def rows() -> Iterator[Row]:
    """Measure and give one row after another."""
    reals = np.random.default_rng(0).laplace(scale=5, size=MANY)
    whole = np.rint(reals).astype(np.int64)
    floats = whole.astype(np.float64)
    for name, noise in (
        ("geometric", Geometric("0.3")),
        ("mixture 5, 1/5, 1", GeometricMixture("0.2", 1, 5)),
        ("eight pieces", PiecewiseGeometric(EIGHT_RATES, EIGHT_BREAKS)),
    ):
        functions = {"cdf": noise.cdf, "pmf": noise.pmf}
        yield from _against_exp(f"{name}, integers", functions, whole, floats)
    wide = GeometricMixture("1e-6", "5e-6", 10**6)
    far = np.rint(reals * 2e5).astype(np.int64)  # too many different values for a table
    yield from _against_exp("scale 1e6", {"cdf": wide.cdf, "pmf": wide.pmf}, far, reals)
    yield from _against_exp("eight pieces, integers as floats", functions, floats, floats)
    for name, real in (
        ("Laplace mixture", LaplaceMixture("0.2", 1, 5)),
        ("Laplace, eight pieces", PiecewiseLaplace(EIGHT_RATES, EIGHT_BREAKS)),
    ):
        yield from _against_exp(f"{name}, floats", {"cdf": real.cdf, "pdf": real.pdf}, reals, reals)
    yield from _import()


def _against_exp(case: str, functions: dict, x: np.ndarray, floats: np.ndarray) -> Iterator[Row]:
    candidates = {name: lambda function=function: function(x) for name, function in functions.items()}
    times = timed(candidates | {"exp": lambda: np.exp(floats)})
    for name in functions:
        ratio = times.ratio("exp", name)
        yield Row(f"{name} of 1e7: {case}", _seconds(times[name]), _seconds(times["exp"]), ratio, 0.2)


def _import() -> Iterator[Row]:
    statements = {
        "import dovetail": ("import dovetail", 1 / 1.5),
        "import, and a first probability": ("import dovetail; dovetail.Geometric(1).cdf(0)", None),
    }
    with tempfile.TemporaryDirectory() as folder:
        for case, (statement, target) in statements.items():
            # The first ones, which do not count, write the bytecode.
            both = {
                "ours": partial(_fresh, statement, folder),
                "numpy": partial(_fresh, "import numpy", folder),
            }
            times = measured(both, ROUNDS)
            shown = _seconds(times["ours"]), _seconds(times["numpy"])
            yield Row(case, *shown, times.ratio("numpy", "ours"), target)


def _fresh(statement: str, bytecode: str) -> float:
    """Return the seconds that a statement takes in a new process, without the start of Python."""
    code = f"import time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=with_bytecode(bytecode), capture_output=True, text=True, check=True)
    return float(done.stdout)


def _seconds(value: float) -> str:
    return f"{1000 * value:,.3g} ms"


if __name__ == "__main__":
    sys.exit(0 if show(TITLE, rows()) else 1)
