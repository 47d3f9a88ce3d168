"""Measure designs against the geometric and the discrete Gaussian noise over the grid of budgets.

    python -m benchmarks.design_grid [--write docs/design-grid.md] [--queries 1 10]

Every figure is the variance of a noise whose total (epsilon, delta) is certified by the rigorous accounting;
for each standard noise the least such variance. Times are processor seconds of one core, nothing cached.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from math import inf
from pathlib import Path

import dovetail as dv
from dovetail.designer import designs

from .free_form import free_form

QUERIES = (1, 3, 10, 30, 100, 300, 1000)
EPSILONS = ("0.1", "0.5", "1", "3")
DELTAS = ("1e-6", "1e-9")
PIECES = 16
ANCHORED = 10
MOST_ABOVE = 1.005
MOST_SECONDS = 0.3


@dataclass(frozen=True)
class Case:
    """One budget with the four variances, and the seconds of an estimate and of a certified design."""

    queries: int
    epsilon: str
    delta: str
    geometric: float
    gaussian: float
    free: float
    designed: float
    pieces: int
    estimated: float
    seconds: float

    @property
    def against(self) -> float:
        """The design's variance as a share of the best of the others."""
        return self.designed / min(self.geometric, self.gaussian, self.free)

    def misses(self) -> list[str]:
        """Say which targets are missed."""
        missed = []
        if self.against > MOST_ABOVE:
            missed.append("above the best")
        if self.seconds > MOST_SECONDS:
            missed.append("slow")
        return missed


def measure(queries: int, epsilon: str, delta: str) -> Case:
    """Design for one budget and certify the standard noises for it."""
    designs._best.cache_clear()
    designs._designed.cache_clear()
    start = time.process_time()
    dv.designer.estimate(epsilon=epsilon, delta=delta, queries=queries, pieces=PIECES)
    between = time.process_time()
    chosen = dv.design(epsilon=epsilon, delta=delta, queries=queries, pieces=PIECES)
    seconds = time.process_time() - between
    assert chosen.total.delta(epsilon) <= float(delta)
    value = {other.name: other.value for other in chosen.alternatives}
    return Case(
        queries,
        epsilon,
        delta,
        value.get("geometric", chosen.utility.variance),
        value["Gaussian"],
        free_form(queries, float(epsilon), float(delta)) if queries >= ANCHORED else inf,
        chosen.utility.variance,
        len(chosen.noise.rates),
        between - start,
        seconds,
    )


def row(case: Case) -> str:
    """Return a line of the table."""
    numbers = (case.geometric, case.gaussian, case.free, case.designed)
    parts = [str(case.queries), case.epsilon, case.delta, *(_shown(number) for number in numbers)]
    parts += [
        f"{case.against:.3f}",
        str(case.pieces),
        f"{case.estimated:.2f}",
        f"{case.seconds:.2f}",
    ]
    return "| " + " | ".join(parts) + " |"


def _shown(variance: float) -> str:
    if variance == inf:
        return "-"
    return f"{variance:,.0f}" if variance >= 10_000 else f"{variance:,.5g}"


def one_by_one(noise: dv.PiecewiseGeometric, queries: int, delta: str) -> float:
    """Return the least epsilon of a budget whose filter admits every query on its own, chosen freely."""
    charge = dv.privacy_loss(noise).charge()
    low, high = 0.0, float(queries * noise.rates[-1])
    while high / max(low, 1e-9) > 1.0001:
        middle = (low + high) / 2
        budget, spent, admitted = dv.Budget.approximate(round(middle, 9), delta), dv.Charge.zero(), 0
        while admitted < queries and budget.allows(spent, charge):
            spent, admitted = spent + charge, admitted + 1
        low, high = (low, middle) if admitted == queries else (middle, high)
    return high


FILTER = """
## The same noise, paid one by one

A plan fixes noise and number of queries in advance and so pays the exact epsilon of them together. The same
noise paid query by query goes through the Rényi filter, which costs more (delta 1e-6):

| k | plan: epsilon | one by one: epsilon |
|---|---|---|
"""


def filter_rows() -> list[str]:
    """Return what designs for epsilon 1, delta 1e-6 cost through the filter."""
    rows = []
    for queries in (10, 30, 100, 300):
        chosen = dv.design(epsilon=1, delta="1e-6", queries=queries, pieces=PIECES)
        cost = one_by_one(chosen.noise, queries, "1e-6")
        rows.append(f"| {queries} | {chosen.total.epsilon_at('1e-6'):.3f} | {cost:.3f} |")
    return rows


HEAD = """# The design grid

Least variance of a count's noise for k queries at a total (epsilon, delta), made by

    python -m benchmarks.design_grid --write docs/design-grid.md

Geometric, Gaussian and design are certified by the rigorous accounting: each is the variance of a noise
whose delta, as an upper bound, is within the budget. "Any shape" is an anchor in floats
(`benchmarks/free_form.py`): the law of least Rényi divergence at an order among all symmetric laws on the
integers, with the order and variance that suit the budget; below ten queries the best order is infinite, and
that law is the geometric noise. "Against best" is the design's variance as a share of the least of
the three. The Gaussian and the anchor have no pure guarantee; the others have. Designs have up to 16 pieces.
Seconds are processor time of one core with nothing cached: of an estimate by floats (~), and of the
certified design.

| k | epsilon | delta | geometric | Gaussian | any shape | design | against best | pieces | ~ s | s |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def main(arguments: list[str]) -> int:
    """Measure the grid, print it and write it where told; the exit code says whether all targets are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path)
    parser.add_argument("--queries", type=int, nargs="+", default=QUERIES)
    options = parser.parse_args(arguments)
    print(HEAD, end="")
    cases = []
    for queries in options.queries:
        for epsilon in EPSILONS:
            for delta in DELTAS:
                cases.append(measure(queries, epsilon, delta))
                print(row(cases[-1]), *cases[-1].misses(), flush=True)
    if options.write:
        text = HEAD + "\n".join(row(case) for case in cases) + "\n" + FILTER + "\n".join(filter_rows()) + "\n"
        options.write.write_text(text, encoding="utf-8")
    return 1 if any(case.misses() for case in cases) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
