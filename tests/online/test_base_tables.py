"""What a measured base says: unbiased estimates with intervals that hold, and a fit that errs less."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest
from scipy.stats import binom

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, PiecewiseGeometric
from dovetail.online import Base, Region
from dovetail.online.base_tables import CountEstimate, base_strategy
from dovetail.workloads import NoiseSum, Term

SHAPE = (3, 4, 2)
NOISE = Geometric("0.2")
DESIGNED = PiecewiseGeometric(["0.0065", "0.03", "0.0527", "0.0992"], [13, 27, 46])


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


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_the_deviation_in_closed_form_is_that_of_the_law(kind) -> None:
    base = measured(truth(), kind)
    mixed = Region.of(SHAPE, ([0, 1], np.arange(12).reshape(3, 4) % 3 == 0))
    regions = (REGION, mixed, Region.of(SHAPE), Region.product(SHAPE, {2: [True, False]}))
    estimates = [found for region in regions if (found := base.estimate(region)) is not None]
    assert len(estimates) >= 2
    for found in estimates:
        assert found.deviation == pytest.approx(found.error.std())


def test_a_clipped_value_lies_in_the_interval() -> None:
    found = measured(truth(), 2).estimate(REGION)
    low, high = found.interval("0.95")
    for fitted in (-1000, found.value, 1000):
        assert low <= found.clipped(fitted) <= high
    assert found.clipped(found.value) == round(found.value)


def test_a_value_is_clipped_to_1_6_deviations() -> None:
    found = CountEstimate(100.0, 10.0, lambda: NoiseSum([Term(1.0, NOISE, 1)]))
    assert [found.clipped(fitted) for fitted in (0, 84, 90, 115.6, 200)] == [84, 84, 90, 116, 116]


def test_the_law_is_asked_where_the_closed_form_does_not_hold() -> None:
    """Where tables have noises of their own, and where a condition mixes columns beside another one."""
    table = truth()
    mixed = Region.of(SHAPE, ([0, 1], np.arange(12).reshape(3, 4) % 3 == 0), ([2], [True, False]))
    found = measured(table, 3).estimate(mixed)
    assert found is not None
    assert found.deviation == pytest.approx(found.error.std())
    alike = base_strategy(SHAPE, 1, NOISE)
    strategy = replace(alike, noises=(NOISE, Geometric("0.9"), NOISE))
    released = {columns: np.zeros(SHAPE[columns[0]], int) for columns in strategy.measured}
    for axis, size in enumerate(SHAPE):
        found = Base(strategy, released).estimate(
            Region.product(SHAPE, {axis: [True] + [False] * (size - 1)})
        )
        assert found is not None
        assert found.deviation == pytest.approx(found.error.std())


@pytest.mark.parametrize("kind", [0, 4, "some"])
def test_a_base_is_the_histogram_or_tables_of_some_columns(kind) -> None:
    with pytest.raises(InvalidParameter):
        base_strategy(SHAPE, kind, NOISE)
    with pytest.raises(InvalidParameter, match="base"):
        base_strategy(SHAPE, 0, NOISE)


@pytest.mark.parametrize("noise", [Geometric("0.05"), DiscreteGaussian(9), DESIGNED])
def test_a_95_percent_interval_is_wider_than_the_clipping(noise) -> None:
    for count in (1, 2, 30):
        law = NoiseSum([Term(0.7, noise, count), Term(0.3, noise, 2 * count)])
        assert law.two_sided("0.05") >= 1.6 * law.std()


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


def test_tables_whose_noise_is_never_seen_are_fitted_too() -> None:
    """Its variance is below every float; the run was paid for before this was looked at."""
    strategy = base_strategy(SHAPE, 2, Geometric(1000))
    tables = {columns: truth().sum(axis=({0, 1, 2} - {*columns}).pop()) for columns in strategy.measured}
    assert Base(strategy, tables).hypothesis().total == pytest.approx(500)


def test_tables_of_other_shapes_are_refused() -> None:
    strategy = base_strategy(SHAPE, 2, NOISE)
    with pytest.raises(InvalidParameter):
        Base(strategy, {(0, 1): np.zeros((3, 4))})


def test_an_interval_of_floats_is_never_narrower_than_the_exact_one() -> None:
    """Errors are multiples of a third or so: an end that a float puts below one would miss it each time."""
    shape, random = (3, 2, 2), np.random.default_rng(5)
    strategy, region = base_strategy(shape, 1, NOISE), Region.product(shape, {0: [True, True, False]})
    for _ in range(100):
        released = {columns: random.integers(-9, 99, shape[columns[0]]) for columns in strategy.measured}
        found = Base(strategy, released).estimate(region)
        assert found is not None
        whole, below = strategy.exact_table(released, (0,))
        exact, half = Fraction(int(whole[0] + whole[1]), below), Fraction(found.error.two_sided("0.1"))
        low, high = found.interval("0.9")
        assert Fraction(low) <= exact - half < exact + half <= Fraction(high)


@pytest.mark.parametrize("kind", [2, "histogram"])
def test_an_estimate_keeps_nothing_as_large_as_its_table(kind) -> None:
    """Each cell of a histogram kept a mask over all of them: 90,720 cells took 8 GB."""
    region = Region.product(SHAPE, {0: [True, False, False], 1: [False, True, False, False]})
    found = measured(truth(), kind).estimate(region)
    assert found is not None
    kept = [cell.cell_contents for cell in found.law.__closure__ or ()]
    assert not any(isinstance(each, np.ndarray) for each in kept)
    assert not region._known
    query = region.dense() if kind == "histogram" else region.over((0, 1))
    table = (0, 1, 2) if kind == "histogram" else (0, 1)
    assert found.error == measured(truth(), kind).strategy.error(table, query.astype(float))
