"""Forecasts against dense least squares, and the planner's choices."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.online import design_online
from dovetail.online.forecast import ForecastCount, deviation, forecasts, product_variance, public_questions
from dovetail.online.planner import _chosen_updates
from dovetail.privacy import Budget
from dovetail.workloads import MarginalWorkload

ADULT = (9, 16, 7, 2, 2, 6, 5)
APPROXIMATE = Budget.approximate(1, "1e-6")


def indicator(shape, masks) -> np.ndarray:
    """The cells, flattened, that meet a mask on each of some axes."""
    whole = [np.asarray(masks.get(axis, np.ones(size)), float) for axis, size in enumerate(shape)]
    flat = whole[0]
    for each in whole[1:]:
        flat = np.outer(flat, each).ravel()
    return flat


@pytest.mark.parametrize("way", [1, 2, 3])
def test_the_variance_is_that_of_dense_least_squares(way: int) -> None:
    shape = (2, 3, 4)
    rows = []
    for table in combinations(range(3), way):
        for cell in product(*(range(shape[axis]) for axis in table)):
            rows.append(
                indicator(shape, {a: np.arange(shape[a]) == c for a, c in zip(table, cell, strict=True)})
            )
    covariance = np.linalg.pinv(np.array(rows).T @ np.array(rows))
    for axes, values in [((1,), (2,)), ((0, 2), (1, 3)), ((0, 1, 2), (2, 1, 2))]:
        variance = product_variance(MarginalWorkload.of_ways(shape, way), ForecastCount(axes, values))
        if len(axes) > way:
            assert variance == np.inf
            continue
        query = indicator(shape, {a: np.arange(shape[a]) < v for a, v in zip(axes, values, strict=True)})
        assert variance == pytest.approx(query @ covariance @ query, rel=1e-9)


def test_public_questions_have_the_declared_form() -> None:
    for question in public_questions(ADULT, 3, "point"):
        assert question.values == (1, 1, 1)
        assert len(set(question.axes)) == 3
    subsets = public_questions(ADULT, 2, "subset")
    shares = [v / ADULT[a] for q in subsets for a, v in zip(q.axes, q.values, strict=True)]
    assert 0.5 < np.mean(shares) < 0.75
    assert max(shares) == 1


def test_questions_about_columns_of_many_values_find_random_bits_enough() -> None:
    questions = public_questions((700, 700), 2, "subset")
    assert len(questions) == 200
    assert all(250 < value < 450 for each in questions for value in each.values)


def test_deviations_are_those_of_the_best_plain_noise() -> None:
    assert deviation(Budget.pure(1), 100) == pytest.approx(np.sqrt(2) * 100)
    assert deviation(APPROXIMATE, 1) == pytest.approx(np.sqrt(2))
    assert deviation(APPROXIMATE, 100) ** 2 == pytest.approx(1784.8, rel=1e-3)
    assert deviation(Budget.zeta("0.5", max_epsilon=1), 10) == pytest.approx(np.sqrt(2) * 20)


def test_forecasts_are_those_measured_on_adult() -> None:
    """Measured mean errors: 106 plain, 20 from 3-way tables without least squares, 33 from cells."""
    errors = {each.name: each.error for each in forecasts(ADULT, 1000, 3, "point", APPROXIMATE, 1)}
    assert errors["plain"] * 0.8 == pytest.approx(106, rel=0.02)
    assert 13 < errors["3-way"] * 0.8 < 20
    assert 25 < errors["histogram"] * 0.8 < 45


def test_a_histogram_errs_by_the_noise_of_the_cells_that_a_question_adds_up() -> None:
    shape, budget = (2, 3, 2, 2, 2), Budget.pure(2)
    (found,) = (each for each in forecasts(shape, 9, 2, "subset", budget, 1) if each.name == "histogram")
    cells = [
        indicator(
            shape, {a: np.arange(shape[a]) < v for a, v in zip(each.axes, each.values, strict=True)}
        ).sum()
        for each in public_questions(shape, 2, "subset")
    ]
    assert found.error == pytest.approx(deviation(budget, 1) * np.sqrt(np.mean(cells)))


@pytest.mark.parametrize(
    ("queries", "expected"), [(2, "plain"), (1000, "3-way")], ids=["few questions", "many questions"]
)
def test_few_questions_are_best_answered_one_by_one(queries: int, expected: str) -> None:
    assert forecasts(ADULT, queries, 3, "subset", APPROXIMATE, 1)[0].name == expected


def test_the_planner_takes_a_base_that_answers_without_bias() -> None:
    plan = design_online(ADULT, queries=1000, budget=Budget.pure(1))
    assert (plan.base, plan.tables, plan.updates, plan.alpha) == (3, 35, 0, None)
    assert plan.loss.epsilon <= 1
    assert "without bias" in plan.explain()
    assert next(label.get_text() for label in plan.plot().get_yticklabels()) == "3-way"


def test_a_guard_is_there_where_it_is_asked_for() -> None:
    plan = design_online(ADULT, queries=1000, budget=Budget.pure(1), base=None, updates=5)
    assert plan.guard.alpha("0.95") == plan.alpha
    assert f"±{plan.alpha}" in plan.explain()
    assert "multiplicative weights" in plan.why
    both = design_online(ADULT, queries=1000, budget=Budget.pure(1), base=2, updates=5)
    assert both.tables == 21
    assert not both.guard.counts_rows
    assert "biased" in both.why
    assert both.loss.epsilon <= 1


@pytest.mark.parametrize(
    "change",
    [
        {"shape": ()},
        {"shape": (10**4, 10**4)},
        {"shape": (3, 0)},
        {"ways": 8},
        {"ways": 0},
        {"queries": 0},
        {"base": None, "updates": 0},
        {"base": "tables"},
        {"base": 9},
        {"updates": -1},
        {"updates": "many"},
        {"promise": 1},
        {"form": "any"},
    ],
)
def test_what_cannot_be_planned_is_refused(change) -> None:
    whole = {"shape": ADULT, "queries": 10, "budget": Budget.pure(1)}
    with pytest.raises(InvalidParameter):
        design_online(**(whole | change))


@pytest.mark.parametrize(
    ("shape", "ways", "names"),
    [
        ((2, 3, 4, 5), 1, {"plain", "1-way", "2-way", "3-way", "histogram"}),
        ((2, 3, 4, 5), 3, {"plain", "3-way", "histogram"}),
        ((2, 3, 4, 5, 6), 4, {"plain", "4-way", "histogram"}),
        ((2, 3), 1, {"plain", "1-way", "histogram"}),
        ((2, 3), 2, {"plain", "histogram"}),
        ((2, 2, 2, 2, 2), 1, {"plain", "1-way", "2-way", "3-way", "histogram"}),
    ],
)
def test_bases_are_compared_from_the_ways_of_the_questions_to_three(
    shape: tuple[int, ...], ways: int, names: set[str]
) -> None:
    found = forecasts(shape, 100, ways, "point", Budget.pure(1), 1)
    assert sorted(each.name for each in found) == sorted(names)
    assert [each.bar for each in found] == pytest.approx([1.959964 * each.error for each in found])
    twice = {each.name: each.bar for each in forecasts(shape, 100, ways, "point", Budget.pure(1), 2)}
    for each in found:
        assert twice[each.name] == pytest.approx(each.bar * (1 if each.name == "plain" else 2))
    assert [each.bar for each in found] == sorted(each.bar for each in found)


def test_updates_are_up_to_a_million() -> None:
    assert _chosen_updates(10**6, None) == 10**6
    assert _chosen_updates(0, 1) == _chosen_updates("auto", 1) == 0
    with pytest.raises(InvalidParameter, match="updates"):
        _chosen_updates(10**6 + 1, None)


def test_a_delta_below_all_floats_buys_what_a_pure_budget_buys() -> None:
    tiny = design_online((9, 2, 2), queries=100, budget=Budget.approximate(1, "1e-400"))
    pure = design_online((9, 2, 2), queries=100, budget=Budget.pure(1))
    assert (tiny.base, tiny.base_noise, tiny.charge) == (pure.base, pure.base_noise, pure.charge)


def test_a_delta_that_can_be_told_apart_buys_less_noise() -> None:
    """Many small losses add up to less where a delta is paid, as they do in any composition."""
    with_delta, without = (
        design_online((4, 3, 2), queries=1000, budget=budget, base=None, updates=20)
        for budget in (Budget.approximate(1, "1e-6"), Budget.pure(1))
    )
    assert with_delta.charge.epsilon is None or with_delta.charge.delta > 0
    assert with_delta.alpha is not None
    assert without.alpha is not None
    assert with_delta.alpha < without.alpha
