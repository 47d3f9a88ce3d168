"""All neighbours of tiny tables through a session: what is released moves by no more than is charged for.

Noise is drawn as 0, so an answer's integers are the true ones. Under geometric noise the privacy loss between
two tables is at most the sum of |difference| times rate, and some outcome attains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import dovetail as dv
from dovetail.ledger import DatasetAccount
from dovetail.noise import Geometric
from dovetail.release import mechanism

DAYS = {None: None, -1: "2023-12-31", 5: "2024-01-03", 9: "2025-01-01"}
SCHEMA = dv.Schema(
    [
        dv.Column("x", "integer", low=0, high=8),
        dv.Column("day", "date", low="2024-01-01", high="2024-01-05"),
        dv.Column("k", "text", values=["a", "b"]),
    ]
)
QUERIES = {
    "median": dv.Median("x"),
    "minimum by group": dv.Minimum("x", by=("k",)),
    "maximum": dv.Maximum("x", where="k = 'a'"),
    "quartiles": dv.Quantiles("x", ("0.25", "0.75")),
    "ranges by group": dv.Ranges("x", by=("k",)),
    "median day": dv.Median("day"),
    "variance": dv.Variance("x"),
    "deviation by group": dv.Std("x", by=("k",), sample=True),
    "mean": dv.Mean("x"),
    "linear": dv.Linear("k", {"a": 1, "b": "-1/2"}, "1/2"),
}
# Of all values that take the place of the smallest, 5 moves the moments of a variance furthest.
ROWS = [(value, k) for value in (None, -1, 5, 9) for k in "ab"]
NOISE = Geometric("0.5")
Table = tuple[tuple[int | None, str], ...]


def released(folder: Path, rows: list[tuple[Any, ...]], **options: Any) -> list[Any]:
    """Return the answers of a session on these rows, which are persons, values and groups."""
    types = [pyarrow.int64(), pyarrow.int64(), pyarrow.string(), pyarrow.string()]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    arrays = [pyarrow.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    data = pyarrow.table(arrays, names=["p", "x", "k", "day"])
    place = folder / f"{len(list(folder.iterdir()))}.ledger"
    with dv.Session(
        data, name="rows", schema=SCHEMA, budget=dv.Budget.pure(10**6), ledger=place, **options
    ) as session:
        charges = [session.price(query, noise=NOISE) for query in QUERIES.values()]
        answers = session.batch(QUERIES.values(), noise=NOISE)
        return [replace(answer, charge=charge) for answer, charge in zip(answers, charges, strict=True)]


def written(person: int, table: Table) -> list[tuple[Any, ...]]:
    return [(person, value, k, DAYS[value]) for value, k in table]


def losses(one: list[Any], other: list[Any]) -> Iterator[Fraction]:
    """Yield the privacy loss of every question between two tables."""
    for mine, yours in zip(one, other, strict=True):
        components = mine.query.measure.components()
        rates = [n.rates[0] for c, n in zip(components, mine.noises, strict=True) for _ in range(c.parts)]
        moved = (np.array(mine.cells, object) - np.array(yours.cells, object)).tolist()
        yield sum(
            (abs(by) * rate for cell in moved for by, rate in zip(cell, rates, strict=True)), Fraction(0)
        )


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "sample", lambda noise, size: np.zeros(size, np.int64))
    # Which rows of a person are used must not depend on which ledger was made.
    monkeypatch.setattr(DatasetAccount, "secret", bytes(32))


def check(pairs: list[tuple[list[Any], list[Any]]], tight: set[str]) -> None:
    """No pair may lose more than is charged; the worst of `tight` questions loses exactly that."""
    worst = [max(each) for each in zip(*(losses(*pair) for pair in pairs), strict=True)]
    for name, loss, answer in zip(QUERIES, worst, pairs[0][0], strict=True):
        charged = Fraction(answer.charge.epsilon)
        assert loss <= charged, name
        assert loss == charged or name not in tight, (name, loss, charged)


EVERY = set(QUERIES)
COUNTS = {"median", "minimum by group", "quartiles", "ranges by group", "median day"}


@pytest.mark.usefixtures("quiet")
def test_one_row_added_or_removed_loses_exactly_what_is_charged(tmp_path: Path) -> None:
    empty = released(tmp_path, [], protects="rows")
    ones = {row: released(tmp_path, written(0, (row,)), protects="rows") for row in ROWS}
    pairs = [(answers, empty) for answers in ones.values()]
    for row in ROWS:
        two = released(tmp_path, written(0, (ROWS[2], row)), protects="rows")
        pairs += [(two, ones[row]), (two, ones[ROWS[2]])]
    check(pairs, EVERY)


@pytest.mark.usefixtures("quiet")
def test_one_row_replaced_loses_no_more_than_is_charged(tmp_path: Path) -> None:
    rule = {"neighbours": "replace", "protects": "rows"}
    ones = [released(tmp_path, written(0, (row,)), **rule) for row in ROWS]
    check([(one, other) for one in ones for other in ones], COUNTS)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("rule", ["add-remove", "replace"])
def test_one_person_loses_no_more_than_is_charged(tmp_path: Path, rule: Any) -> None:
    """A person has up to three rows, of which two are used; another one stays."""
    options = {"unit": "p", "max_rows": 2, "neighbours": rule}
    some = [ROWS[0], ROWS[2], ROWS[3], ROWS[5], ROWS[6]]
    tables = [table for n in (1, 2, 3) for table in combinations_with_replacement(some, n)][::5]
    stays = written(1, (ROWS[4],))
    without = released(tmp_path, stays, **options)
    found = [released(tmp_path, stays + written(2, table), **options) for table in tables]
    others = [without] if rule == "add-remove" else [without, *found]
    check([(one, other) for one in found for other in others], set())
    alike = released(tmp_path, stays + written(2, (ROWS[2], ROWS[2])), **options)
    if rule == "add-remove":
        check([(alike, without)], {"median", "quartiles", "ranges by group", "median day"})


@pytest.mark.usefixtures("quiet")
def test_a_charge_that_is_too_small_is_caught(tmp_path: Path) -> None:
    """Replaced rows, charged as if they were added or removed."""
    ones = [released(tmp_path, written(0, (row,)), protects="rows") for row in ROWS]
    with pytest.raises(AssertionError):
        check([(one, other) for one in ones for other in ones], set())
