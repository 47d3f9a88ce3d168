"""How exact and how fast are online answers on Adult: `python -m benchmarks.online`.

D2 has seven columns and 120,960 cells, D3 eight and 1,814,400. A point question asks for the values of a
random record in three columns; a subset question also takes each other value with an even chance. Errors are
means of absolute errors in rows at (1, 1e-6), over 1,000 questions and several releases; what they stand
beside is one count after another, with the least noise that 1,000 of them can have.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import combinations
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as parquet

import dovetail as dv
from dovetail.engines.aggregation import statement
from dovetail.online import (
    Base,
    Guard,
    Hypothesis,
    Learner,
    Region,
    ResponseCurve,
    SparseVector,
    design_online,
)
from dovetail.online.calibration import Terms, calibrate
from dovetail.online.domain import Domain
from dovetail.online.occupied_cells import OccupiedCells
from dovetail.privacy.normal import normal_sigma
from dovetail.workloads.fitting import fit_joint

from .ledger import bare_commits
from .report import Row, Times, seconds_of, show, timed

TITLE = "Online answers"
D2 = ("workclass", "education", "marital_status", "sex", "income", "relationship", "race")
D3 = (*D2, "occupation")
BUDGET = dv.Budget.approximate(1, "1e-6")
QUESTIONS, RELEASES = 1000, 5
LARGE = (10,) * 7


def rows() -> Iterator[Row]:
    """Compute and give one row after another."""
    yield from _promises()
    yield from _errors()
    yield from _speed()
    yield from _memory()
    yield from _durable()


def _promises() -> Iterator[Row]:
    """What is promised of answers that pass, with 50 updates and a false alarm of 1e-4; tests alone."""
    for name, budget, most in (("pure epsilon 1", dv.Budget.pure(1), 544), ("(1, 1e-6)", BUDGET, 315)):
        alpha = calibrate(budget, Terms(updates=50, queries=12_500, measures=False)).alpha
        yield Row(f"all answers that pass, 50 updates, {name}", f"±{alpha}", f"{most}", most / alpha, 1.0)


def _errors() -> Iterator[Row]:
    plain = normal_sigma(1.0, 1e-6, QUESTIONS) * (2 / np.pi) ** 0.5
    plan = design_online(domain(D2).shape, queries=QUESTIONS, budget=BUDGET, base=3, updates=0)
    for form, most in (("point", 16), ("subset", 38)):
        found = []
        for release in range(RELEASES):
            guesses = base_of(plan, D2).hypothesis()
            asked = questions(D2, form, seed=release)
            found.append(np.mean([abs(guesses.count(each) - exact(D2, each)) for each in asked]))
        mean = float(np.mean(found))
        case = f"D2, 1,000 {form} questions, 3-way tables fitted: one count each"
        yield Row(case, f"{mean:.3g}", f"{plain:.4g}", plain / mean, plain / most)


def _speed() -> Iterator[Row]:
    for name, columns in (("D2", D2), ("D3", D3)):
        plan = design_online(domain(columns).shape, queries=QUESTIONS, budget=BUDGET, base=3, updates=0)
        base = base_of(plan, columns)
        begin = time.perf_counter()
        guesses = base.hypothesis()
        yield Row(
            f"{name}: fit {plan.tables} tables of three columns", f"{time.perf_counter() - begin:.2f} s", ""
        )
        guard = Guard(dv.Geometric("0.1"), ResponseCurve.pure("0.02"), dv.Geometric("0.02"), 10**6, 1500)
        learner, asked = Learner(guesses), questions(columns, "subset", seed=1)
        truths = [exact(columns, each) for each in asked]
        run = SparseVector.opened(guard)
        begin = time.perf_counter()
        for region, truth in zip(asked, truths, strict=True):
            run.ask(truth, learner.guess(region))
        rate = QUESTIONS / (time.perf_counter() - begin)
        yield Row(f"{name}: guesses and tests, in memory", f"{rate:,.0f}/s", "1,000/s", rate / 1000, 1.0)


def _memory() -> Iterator[Row]:
    """Bytes a cell at ten million cells."""
    tables = {each: np.full((10, 10), 10.0 + sum(each)) for each in combinations(range(7), 2)}
    wide = Region.product(LARGE, {axis: np.arange(10) < 7 for axis in range(7)})

    def learn() -> None:
        guesses = Hypothesis.uniform(LARGE, 1000)
        guesses.multiply(wide, guesses.count(wide) / 500)

    works = {"fit": lambda: fit_joint(LARGE, tables, dict.fromkeys(tables, 1e-6), rounds=2), "learn": learn}
    for name, work in works.items():
        tracemalloc.start()
        work()
        share = tracemalloc.get_traced_memory()[1] / prod(LARGE)
        tracemalloc.stop()
        yield Row(f"10^7 cells: {name}", f"{share:.1f} bytes a cell", "20", 20 / share, 1.0)


def _durable() -> Iterator[Row]:
    """A run that a ledger keeps: opening beside the bare aggregation, questions beside bare commits."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        with dv.Session(dv.datasets.adult(), budget=BUDGET, ledger=place / "adult.ledger") as session:
            domain_ = Domain.of(D2, None, session._table, None, 10**7)
            reading = timed(
                {
                    "bare": lambda: session._engine.fetch(statement(session._engine, domain_.whole)),
                    "read": lambda: OccupiedCells.read(session._engine, domain_, b""),
                }
            )
            shown = f"{reading['read'] * 1e3:.0f} ms", f"{reading['bare'] * 1e3:.0f} ms"
            yield Row("D2: true counts, the bare GROUP BY", *shown, reading.ratio("bare", "read"), 1 / 1.2)
            # A firing writes once more; with a base nearly all questions pass.
            run = session.online(*D2, queries=QUESTIONS, base=3, updates=50)
            educations = session.source.schema.get("education").values
            races = session.source.schema.get("race").values
            wheres = [f"education = '{one}' AND race = '{two}'" for one in educations for two in races]
            commit = bare_commits(place / "bare.db", "EXTRA")
            kept = bare_commits(place / "kept.db", "EXTRA", "PERSIST")
            works = {
                "ours": lambda where: run.count(where),
                "two": lambda _: (commit(), commit()),
                "kept": lambda _: (kept(), kept()),
            }
            seconds: dict[str, list[float]] = {name: [] for name in works}
            for where in wheres:
                for name, work in works.items():
                    seconds[name].append(seconds_of(partial(work, where)))
            times = Times(seconds)
            ours, two, same = (f"{times[name] * 1e3:.2f} ms" for name in works)
            yield Row(
                "D2: one question, two bare durable commits", ours, two, times.ratio("two", "ours"), 0.8
            )
            yield Row("… whose journal is kept, as the ledger's", ours, same, times.ratio("kept", "ours"))
            marital = session.source.schema.get("marital_status").values
            asked = [dv.Count(f"{where} AND marital_status = '{one}'") for where in wheres for one in marital]
            rate = len(asked) / seconds_of(lambda: run.batch(asked))
            yield Row("D2: questions of one batch", f"{rate:,.0f}/s", "1,000/s", rate / 1000, 1.0)


@lru_cache
def codes(columns: tuple[str, ...]) -> np.ndarray:
    """Return the value numbers of every record, one row a column."""
    read = parquet.read_table(dv.datasets.adult().data, columns=list(columns))
    return np.array([read[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in columns])


@lru_cache
def domain(columns: tuple[str, ...]) -> np.ndarray:
    """Return the true table over all columns."""
    found = codes(columns)
    shape = tuple(int(row.max()) + 1 for row in found)
    flat = np.bincount(np.ravel_multi_index(tuple(found), shape), minlength=prod(shape))
    return flat.reshape(shape)


@lru_cache
def margin(columns: tuple[str, ...], axes: tuple[int, ...]) -> np.ndarray:
    """Return the true table of some columns."""
    table = domain(columns)
    return table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))


def exact(columns: tuple[str, ...], region: Region) -> int:
    """Return the true count of a region."""
    return int(np.sum(margin(columns, region.axes), where=region.over(region.axes)))


def base_of(plan: dv.online.OnlineDesign, columns: tuple[str, ...]) -> Base:
    """Measure the tables of a plan."""
    strategy, noise = plan.strategy, plan.base_noise
    tables = {each: margin(columns, each) for each in strategy.measured}
    return Base(strategy, {each: values + noise.sample(values.shape) for each, values in tables.items()})


def questions(columns: tuple[str, ...], form: str, seed: int) -> list[Region]:
    """Return random questions on three columns."""
    random, table, values = np.random.default_rng(seed), domain(columns), codes(columns)
    found = []
    for _ in range(QUESTIONS):
        record, masks = random.integers(values.shape[1]), {}
        for axis in random.choice(table.ndim, 3, replace=False).tolist():
            size = table.shape[axis]
            masks[axis] = random.random(size) < 0.5 if form == "subset" else np.zeros(size, bool)
            masks[axis][values[axis, record]] = True
        found.append(Region.product(table.shape, masks))
    return found


if __name__ == "__main__":
    sys.exit(0 if show(TITLE, rows()) else 1)
