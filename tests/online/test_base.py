"""What a measured base says: unbiased estimates with intervals that hold, and a fit that errs less."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from scipy.stats import binom

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric
from dovetail.online import Base, Region
from dovetail.online.base import base_strategy

SHAPE = (3, 4, 2)
NOISE = Geometric("0.2")


def truth() -> np.ndarray:
    random = np.random.default_rng(3)
    return random.multinomial(500, random.dirichlet(np.full(prod(SHAPE), 0.3))).reshape(SHAPE)


def measured(table: np.ndarray, kind) -> Base:
    strategy = base_strategy(SHAPE, kind, NOISE)
    exact = {
        columns: table.sum(axis=tuple(axis for axis in range(3) if axis not in columns))
        for columns in strategy.measured
    }
    return Base(strategy, {columns: values + NOISE.sample(values.shape) for columns, values in exact.items()})


REGION = Region.product(SHAPE, {0: [True, False, True], 1: [False, True, True, False]})


def test_an_estimate_is_that_of_dense_least_squares() -> None:
    base = measured(truth(), 2)
    rows, values = [], []
    for table in combinations(range(3), 2):
        for cell in np.ndindex(*(SHAPE[axis] for axis in table)):
            design = np.zeros(SHAPE)
            design[tuple(cell[table.index(axis)] if axis in table else slice(None) for axis in range(3))] = 1
            rows.append(design.ravel())
            values.append(base.released[table][cell])
    query = REGION.dense().ravel().astype(float)
    inverse = np.linalg.pinv(np.array(rows))
    found = base.estimate(REGION)
    assert found.value == pytest.approx(query @ inverse @ np.array(values))
    assert found.error.variance() == pytest.approx(np.sum((query @ inverse) ** 2) * NOISE.variance())


@pytest.mark.parametrize("kind", [2, "histogram"])
def test_an_interval_holds_as_often_as_it_says(kind) -> None:
    table = truth()
    exact = int(table[REGION.dense()].sum())
    half = measured(table, kind).estimate(REGION).error.two_sided("0.1")
    runs, held = 1500, 0
    for _ in range(runs):
        base = measured(table, kind)
        value = float(
            np.sum(
                base.tables[(0, 1) if kind == 2 else (0, 1, 2)],
                where=REGION.over((0, 1) if kind == 2 else (0, 1, 2)),
            )
        )
        held += abs(value - exact) <= half
    assert held >= binom.ppf(1e-9, runs, 0.9)
    # A power check: bars of half the width would be seen to miss.
    assert held <= binom.isf(1e-9, runs, 0.97)


def test_a_count_outside_of_every_table_has_no_estimate() -> None:
    base = measured(truth(), 1)
    assert base.estimate(REGION) is None
    everything = base.estimate(Region.of(SHAPE))
    low, high = everything.interval("0.99")
    assert low < everything.value < high


def test_the_hypothesis_has_the_total_of_the_tables_and_no_negative_cell() -> None:
    hypothesis = measured(truth(), 2).hypothesis()
    assert hypothesis.cells.min() >= 0
    assert hypothesis.count(Region.of(SHAPE)) == pytest.approx(hypothesis.total)
    assert abs(hypothesis.total - 500) < 100


def test_tables_of_other_shapes_are_refused() -> None:
    strategy = base_strategy(SHAPE, 2, NOISE)
    with pytest.raises(InvalidParameter):
        Base(strategy, {(0, 1): np.zeros((3, 4))})
