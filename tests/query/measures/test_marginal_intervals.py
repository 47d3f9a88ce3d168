"""Intervals of tables against the exact law of their errors, in fractions: no end is a digit too short."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.noise import Geometric
from dovetail.query.measures import MarginalTables

VALUES = {"b": [0, 1], "d": [0, 1], "one": [0]}
SCHEMA = dv.Schema([dv.Column(name, "integer", values=values) for name, values in VALUES.items()])
ASKED = [[("b",), ("d",), ("b", "d")], [("one",), ("one", "b")]]
NOISE = Geometric(5)


def question(tables: Any, strategy: Any) -> dv.Marginals:
    names = dict.fromkeys(name for table in tables for name in table)
    return dv.Marginals(*names, tables=tables, strategy=strategy)


def exact_errors(measure: MarginalTables, noises: Sequence[Any], number: int) -> dict[Fraction, float]:
    """Return the law of the error of one number, in exact fractions, but for a mass of about 1e-6."""
    law, parts = {Fraction(0): 1.0}, []
    for component, noise in zip(measure.components(), noises, strict=True):
        parts += [noise] * component.parts
    for place, noise in enumerate(parts):
        # Estimates are linear in what is released.
        unit = [int(place == other) for other in range(len(parts))]
        weight, found = measure.estimates([unit], noises)[number], defaultdict[Fraction, float](float)
        for (at, chance), k in product(law.items(), range(-3, 4)):
            found[at + weight * k] += chance * float(noise.pmf(k))
        law = {at: chance for at, chance in found.items() if chance > 1e-9}
    return law


@pytest.mark.parametrize("tables", ASKED)
def test_intervals_miss_no_more_often_than_promised_to_the_last_digit(tables: Any) -> None:
    """With little noise an error is one of few fractions: an end that a float puts below one misses it."""
    measure = question(tables, "joint").checked(SCHEMA.table()).measure
    assert isinstance(measure, MarginalTables)
    noises = [NOISE] * len(tables)
    zeros = [(0,) * sum(component.parts for component in measure.components())]
    for number in range(measure.numbers()):
        law = exact_errors(measure, noises, number)
        for level in ("0.5", "0.9", "0.95", "0.999"):
            bar = measure.intervals(zeros, noises, 1 - Fraction(level), False)[number]
            missed = sum(chance for at, chance in law.items() if not bar.low <= at <= bar.high)
            assert missed <= 1 - float(level)


@pytest.mark.parametrize("strategy", ["plain", "joint", "residuals"])
def test_a_table_of_floats_shows_no_interval_that_is_narrower(tmp_path: Path, strategy: Any) -> None:
    rows = pyarrow.table({name: [0] for name in VALUES})
    with dv.Session(
        rows, name="t", ledger=tmp_path / "t.ledger", budget=dv.Budget.pure(100), schema=SCHEMA
    ) as opened:
        (given,) = opened.batch([question(ASKED[0], strategy)], noise=NOISE)
    assert isinstance(given, dv.MarginalsAnswer)
    parts = len(given.cells[0])
    for number in range(200):
        # Whatever was released, such as these numbers.
        cell = tuple(
            (number * (place + 3) + number * number // (place + 2)) % 31 - 9 for place in range(parts)
        )
        answer = replace(given, cells=(cell,))
        shown = answer.interval("0.9").to_pylist()
        for row, bar in zip(shown, answer.bars("0.9"), strict=True):
            assert Fraction(row["low"]) <= bar.low
            assert Fraction(row["high"]) >= bar.high
            # And what floats hold exactly is shown as it is.
            assert strategy != "plain" or (row["low"], row["high"]) == (bar.low, bar.high)
