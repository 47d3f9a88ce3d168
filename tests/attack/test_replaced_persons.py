"""A person of up to three rows who takes another's place: the exact loss of what is released, and its price.

Every two persons of up to three rows each, beside somebody who stays. What is kept of them is decided by the
engine, as for a release; losses are worked out from the true integers and the rates of the noise alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations, combinations_with_replacement
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dv
from dovetail.privacy import Charge
from dovetail.privacy.charge import ORDERS
from engine_tables import SmallTables
from neighbour_replies import worst_loss

ROWS = [("a", 0, 0), ("a", 4, 1), ("b", 4, 0), ("b", None, 1), ("elsewhere", 2, 2)]
SCHEMA = dv.Schema(
    [
        dv.Column("k", "text", values=["a", "b"], other="rest"),
        dv.Column("x", "integer", low=0, high=4, step=1),
        dv.Column("c", "integer", values=[0, 1]),
    ]
)
GROWING = dv.GeometricMixture("0.4", "1.1", 3)
FALLING = dv.PiecewiseGeometric(["1.5", "0.1", "0.6"], [1, 4])
# What is asked, and whether some pair loses all of the worst case that is charged.
ASKED: dict[str, tuple[Any, bool]] = {
    "count": (dv.Count("x >= 2"), True),
    "histogram": (dv.Histogram("k", "c"), True),
    "sum of both signs": (dv.Sum("x", -1, 3, 1, by=("k",)), True),
    "mean": (dv.Mean("x", by=("k",)), True),
    "variance": (dv.Variance("x"), False),
    "median": (dv.Median("x", by=("c",)), True),
    "tables": (dv.Marginals("k", "c", way=1), True),
    "persons": (dv.CountDistinct("k"), True),
}
Move = tuple[tuple[Any, int], ...]


@cache
def renyi(noise: Any, by: int, order: int) -> float:
    """Return the Rényi divergence of a shift, summed over all values that matter."""
    reach = (noise.breaks[-1] if noise.breaks else 0) + int(60 / min(noise.rates)) + by
    ends = [0, *noise.breaks, reach + by]
    steps = [float(r) for r, a, b in zip(noise.rates, ends, ends[1:], strict=False) for _ in range(a, b)]
    phi = np.array([0.0, *accumulate(steps)])
    k = np.arange(-reach, reach + 1)
    p, q = -phi[np.abs(k)], -phi[np.abs(k - by)]
    top = log(np.exp(p).sum())
    exponents = order * (p - top) - (order - 1) * (q - top)
    most = float(exponents.max())
    return (most + log(np.exp(exponents - most).sum())) / (order - 1)


class Persons(SmallTables[tuple[int, ...]]):
    """The tables, and what each question counts in them, looked up once."""

    def kept_cells(self, question: Any) -> Any:
        known = self.__dict__.setdefault("_known", {})
        if question not in known:
            known[question] = self.cells(question, b"secret")
        return known[question]


@pytest.fixture(scope="module")
def small() -> Persons:
    mine = [way for size in (1, 2, 3) for way in combinations_with_replacement(range(len(ROWS)), size)]
    tables = {way: [("q", "a", 1, 0), *(("p", *ROWS[place]) for place in way)] for way in mine}
    return Persons("who VARCHAR, k VARCHAR, x BIGINT, c BIGINT", tables)


def quoted(small: Any, folder: Path, query: Any, noise: Any, rule: Any) -> Any:
    with dv.Session(
        small._database,
        name="small",
        table="shown",
        schema=SCHEMA,
        unit="who",
        max_rows=3,
        max_cells=2,
        neighbours=rule,
        budget=dv.Budget.pure(1000),
        ledger=folder / f"{rule}.ledger",
    ) as session:
        return session.quote(query, noise=noise)


def moves(small: Any, quote: Any) -> Iterator[Move]:
    """Yield what moves between two persons, each way once: which noise, and how far."""
    (asked,) = quote.asked
    components = asked.question.measure.components()
    noises = [noise for part, noise in zip(components, asked.noises, strict=True) for _ in range(part.parts)]
    found = [np.array(cells, object) for cells in small.kept_cells(asked.question).values()]
    seen = set()
    for one, other in combinations(found, 2):
        changes = (
            (noise, abs(int(by))) for cell in one - other for noise, by in zip(noises, cell, strict=True)
        )
        move = tuple(sorted(Counter(change for change in changes if change[1]).elements(), key=repr))
        if move not in seen:
            seen.add(move)
            yield move


def losses(small: Any, quote: Any) -> tuple[Fraction, dict[int, float]]:
    """Return the largest worst case of all pairs, and the largest divergence at some orders."""
    found = list(moves(small, quote))
    assert len(found) > 1
    worst = max(sum((worst_loss(noise, by) for noise, by in move), Fraction(0)) for move in found)
    return worst, {
        order: max(sum(renyi(noise, by, order) for noise, by in move) for move in found) for order in (2, 32)
    }


def within(loss: tuple[Fraction, dict[int, float]], charge: Charge) -> bool:
    assert charge.epsilon is not None
    curve = dict(zip(ORDERS, charge.renyi, strict=True))
    worst, divergences = loss
    fits = all(value <= float(curve[order] or 0) + 1e-9 for order, value in divergences.items())
    return worst <= Fraction(charge.epsilon) and fits


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        *((name, GROWING) for name in ASKED),
        # Rows in several parts of a cell are priced for growing rates only.
        *((name, FALLING) for name in ASKED if name not in ("median", "tables")),
    ],
)
def test_who_takes_a_place_loses_what_is_charged_and_no_more(
    name: str, noise: Any, small: Any, tmp_path: Path
) -> None:
    query, attained = ASKED[name]
    quote = quoted(small, tmp_path, query, noise, "replace")
    loss = losses(small, quote)
    assert within(loss, quote.charge)
    assert loss[0] == Fraction(quote.charge.epsilon) or not attained


@pytest.mark.parametrize("name", [name for name in ASKED if name not in ("count", "variance")])
def test_the_price_of_who_is_added_is_too_low_for_who_takes_a_place(
    name: str, small: Any, tmp_path: Path
) -> None:
    replaced, added = (
        quoted(small, tmp_path, ASKED[name][0], GROWING, rule) for rule in ("replace", "add-remove")
    )
    assert not within(losses(small, replaced), added.charge)
