"""Trees against dense least squares."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric
from dovetail.workloads import Tree, best_shapes, best_tree
from dovetail.workloads.tree_queries import mean_range_variance, prefix_variances, step_error, step_weights
from dovetail.workloads.tree_shapes import closed_form

from .dense import covariance, measured_rows, step


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Small trees, most of them with a ragged end."""
    fans = draw(st.lists(st.integers(2, 5), max_size=3))
    cells = draw(st.integers(prod(fans), max(3 * prod(fans), 12)))
    return Tree(cells, (1, *accumulate(fans, mul)))


@given(trees(), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_the_estimate_is_least_squares(tree: Tree, seed: int) -> None:
    noisy = np.random.default_rng(seed).integers(-50, 50, sum(tree.blocks))
    parts = np.split(noisy, np.cumsum(tree.blocks)[:-1])
    expected = np.linalg.lstsq(measured_rows(tree), noisy, rcond=None)[0]
    assert np.allclose(tree.estimate(parts), expected, atol=1e-9)


@given(trees(), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_without_noise_the_cells_come_back(tree: Tree, seed: int) -> None:
    cells = np.random.default_rng(seed).integers(0, 100, tree.cells)
    counts = tree.counts(cells)
    assert np.array_equal(np.concatenate(counts), measured_rows(tree) @ cells)
    assert np.allclose(tree.estimate(counts), cells)


@given(trees(), st.data())
@settings(max_examples=60, deadline=None)
def test_weights_of_step_functions_are_those_of_least_squares(tree: Tree, data: st.DataObject) -> None:
    inner = data.draw(st.sets(st.integers(1, tree.cells), max_size=3)) - {tree.cells}
    edges = [0, *sorted(inner), tree.cells]
    values = [data.draw(st.sampled_from([0.0, 1.0, -0.3, 0.7])) for _ in edges[1:]]
    query = step(tree.cells, edges, values)
    expected = np.sort(np.abs(measured_rows(tree) @ covariance(tree) @ query))
    found = step_weights(tree, edges, values)
    repeated = np.repeat([abs(weight) for weight, _ in found], [count for _, count in found])
    assert np.allclose(np.sort(repeated), expected, atol=1e-9)
    assert repeated.max(initial=0) <= max(*values, 0) - min(*values, 0) + 1e-12
    law = step_error(tree, Geometric(1), edges, values)
    assert law.variance() == pytest.approx(Geometric(1).variance() * float(expected @ expected))


@given(trees(), st.sampled_from([(1.0, 0.0), (0.75, -0.25), (0.0, -1.0)]))
@settings(max_examples=60, deadline=None)
def test_variances_of_all_prefixes(tree: Tree, values: tuple[float, float]) -> None:
    whole = covariance(tree)
    found = prefix_variances(tree, *values, np.arange(1, tree.cells + 1))
    for edge, variance in enumerate(found, start=1):
        query = np.where(np.arange(tree.cells) < edge, *values)
        assert variance == pytest.approx(query @ whole @ query, abs=1e-9)


@given(trees())
@settings(max_examples=30, deadline=None)
def test_the_mean_over_all_ranges_and_the_closed_form(tree: Tree) -> None:
    whole, places = covariance(tree), np.arange(tree.cells)
    queries = [(places >= a) & (places <= b) for a in places for b in places if a <= b]
    mean = float(np.mean([query @ whole @ query for query in np.array(queries, float)]))
    assert mean_range_variance(tree) == pytest.approx(mean)
    ratio = closed_form(tree.cells, tree.widths) / mean
    if tree.cells % tree.widths[-1] == 0:
        assert ratio == pytest.approx(1)
    else:
        assert 1 - 1e-9 <= ratio < 1.8


# Root mean square errors over all ranges at pure epsilon 1, with the histogram's beside them.
@pytest.mark.parametrize(
    ("cells", "most", "histogram"),
    [(99, 6.9, 7.87), (121, 7.3, 8.69), (1500, 13.6, 30.4), (1_500_000, 37, 959.5)],
)
def test_errors_of_all_ranges_at_epsilon_1(cells: int, most: float, histogram: float) -> None:
    shape = best_tree(cells, lambda levels: Geometric(f"1/{levels}").variance())
    assert shape.variance**0.5 <= most
    flat = closed_form(cells, (1,)) * Geometric(1).variance()
    assert flat**0.5 == pytest.approx(histogram, rel=2e-3)


def test_no_two_level_tree_beats_the_one_that_is_found() -> None:
    found = best_shapes(99)[1]
    assert all(mean_range_variance(Tree(99, (1, w))) >= found.variance - 1e-12 for w in range(2, 100))


def test_the_predicted_error_is_the_simulated_one() -> None:
    shape = best_tree(99, lambda levels: Geometric(f"1/{levels}").variance())
    noise, squares = Geometric("1/2"), []
    for _ in range(300):
        parts = [np.asarray(noise.sample(blocks)) for blocks in shape.tree.blocks]
        errors = np.concatenate([[0.0], np.cumsum(shape.tree.estimate(parts))])
        pairs = np.subtract.outer(errors, errors)
        squares.append(np.mean(pairs[np.triu_indices(len(errors), 1)] ** 2))
    # About 1.5 % standard error.
    assert np.mean(squares) == pytest.approx(shape.variance, rel=0.12)


@pytest.mark.parametrize("widths", [(), (2,), (1, 1), (1, 3, 4), (1, 200), (1, 2.0)])
def test_bad_widths_are_refused(widths: tuple[int, ...]) -> None:
    with pytest.raises(InvalidParameter, match="widths"):
        Tree(100, widths)


@pytest.mark.parametrize("cells", [0, 10**7 + 1])
def test_too_few_or_too_many_cells_are_refused(cells: int) -> None:
    with pytest.raises(InvalidParameter, match="cells"):
        Tree(cells)


def test_counts_of_another_tree_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="measured"):
        Tree(10, (1, 5)).estimate([np.zeros(10)])
