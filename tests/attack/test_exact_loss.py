"""Whole batches on every small table, with each output's exact distribution: no loss is above its charge.

What an answer would show is worked out from the true cells with formulas of this file alone: the noise from
its rates, the threshold's events, the divergences. A charge says: except on an event of probability `delta`,
the loss is bounded by these. So the cells that only one of two neighbours has must show with probability
`delta` at most, and the others must lose no more than epsilon and each order of the Rényi curve. For noise
with few values of its loss, (epsilon, delta) is worked out for everything together as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from math import expm1, floor, inf, log, log1p, prod
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.signal import fftconvolve

import dovetail as dv
from dovetail.answers.quote import Quote, QuotedQuery
from dovetail.engines import Engine, connect
from dovetail.engines.aggregation import cell_reader, held_cells, true_cells
from dovetail.privacy.charge import ORDERS
from dovetail.query import CountDistinct, Histogram, Sum
from dovetail.query.checked_query import CheckedQuery

FALLING = dv.PiecewiseGeometric([2, "0.4"], [2])
GROWING = dv.GeometricMixture("0.4", "1.1", 3)
GAUSS = dv.DiscreteGaussian(3)
SCHEMA = dv.Schema(
    [
        dv.Column("k", "text"),
        dv.Column("l", "text", values=["u"], other="else"),
        dv.Column("x", "integer"),
    ]
)
FOUND = Histogram("k", keys="discover")
BOTH = Histogram("k", "l", keys="discover")
WITH_OTHER = Histogram("k", "l", keys={"k": "discover"})
PERSONS = CountDistinct("k", keys="discover")
SUMMED = Sum("x", -1, 2, 1, by=("k",), keys=["a", "b"])
# What is asked together, with which noise, of whom: max_rows and max_cells of a person, None for rows.
CASES: dict[str, tuple[list[Any], Any, tuple[int, int] | None]] = {
    "rows": ([FOUND], GROWING, None),
    "rows, falling": ([FOUND, dv.Count()], FALLING, None),
    "rows, two at once": ([FOUND, BOTH], dv.Geometric("0.7"), None),
    "rows, other": ([WITH_OTHER, FOUND], GAUSS, None),
    "persons 2 in 1": ([FOUND, WITH_OTHER], GROWING, (2, 1)),
    "persons 2 in 2": ([BOTH], GROWING, (2, 2)),
    "persons 2 in 2, falling": ([BOTH, dv.Count()], FALLING, (2, 2)),
    "persons 3 in 2, gauss": ([BOTH], GAUSS, (3, 2)),
    "persons 3 in 3, sum": ([FOUND, SUMMED], dv.Geometric(1), (3, 3)),
    "distinct": ([PERSONS, FOUND], FALLING, (1, 2)),
    "distinct 2": ([CountDistinct("k", "l", keys="discover")], GROWING, (3, 2)),
    "staircase": ([FOUND], dv.Staircase(1), (2, 2)),
}
SEEN = list(product("ab", "uv"))
Rows = tuple[tuple[str, str], ...]
Shown = dict[tuple[Any, ...], int]
# A cell that both tables have: its noise, its threshold if there is one, and its two true counts.
Common = tuple[Any, int | None, int, int]


@cache
def weights(noise: Any) -> tuple[np.ndarray, int]:
    """Return P(Y = k) for |k| <= reach, from the noise's own parameters."""
    if isinstance(noise, dv.DiscreteGaussian):
        sigma = float(noise.sigma)
        reach = int(40 * sigma)
        raw = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    elif isinstance(noise, dv.PiecewiseGeometric):
        reach = int(45 / float(noise.rates[-1])) + 40
        phi, at = [0.0], 0
        for end, rate in zip([*noise.breaks, reach], map(float, noise.rates), strict=True):
            while at < end:
                phi.append(phi[-1] + rate)
                at += 1
        half = np.exp(-np.array(phi))
        raw = np.concatenate((half[:0:-1], half))
    else:  # a staircase: its own figures, checked elsewhere
        reach = 80
        raw = np.array([float(noise.pmf(k)) for k in range(-reach, reach + 1)])
    return raw / raw.sum(), reach


@cache
def cell_law(noise: Any, least: int | None, count: int, other: int) -> np.ndarray:
    """Return the distribution of what a cell with `count` shows, on a range that it shares with `other`."""
    mass, reach = weights(noise)
    top = max(count, other) + reach
    bottom = min(count, other) - reach
    law = np.zeros(top - bottom + 1)
    law[count - reach - bottom : count + reach + 1 - bottom] = mass
    if least is None:
        return law
    cut = least - bottom
    return np.concatenate(([law[:cut].sum()], law[cut:]))


@cache
def own_chance(noise: Any, least: int, count: int) -> float:
    mass, reach = weights(noise)
    return float(mass[least - count + reach :].sum())


def both_laws(cell: Common) -> tuple[np.ndarray, np.ndarray]:
    noise, least, one, other = cell
    return cell_law(noise, least, one, other), cell_law(noise, least, other, one)


@cache
def cell_renyi(cell: Common, order: int) -> float:
    p, q = both_laws(cell)
    both = (p > 0) & (q > 0)
    exponent = order * np.log(p[both]) - (order - 1) * np.log(q[both])
    top = float(exponent.max())
    return (top + log(np.exp(exponent - top).sum())) / (order - 1)


@cache
def cell_worst(cell: Common) -> float:
    p, q = both_laws(cell)
    both = (p > 1e-30) & (q > 1e-30)
    return float(np.abs(np.log(p[both] / q[both])).max())


@cache
def cell_losses(cell: Common) -> dict[float, float]:
    """Return the values of the loss with their probabilities."""
    found: dict[float, float] = defaultdict(float)
    for mine, yours in zip(*both_laws(cell), strict=True):
        if mine > 1e-25:
            found[round(log(mine / yours), 9) if yours > 0 else inf] += mine
    return found


@dataclass(frozen=True)
class Pair:
    """How two neighbours differ: the cells that both have, and the chances of those that only one has."""

    common: tuple[Common, ...]
    own: tuple[float, ...]
    others: tuple[float, ...]

    def event(self) -> float:
        return max(-expm1(sum(log1p(-chance) for chance in chances)) for chances in (self.own, self.others))

    def renyi(self, order: int) -> float:
        """Return the Rényi divergence of the cells that both have; it adds up over cells."""
        return sum(cell_renyi(cell, order) for cell in self.common)

    def worst(self) -> float:
        return sum(map(cell_worst, self.common))

    def excess(self, epsilon: float) -> float:
        """Return the exact delta at epsilon of the whole output."""
        losses = {0.0: 1.0}
        for cell in self.common:
            found: dict[float, float] = defaultdict(float)
            for (a, m), (b, n) in product(losses.items(), cell_losses(cell).items()):
                found[round(a + b, 9)] += m * n
            losses = found
        hidden, of_others = (prod(1 - chance for chance in chances) for chances in (self.own, self.others))
        # Nothing of one's own shows: as likely as here, and there where nothing of theirs shows.
        gain = log(hidden / of_others)
        rest = sum(m * -expm1(epsilon - a - gain) for a, m in losses.items() if a + gain > epsilon)
        return 1 - hidden + hidden * rest


def pair_of(asked: tuple[QuotedQuery, ...], one: Shown, other: Shown, lower: int = 0) -> Pair:
    """Compare two tables; `lower` lowers every threshold, which must be noticed."""
    common, own, others = [], [], []
    for place in sorted({*one, *other}, key=str):
        each, (mine, yours) = asked[place[0]], (one.get(place, 0), other.get(place, 0))
        if mine == yours:
            continue
        noise = each.noises[place[1]]
        if each.threshold is None:
            common.append((noise, None, mine, yours))
            continue
        least = each.threshold.least - lower
        if mine and yours:
            common.append((noise, least, mine, yours))
        elif mine:
            own.append(own_chance(noise, least, mine))
        else:
            others.append(own_chance(noise, least, yours))
    return Pair(tuple(sorted(common, key=str)), tuple(sorted(own)), tuple(sorted(others)))


def shown(engine: Engine, asked: tuple[QuotedQuery, ...]) -> Shown:
    """Return the true number of every cell that could show."""
    found: Shown = {}
    for number, each in enumerate(asked):
        question: CheckedQuery = each.question
        if each.threshold is not None:
            read = cell_reader(question)
            for batch in held_cells(engine, question, b"secret"):
                found |= {(number, 0, read(row)): int(row[-1]) for row in batch}
            continue
        for place, components in enumerate(true_cells(engine, question, b"secret")):
            found |= {(number, part, place): value for part, value in enumerate(components)}
    return found


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("CREATE TABLE t (who VARCHAR, k VARCHAR, l VARCHAR, x INT)")
        yield made


def fill(database: duckdb.DuckDBPyConnection, rows: list[tuple[str, str, str]]) -> None:
    database.execute("DELETE FROM t")
    if rows:
        values = ", ".join(f"('{who}', '{k}', '{more}', {2 if k == 'a' else -1})" for who, k, more in rows)
        database.execute(f"INSERT INTO t VALUES {values}")


def quoted(case: str, neighbours: str, database: Any, folder: Path) -> Quote:
    queries, noise, bounds = CASES[case]
    persons = {} if bounds is None else {"unit": "who", "max_rows": bounds[0], "max_cells": bounds[1]}
    with dv.Session(
        database,
        name="t",
        table="t",
        schema=SCHEMA,
        budget=dv.Budget.approximate(10**6, "0.3"),
        ledger=folder / "t.ledger",
        neighbours=neighbours,  # type: ignore[arg-type]
        **persons,  # type: ignore[arg-type]
    ) as session:
        return session.quote(queries, noise=noise, delta="0.02")


def small_tables(case: str, asked: tuple[QuotedQuery, ...], database: Any) -> list[list[Shown]]:
    """Return what tables show that differ in one person (or row): first those without, for some others."""
    of_persons = CASES[case][2] is not None
    mine: list[Rows] = [
        rows for size in range(4 if of_persons else 2) for rows in combinations_with_replacement(SEEN, size)
    ]
    engine = connect(dv.Source.of(database, name="t", table="t"))
    found = []
    # Others are nowhere, in one cell, or so many in two that these show.
    for others in [(), (("a", "u"),), (("a", "u"), ("b", "v")) * 40]:
        found.append([])
        for rows in mine:
            fill(database, [(f"o{n}", *row) for n, row in enumerate(others)] + [("p", *row) for row in rows])
            found[-1].append(shown(engine, asked))
    engine.close()
    return found


def pairs(
    tables: list[list[Shown]], asked: tuple[QuotedQuery, ...], neighbours: str, lower: int = 0
) -> set[Pair]:
    """Return all ways in which neighbours differ, both ways round."""
    found: set[Pair] = set()
    for alike in tables:
        for one, other in product(alike if neighbours == "replace" else alike[:1], alike):
            found |= {pair_of(asked, one, other, lower), pair_of(asked, other, one, lower)}
    return found


@pytest.mark.parametrize("neighbours", ["add-remove", pytest.param("replace", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.slow) if case in ("staircase", "persons 3 in 3, sum") else case
        for case in CASES
    ],
)
def test_no_pair_of_small_tables_loses_more_than_is_charged(
    case: str, neighbours: str, database: Any, tmp_path: Path
) -> None:
    priced = quoted(case, neighbours, database, tmp_path)
    charge, delta = priced.charge, priced.charge.delta_units * 1e-18
    tables = small_tables(case, priced.asked, database)
    found = pairs(tables, priced.asked, neighbours)
    assert len(found) > 5
    events = [pair.event() for pair in found]
    assert max(events) <= delta * (1 + 1e-9)
    few = charge.epsilon_units is not None
    for order, limit in zip(ORDERS, charge.renyi_units, strict=True):
        if order <= 32 or few:
            assert limit is not None
            largest = max(pair.renyi(order) for pair in found)
            assert largest <= limit * 1e-9 + 1e-9
            assert largest > limit * 1e-9 / 4, "the check has power"
    if charge.epsilon_units is not None and case != "staircase":
        epsilon = charge.epsilon_units * 1e-9
        worst = max(pair.worst() for pair in found)
        assert worst <= epsilon * (1 + 1e-9)
        # As high as charged, so that less would fail; four cells are too few for the worst replacement.
        assert worst > epsilon * (0.999 if neighbours == "add-remove" else 0.45)
        assert max(pair.excess(epsilon) for pair in found) <= delta * (1 + 1e-6)
    if len(CASES[case][0]) == 1:
        # The event is as likely as charged for some pair, and one less would not do.
        assert max(events) == pytest.approx(delta, rel=1e-6)
        lower = pairs(tables, priced.asked, neighbours, lower=1)
        assert max(pair.event() for pair in lower) > delta * 1.05


def test_a_price_with_delta_is_kept_by_all_its_answers_together(database: Any, tmp_path: Path) -> None:
    """Losses are rounded down here, so that what is found is below the truth, and must be below delta."""
    queries = [dv.Count(f"x > {n}") for n in range(60)] + [Sum("x", 0, 7, 1), Sum("x", -3, 1, 1)]
    spend = dv.Budget.approximate(1, "1e-6")
    with dv.Session(
        database, name="t", table="t", budget=dv.Budget.approximate(10, "1e-4"), ledger=tmp_path / "t.ledger"
    ) as session:
        priced = session.quote(queries, spend=spend)
    assert priced.charge.delta_units <= 10**12
    grid = 2e-4
    total, offset = np.ones(1), 0
    for each in priced.asked:
        lattice = each.question.measure.lattice()
        by = 1 if lattice is None else max(abs(lattice.low), abs(lattice.high))
        places: dict[int, float] = defaultdict(float)
        for loss, mass in cell_losses((each.noises[0], None, by, 0)).items():
            if loss < inf:  # beyond the range that is looked at
                places[floor(loss / grid)] += mass
        low = min(places)
        found = np.zeros(max(places) - low + 1)
        for place, mass in places.items():
            found[place - low] = mass
        total, offset = fftconvolve(total, found), offset + low
    losses = (offset + np.arange(total.size)) * grid
    beyond = losses > 1
    delta = float((total[beyond] * -np.expm1(1 - losses[beyond])).sum())
    assert 1e-7 < delta <= 1e-6
