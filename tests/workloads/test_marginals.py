"""Marginals: residuals and strategies against dense linear algebra, on every cell of small domains."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, IntegerNoise
from dovetail.workloads import MarginalWorkload, Strategy
from dovetail.workloads.marginals import Columns, centred, subsets, whole_residual
from dovetail.workloads.strategies import KINDS, Kind, _distinct

NOISES = [Geometric(1), Geometric("0.5"), DiscreteGaussian(2)]


@st.composite
def workloads(draw: st.DrawFn) -> MarginalWorkload:
    """Up to three columns of up to four values, and any tables over them."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    every = [each for each in subsets(tuple(range(len(sizes)))) if each]
    tables = draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))
    return MarginalWorkload(sizes, tuple(sorted(tables)))


def margins(wanted: MarginalWorkload, joint: np.ndarray) -> dict[Columns, np.ndarray]:
    every = tuple(range(len(wanted.sizes)))
    return {table: wanted.margin(joint, every, table) for table in wanted.tables}


def cells(wanted: MarginalWorkload) -> list[np.ndarray]:
    """One table of the joint for each of its cells, with a single row in it."""
    found = []
    for place in product(*map(range, wanted.sizes)):
        joint = np.zeros(wanted.sizes, int)
        joint[place] = 1
        found.append(joint)
    return found


def measured(strategy: Strategy) -> tuple[np.ndarray, np.ndarray]:
    """The matrix from cells of the joint to released numbers, and the variances of these."""
    columns = []
    for joint in cells(strategy.wanted):
        numbers = strategy.numbers(margins(strategy.wanted, joint))
        columns.append(np.concatenate([numbers[each].ravel() for each in strategy.measured]))
    sizes = [strategy.wanted.cells(each) for each in strategy.measured]
    return np.array(columns).T, np.repeat([noise.variance() for noise in strategy.noises], sizes)


def chosen(kind: Kind, wanted: MarginalWorkload, data: st.DataObject) -> Strategy:
    count = len(wanted.residuals if kind == "residuals" else wanted.tables)
    return Strategy(kind, wanted, tuple(data.draw(st.sampled_from(NOISES)) for _ in range(count)))


@given(workloads(), st.sampled_from(KINDS), st.data())
@settings(max_examples=60, deadline=None)
def test_without_noise_the_tables_come_back(
    wanted: MarginalWorkload, kind: Kind, data: st.DataObject
) -> None:
    joint = np.random.default_rng(1).integers(0, 50, wanted.sizes)
    strategy, truth = chosen(kind, wanted, data), margins(wanted, joint)
    found = strategy.estimate(strategy.numbers(truth))
    assert all(np.allclose(found[table], truth[table]) for table in wanted.tables)


def least_covariance(matrix: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the covariance of weighted least squares; the square root stands further from rounding."""
    solved = np.linalg.pinv(matrix / np.sqrt(variances)[:, None], rcond=1e-10)
    return solved @ solved.T


@given(workloads(), st.sampled_from(["joint", "residuals"]), st.data())
@settings(max_examples=60, deadline=None)
def test_estimates_and_variances_are_those_of_least_squares(
    wanted: MarginalWorkload, kind: Kind, data: st.DataObject
) -> None:
    strategy = chosen(kind, wanted, data)
    matrix, variances = measured(strategy)
    covariance = least_covariance(matrix, variances)
    noisy = np.random.default_rng(2).integers(-20, 20, len(matrix))
    sizes = [wanted.cells(each) for each in strategy.measured]
    parts = np.split(noisy, np.cumsum(sizes)[:-1])
    released = {c: part.reshape(wanted.shape(c)) for c, part in zip(strategy.measured, parts, strict=True)}
    found = strategy.estimate(released)
    joint = covariance @ matrix.T @ (noisy / variances)
    for table in wanted.tables:
        queries = np.array([margins(wanted, cell)[table].ravel() for cell in cells(wanted)]).T
        assert np.allclose(found[table].ravel(), queries @ joint, atol=1e-8)
        every = np.diag(queries @ covariance @ queries.T)
        assert np.allclose(every, strategy.variance(table))
        assert strategy.error(table).variance() == pytest.approx(strategy.variance(table))


@given(workloads(), st.sampled_from(KINDS), st.data())
@settings(max_examples=40, deadline=None)
def test_errors_of_sums_of_cells(wanted: MarginalWorkload, kind: Kind, data: st.DataObject) -> None:
    strategy = chosen(kind, wanted, data)
    table = wanted.tables[0]
    query = np.random.default_rng(3).integers(0, 2, wanted.shape(table)).astype(float)
    matrix, variances = measured(strategy)
    if kind == "plain":
        expected = float(strategy.noises[0].variance() * query.sum())
    else:
        covariance = least_covariance(matrix, variances)
        cell_query = np.array([(margins(wanted, cell)[table] * query).sum() for cell in cells(wanted)])
        expected = float(cell_query @ covariance @ cell_query)
    assert strategy.error(table, query).variance() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["joint", "residuals", "uneven"])
def test_tables_agree_to_the_last_digit_on_what_they_share(kind: str) -> None:
    wanted = MarginalWorkload.of_ways((4, 3, 2, 5), 2)
    if kind == "uneven":
        rates = [Fraction(3 + place, 37) for place in range(len(wanted.tables))]
        strategy = Strategy("joint", wanted, tuple(map(Geometric, rates)))
    else:
        strategy = Strategy.alike(kind, wanted, Geometric("0.1"))  # type: ignore[arg-type]
    noisy = {
        each: np.asarray(noise.sample(wanted.shape(each)))
        for each, noise in zip(strategy.measured, strategy.noises, strict=True)
    }
    found = strategy.estimate(noisy)
    exact = {}
    for table in [*wanted.tables, (0,), (2,), ()]:
        whole, below = strategy.exact_table(noisy, table)
        exact[table] = np.asarray(whole * Fraction(1, below), object)
    for table in wanted.tables:
        assert np.allclose(exact[table].astype(float), found[table], atol=1e-9)
    for one, other in combinations(exact, 2):
        shared = tuple(i for i in one if i in other)
        left, right = (wanted.margin(exact[each], each, shared) for each in (one, other))
        assert np.array_equal(left, right)


@pytest.mark.parametrize("kind", KINDS)
def test_bars_cover_each_cell_and_half_of_them_do_not(kind: Kind) -> None:
    wanted, runs, chance = MarginalWorkload.of_ways((3, 2, 4), 2), 2000, 0.1
    strategy = Strategy.alike(kind, wanted, Geometric("0.5"))
    drawn = {
        each: np.asarray(noise.sample((runs, *wanted.shape(each))))
        for each, noise in zip(strategy.measured, strategy.noises, strict=True)
    }
    bar = strategy.error((0, 2)).two_sided(chance)
    errors = [
        strategy.estimate({each: numbers[run] for each, numbers in drawn.items()})[0, 2][1, 3]
        for run in range(runs)
    ]
    limit = binom.isf(1e-9, runs, chance)
    assert np.sum(np.abs(errors) > bar) <= limit
    assert np.sum(np.abs(errors) > bar / 2) > limit
    assert np.var(errors) == pytest.approx(strategy.variance((0, 2)), rel=0.25)


@pytest.mark.parametrize("kind", KINDS)
def test_simultaneous_bars_hold_all_cells_and_single_ones_do_not(kind: Kind) -> None:
    wanted, runs, chance = MarginalWorkload.of_ways((3, 2, 4), 2), 300, 0.2
    strategy = Strategy.alike(kind, wanted, Geometric("0.5"))
    alone, together = strategy.bars(chance), strategy.bars(chance, simultaneous=True)
    outside = {"alone": 0, "together": 0}
    for _ in range(runs):
        noisy = {
            each: np.asarray(noise.sample(wanted.shape(each)))
            for each, noise in zip(strategy.measured, strategy.noises, strict=True)
        }
        found = strategy.estimate(noisy)
        outside["alone"] += any(np.abs(found[table]).max() > alone[table] for table in wanted.tables)
        outside["together"] += any(np.abs(found[table]).max() > together[table] for table in wanted.tables)
    limit = binom.isf(1e-9, runs, chance)
    assert outside["together"] <= limit < outside["alone"]


@given(workloads(), st.sampled_from(KINDS), st.data())
@settings(max_examples=60, deadline=None)
@example(MarginalWorkload((2, 4), ((0, 1),)), "plain", None)
def test_a_cell_of_any_table_errs_by_the_noises_that_its_estimate_adds_up(
    wanted: MarginalWorkload, kind: Kind, data: st.DataObject | None
) -> None:
    """The weight of each released number is read off the estimate: one is 1 and all others are 0."""
    strategy = Strategy.alike(kind, wanted, NOISES[0]) if data is None else chosen(kind, wanted, data)
    within = sorted({part for table in wanted.tables for part in subsets(table)})
    for columns in within if data is None else [data.draw(st.sampled_from(within))]:
        expected = 0.0
        for each, noise in zip(strategy.measured, strategy.noises, strict=True):
            for place in np.ndindex(wanted.shape(each)):
                released = {other: np.zeros(wanted.shape(other), int) for other in strategy.measured}
                released[each][place] = 1
                whole, below = strategy.exact_table(released, columns)
                expected += (np.ravel(whole)[0] / below) ** 2 * noise.variance()
        assert strategy.cell_error(columns).variance() == pytest.approx(expected)


def test_exact_tables_of_a_million_rows_come_back() -> None:
    """The denominators of these sizes, times the rows, are beyond 64 bits."""
    wanted = MarginalWorkload.of_ways((50, 7, 12, 31, 9), 2)
    strategy = Strategy.alike("joint", wanted, Geometric(1))
    joint = np.zeros(wanted.sizes, int)
    joint[1, 2, 3, 4, 5] = 10**6
    truth = margins(wanted, joint)
    for table in wanted.tables:
        whole, below = strategy.exact_table(truth, table)
        assert np.array_equal(whole, truth[table].astype(object) * below)


def test_whole_residuals_are_residuals_times_the_cells() -> None:
    table = np.random.default_rng(0).integers(0, 9, (3, 4, 2))
    assert np.allclose(whole_residual(table), centred(table) * table.size)


def one_noise_too_few() -> tuple[IntegerNoise, ...]:
    return (Geometric(1),)


@pytest.mark.parametrize(
    ("sizes", "tables"),
    [((2, 2), ()), ((2, 2), ((1, 0),)), ((2, 2), ((0, 2),)), ((2, 2), ((0,), (0,))), ((0, 2), ((0,),))],
)
def test_bad_workloads_are_refused(sizes: tuple[int, ...], tables: tuple[Columns, ...]) -> None:
    with pytest.raises(InvalidParameter):
        MarginalWorkload(sizes, tables)


def test_bad_strategies_and_queries_are_refused() -> None:
    wanted = MarginalWorkload((2, 3), ((0,), (1,)))
    with pytest.raises(InvalidParameter, match="noises"):
        Strategy("joint", wanted, one_noise_too_few())
    with pytest.raises(InvalidParameter, match="query"):
        Strategy.alike("joint", wanted, Geometric(1)).error((0,), np.zeros(3))
    with pytest.raises(InvalidParameter, match="way"):
        MarginalWorkload.of_ways((2, 3), 3)


@pytest.mark.parametrize("scale", [1.0, 1e-13, 1e13])
def test_weights_count_as_equal_by_their_share_of_the_largest_and_signs_do_not_matter(scale: float) -> None:
    given = np.array([[2.0, -1.0, 0.0], [2.0 - 1e-13, 1.0, 1e-14]]) * scale
    weights, counts = _distinct(given)
    assert dict(zip(weights.tolist(), counts.tolist(), strict=True)) == {2 * scale: 2, scale: 2}


def test_a_smaller_table_comes_from_the_smallest_plain_table_around_it() -> None:
    """Its cell is the sum of as few noises as can be, whichever table was named first."""
    for tables in (((0,), (0, 1)), ((0, 1), (0,))):
        wanted = MarginalWorkload((3, 4), tables)
        strategy = Strategy.alike("plain", wanted, Geometric(1))
        for columns, noises in (((0,), 1), ((), 3), ((1,), 3), ((0, 1), 1)):
            found = strategy.cell_error(columns).variance()
            assert found == pytest.approx(noises * Geometric(1).variance())
        released = {(0,): np.array([5, 6, 7]), (0, 1): np.ones((3, 4), int)}
        assert strategy.exact_table(released, (0,))[0].tolist() == [5, 6, 7]
