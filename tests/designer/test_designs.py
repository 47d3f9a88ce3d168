"""Designs keep what was asked, and are at least as good as the standard noises."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dovetail as dv
from dovetail.designer import Goal, design
from dovetail.errors import GoalUnreachable, InvalidParameter
from dovetail.noise import Geometric, PiecewiseGeometric
from dovetail.privacy import privacy_loss


def cost(noise: PiecewiseGeometric, queries: int, epsilon: str, sensitivity: int = 1) -> float:
    return privacy_loss(noise, sensitivity=sensitivity).compose(queries).delta(epsilon)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "3"])
def test_for_a_pure_budget_the_geometric_noise_is_returned_exactly(epsilon: str) -> None:
    assert design(epsilon=epsilon).noise == Geometric(epsilon)
    assert design(epsilon=epsilon, delta=0).noise == Geometric(epsilon)
    assert design(epsilon=epsilon, queries=10).noise == Geometric(Fraction(epsilon) / 10)
    assert design(epsilon=Fraction(epsilon) / 10, sensitivity=4).noise == Geometric(
        Fraction(epsilon) / 10
    ).stretched(4)
    assert design(epsilon=epsilon, sensitivity=(1, -1)).noise == Geometric(Fraction(epsilon) / 2)


@pytest.mark.parametrize("limit", ["1e399", "1e309", "1.1e100", "9e-101", "1e-320", "1e-399"])
@pytest.mark.parametrize(
    ("name", "more"),
    [("epsilon", {}), ("zeta", {}), ("max_epsilon", {"zeta": "0.5"}), ("max_epsilon", {"within": 5})],
)
def test_a_limit_that_no_rate_can_have_is_refused_by_name(
    name: str, more: dict[str, object], limit: str
) -> None:
    with pytest.raises(InvalidParameter) as refused:
        design(**{name: limit}, **more)
    assert refused.value.parameter == name


@pytest.mark.parametrize("epsilon", [10**3, 10**9, 2**63])
def test_a_delta_beside_a_very_large_epsilon_is_no_fault(epsilon: int) -> None:
    """Where a search for a Gaussian begins, two large numbers of nearly the same size are taken apart."""
    assert design(epsilon=epsilon, delta="1e-6", queries=10).utility.variance < 1e-6


def test_in_the_middle_the_design_beats_both_standard_noises_by_far() -> None:
    chosen = design(epsilon=1, delta="1e-6", queries=10)
    assert cost(chosen.noise, 10, "1") <= 1e-6
    assert chosen.utility.variance < 161
    by_name = {other.name: other.value for other in chosen.alternatives}
    assert by_name["geometric"] == pytest.approx(199.58, abs=0.05)
    assert by_name["Gaussian"] == pytest.approx(178.5, abs=0.1)


@pytest.mark.parametrize(("pieces", "limit"), [(1, 199.6), (2, 177), (3, 167.7), (8, 161)])
def test_more_pieces_are_never_worse(pieces: int, limit: float) -> None:
    chosen = design(epsilon=1, delta="1e-6", queries=10, pieces=pieces)
    assert len(chosen.noise.rates) <= pieces
    assert chosen.utility.variance <= limit
    assert cost(chosen.noise, 10, "1") <= 1e-6


def test_many_queries_come_within_two_percent_of_the_gaussian() -> None:
    chosen = design(epsilon=1, delta="1e-6", queries=300)
    assert cost(chosen.noise, 300, "1") <= 1e-6
    assert chosen.utility.variance < 1.02 * 5354.4


@pytest.mark.parametrize("queries", [1, 3, 20])
def test_a_design_is_never_worse_than_the_geometric_noise(queries: int) -> None:
    chosen = design(epsilon="0.7", delta="1e-9", queries=queries)
    assert chosen.utility.variance <= Geometric(Fraction("0.7") / queries).variance() * (1 + 1e-12)
    assert cost(chosen.noise, queries, "0.7") <= 1e-9


@pytest.mark.parametrize("minimise", ["mean_abs", ("outside", 5), ("quantile", "0.95")])
def test_each_measure_of_error_is_best_served_by_its_own_design(minimise: object) -> None:
    def measured(noise: PiecewiseGeometric) -> float:
        if minimise == "mean_abs":
            return noise.mean_abs()
        return noise.quantile_abs("0.95") if minimise[0] == "quantile" else float(noise.sf(5))  # type: ignore[index]

    own = design(epsilon=2, delta="1e-6", queries=10, minimise=minimise)  # type: ignore[arg-type]
    other = design(epsilon=2, delta="1e-6", queries=10, minimise="variance")
    assert measured(own.noise) <= measured(other.noise)
    assert cost(own.noise, 10, "2") <= 1e-6


def test_a_zeta_budget_is_kept_and_its_worst_case_limited() -> None:
    chosen = design(zeta="0.328", max_epsilon=1)
    assert chosen.loss.zeta <= 0.328
    assert chosen.total.worst <= 1
    assert chosen.utility.variance < 7 < Geometric("0.328").variance()
    assert design(zeta="0.328", pieces=1).noise == Geometric("0.328")
    three = design(zeta="0.9", queries=3, max_epsilon=3)
    assert three.total.zeta <= 0.9
    assert three.utility.variance < design(zeta="0.9", queries=3, pieces=1).utility.variance


def test_the_papers_mixture_is_beaten_with_its_own_break_point() -> None:
    paper = dv.GeometricMixture("0.2", 1, 5)
    chosen = design(zeta=str(privacy_loss(paper).zeta), max_epsilon=1, pieces=2, break_point=5)
    assert chosen.noise.breaks == (5,)
    assert chosen.utility.variance <= paper.variance() * 1.001


def test_the_least_cost_for_an_accuracy_meets_it() -> None:
    pure = design(within=5, queries=12)
    assert len(pure.noise.rates) == 1
    assert pure.noise.within(5) >= 0.95
    assert Geometric(pure.noise.rates[0] * Fraction("0.999")).within(5) < 0.95
    approximate = design(within=5, queries=12, minimise=("epsilon", "1e-6"))
    assert approximate.noise.within(5) >= 0.95
    assert approximate.total.epsilon_at("1e-6") < 0.95 * pure.total.epsilon_at("1e-6")
    assert design(within=5, queries=12, delta="1e-6").noise == approximate.noise
    zeta = design(within=5, queries=12, minimise="zeta")
    assert zeta.noise.within(5) >= 0.95
    assert zeta.loss.zeta < pure.loss.zeta


def test_several_goals_hold_at_once() -> None:
    goals = [Goal(within=5, probability=0.8), Goal(within=8, probability=0.95, cells=16)]
    chosen = design(goals=goals, minimise="zeta")
    assert chosen.noise.within(5) >= 0.8
    assert chosen.noise.error_bound("0.05", 16) <= 8
    assert [reached >= float(goal.probability) for goal, reached in chosen.utility.reached] == [True, True]


def test_a_budget_and_a_goal_hold_together() -> None:
    free = design(epsilon=1, delta="1e-6", queries=10)
    level = free.noise.within(20)
    both = design(epsilon=1, delta="1e-6", queries=10, within=20, probability=str(round(level + 0.0015, 4)))
    assert both.noise.within(20) >= level + 0.0014
    assert both.utility.variance >= free.utility.variance * 0.999


@pytest.mark.parametrize("sensitivity", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_a_sensitivity_is_paid_for_at_its_own_shift(sensitivity: int) -> None:
    chosen = design(epsilon=1, delta="1e-6", queries=10, sensitivity=sensitivity)
    assert cost(chosen.noise, 10, "1", sensitivity) <= 1e-6
    assert chosen.utility.variance < 161 * sensitivity**2


def test_a_goal_out_of_reach_says_how_near_one_can_get() -> None:
    with pytest.raises(GoalUnreachable) as caught:
        design(epsilon="0.1", within=2, probability="0.99")
    assert str(caught.value) == (
        "within=2 at probability 0.99 with epsilon 0.1 is not possible; "
        "at this budget the best is probability 0.222; at this accuracy the least epsilon is 1.72."
    )
    assert Geometric("0.1").within(2) == pytest.approx(0.222, abs=5e-4)
    assert Geometric("1.72").within(2) >= 0.99 > Geometric("1.71").within(2)
    with pytest.raises(
        GoalUnreachable, match=r"with max_epsilon 0\.1 is not possible; .*least epsilon is 1\.72"
    ):
        design(within=2, probability="0.99", max_epsilon="0.1", minimise="zeta")
    with pytest.raises(GoalUnreachable, match=r"with zeta 0\.1 .*least zeta is 1\.1"):
        design(zeta="0.1", within=2, probability="0.99")
    with pytest.raises(GoalUnreachable, match=r"^within=4 at probability 0\.9 with max_epsilon 0\.2 is not"):
        design(zeta="0.5", max_epsilon="0.2", within=4, probability="0.9")


@pytest.mark.parametrize(
    "extreme",
    [
        {"within": 10**30},
        {"within": 0, "probability": "0." + "9" * 300},
        {"within": 0, "probability": "0." + "9" * 30, "delta": "1e-6", "queries": 5},
        {"epsilon": "1e-50", "delta": "1e-6", "queries": 10},
        {"epsilon": 10**6, "delta": "1e-6", "queries": 10},
        {"epsilon": 1, "delta": "1e-300", "queries": 100},
        {"epsilon": 1, "delta": "1e-400", "queries": 5},
        {"within": 5, "delta": "1e-400", "queries": 5},
        {"within": 5, "minimise": ("epsilon", "1e-400"), "queries": 5},
        {"epsilon": 1, "delta": "0.999", "queries": 5},
        {"zeta": "1e-9"},
        {"epsilon": 1, "delta": "1e-6", "queries": 10, "break_point": 10**6},
        {"epsilon": 1, "delta": "1e-6", "queries": 10, "sensitivity": 10**9},
    ],
    ids=str,
)
def test_extreme_wishes_are_met_without_fuss(extreme: dict[str, object]) -> None:
    chosen = design(**extreme)  # type: ignore[arg-type]
    if "delta" in extreme and "epsilon" in extreme:
        assert chosen.total.delta(str(extreme["epsilon"])) <= float(str(extreme["delta"]))
    if "within" in extreme:
        assert chosen.utility.reached[0][1] >= 0.95
        half = Geometric(chosen.noise.rates[0] / 2)
        assert half.error_bound(1 - chosen.task.goals[0].probability) > chosen.task.goals[0].within
    assert chosen.explain()


def test_the_same_question_has_the_same_answer() -> None:
    from dovetail.designer import designs

    first = design(epsilon=1, delta="1e-5", queries=6).noise
    designs._designed.cache_clear()
    designs._best.cache_clear()
    assert design(epsilon=1, delta="1e-5", queries=6).noise == first


def test_the_public_name_is_the_function_of_the_package() -> None:
    assert dv.design is design
    assert dv.designer.design is design


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "epsilon"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": 1, "zeta": 1}, "zeta"),
        ({"zeta": 1, "delta": "1e-6"}, "delta"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": -1}, "delta"),
        ({"epsilon": 1, "queries": 0}, "queries"),
        ({"epsilon": 1, "pieces": 17}, "pieces"),
        ({"epsilon": 1, "pieces": 1, "break_point": 5}, "break_point"),
        ({"epsilon": 1, "minimise": "zeta"}, "minimise"),
        ({"within": 5, "minimise": "variance"}, "minimise"),
        ({"within": -1}, "within"),
        ({"within": 5, "probability": 1}, "probability"),
        ({"within": 5, "cells": 0}, "cells"),
        ({"epsilon": 1, "sensitivity": 0}, "sensitivity"),
        ({"epsilon": 1, "max_epsilon": 0}, "max_epsilon"),
        ({"goals": ["exact"]}, "goals"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(arguments: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name}"):
        design(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [(1, "a factor 2.72."), (699, "a factor 3.74e+303."), (1000, "a factor exp(1000).")],
)
def test_the_factor_of_the_worst_case_is_never_too_small(epsilon: int, factor: str) -> None:
    assert factor in design(epsilon=epsilon).explain()


def test_the_explanation_fits_a_screen_and_states_both_guarantees() -> None:
    text = design(epsilon=1, delta="1e-6", queries=10).explain()
    assert len(text.splitlines()) <= 24
    assert max(len(line) for line in text.splitlines()) <= 160
    for part in ("±26 in 95%", "(epsilon 1, delta 1e-6)", "2.8e-5", "worst case", "zeta", "Gaussian"):
        assert part in text


def test_the_picture_shows_noise_error_and_privacy() -> None:
    figure = design(epsilon=1, delta="1e-6", queries=10, pieces=2).plot()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [
        "What is added to an answer",
        "How far answers are off",
        "Privacy of all queries together",
    ]
    assert all(np.isfinite(axes.get_xlim()).all() for axes in figure.axes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queries", "epsilon", "delta"),
    [(30, "3", "1e-9"), (100, "0.1", "1e-6"), (1000, "0.1", "1e-9"), (1000, "3", "1e-6")],
)
def test_the_corners_of_the_grid_are_within_two_percent_of_the_gaussian(
    queries: int, epsilon: str, delta: str
) -> None:
    chosen = design(epsilon=epsilon, delta=delta, queries=queries)
    assert cost(chosen.noise, queries, epsilon) <= float(delta)
    by_name = {other.name: other.value for other in chosen.alternatives}
    assert chosen.utility.variance <= 1.02 * by_name["Gaussian"]
    assert chosen.utility.variance <= by_name["geometric"]


@pytest.mark.parametrize("probability", ["1e-16", "1e-18", "1e-300", "1e-400", "0." + "9" * 30])
@pytest.mark.parametrize("cells", [1, 100])
def test_probabilities_next_to_0_and_1_are_goals_like_any_other(probability: str, cells: int) -> None:
    goal = dv.Goal(within=5, probability=probability, cells=cells)
    assert 0 < goal.each < 1
    exact = 1 - mpmath.power(mpmath.mpf(probability), mpmath.mpf(1) / cells)
    assert abs(goal.each - exact) <= 1e-15 or abs(goal.each / exact - 1) <= 1e-9
    assert dv.design(within=5, probability=probability, cells=cells).noise


@pytest.mark.parametrize("queries", [20, 30])
def test_a_design_for_an_accuracy_keeps_what_its_search_found(queries: int) -> None:
    # The solver ends a hair outside of its constraints. Had that end been thrown away, the shape that the
    # search began with would be left: 0.2 % below the Gaussian for 20 queries, and above it for 30.
    chosen = design(within=20, queries=queries, delta="1e-6")
    (gaussian,) = (other for other in chosen.alternatives if other.name == "Gaussian")
    assert gaussian.chosen < 0.995 * gaussian.value
