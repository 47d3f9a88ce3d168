"""Runs that fit a budget, and the table of promises."""

from __future__ import annotations

import pytest

from dovetail.errors import GoalUnreachable
from dovetail.online.calibration import Shares, Terms, _descend, base_only, calibrate
from dovetail.pricing.sensitivity import grows_outward
from dovetail.privacy import Budget
from dovetail.workloads.planning import keeps

APPROXIMATE = Budget.approximate(1, "1e-6")
PURE = Budget.pure(1)


def test_fifty_updates_promise_what_the_design_says_in_pure_epsilon() -> None:
    """A false alarm of 1e-4 and no measured answers; the textbook's test promises 2,236 here."""
    found = calibrate(PURE, Terms(updates=50, queries=12500, measures=False))
    assert found.guard.false_alarm() <= 1e-4
    assert found.alpha <= 544
    assert 0.999 < found.loss.epsilon <= 1


def test_fifty_updates_promise_what_the_design_says_under_delta() -> None:
    found = calibrate(APPROXIMATE, Terms(updates=50, queries=12500, measures=False))
    assert found.guard.false_alarm() <= 1e-4
    assert 295 <= found.alpha <= 310
    assert found.loss.delta(1) <= 1e-6


@pytest.mark.parametrize(
    ("updates", "alpha", "sigma"), [(5, 120, 20), (10, 171, 27)], ids=["five updates", "ten updates"]
)
def test_with_measured_answers_the_promise_holds_too(updates: int, alpha: int, sigma: int) -> None:
    found = calibrate(APPROXIMATE, Terms(updates, queries=250 * updates))
    assert found.alpha <= alpha
    assert found.guard.answers.std() <= sigma
    assert found.loss.delta(1) <= 1e-6


@pytest.mark.parametrize(
    ("budget", "terms"),
    [
        (PURE, Terms(3, 100, neighbours="replace")),
        (PURE, Terms(2, 100, rows=3)),
        (APPROXIMATE, Terms(2, 100, neighbours="replace", rows=2)),
        (APPROXIMATE, Terms(2, 100, tables=6)),
        (Budget.zeta("0.4", max_epsilon=1), Terms(2, 100)),
        (Budget.approximate(1, "1e-6"), Terms(1, 10)),
    ],
    ids=["replaced", "persons", "replaced persons", "base", "zeta", "one update"],
)
def test_a_calibrated_run_keeps_its_budget_and_uses_it(budget: Budget, terms: Terms) -> None:
    found = calibrate(budget, terms)
    assert keeps([found.loss], budget)
    assert (found.base is None) == (terms.tables == 0)
    assert found.guard.counts_rows == (terms.tables == 0)
    if budget.currency == "approximate":
        assert found.loss.epsilon_at(budget.delta_limit) > 0.97
    elif budget.zeta_limit is not None:
        assert found.loss.zeta > 0.98 * budget.zeta_limit or found.loss.epsilon > 0.98
    else:
        assert found.loss.epsilon > 0.998


def test_the_searched_share_is_better_than_its_neighbours() -> None:
    terms = Terms(10, 2500, measures=False)
    best = calibrate(PURE, terms).alpha
    for threshold in (0.02, 0.3):
        assert calibrate_at(threshold, terms) > best


def calibrate_at(threshold: float, terms: Terms) -> int:
    from fractions import Fraction

    from dovetail.online.calibration import Pure, assemble

    return assemble(Pure(Fraction(1)), Shares(threshold, 0.0), terms).alpha


@pytest.mark.parametrize("terms", [Terms(5, 100), Terms(5, 100, tables=3), Terms(5, 100, measures=False)])
def test_the_shares_of_a_run_are_of_one_whole(terms: Terms) -> None:
    shares = Shares.usual(terms)
    parts = (shares.threshold, shares.answers, shares.base, shares.tests)
    assert sum(parts) == pytest.approx(1)
    assert min(parts) >= 0
    assert (shares.base > 0) == (terms.tables > 0)
    assert (shares.answers > 0) == terms.measures


def test_what_no_budget_pays_is_said() -> None:
    with pytest.raises(GoalUnreachable, match="fewer updates"):
        calibrate(Budget.pure("0.001"), Terms(updates=1000))


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE, Budget.zeta("0.3", max_epsilon=1)])
def test_a_base_alone_keeps_the_budget(budget: Budget) -> None:
    found = base_only(budget, Terms(0, tables=3, neighbours="replace"))
    assert keeps([found.loss], budget)
    assert found.guard is None


@pytest.mark.parametrize("updates", [0, 3])
@pytest.mark.parametrize(
    "budget", [Budget.pure(1), Budget.approximate(1, "1e-6"), Budget.zeta(1, max_epsilon=2)]
)
def test_a_base_of_persons_has_noise_that_is_worst_where_all_their_rows_share_a_cell(
    budget: Budget, updates: int
) -> None:
    """It is priced for one cell; of noise that is not so, another split of the rows may cost more."""
    terms = Terms(updates=updates, tables=3, rows=4)
    found = calibrate(budget, terms) if updates else base_only(budget, terms)
    assert found.base is not None
    assert grows_outward(found.base)
    assert keeps([found.loss], budget)


@pytest.mark.parametrize("least", [-7, -1, 0, 1, 12])
def test_a_descent_ends_at_the_least_value_on_either_side(least: int) -> None:
    assert _descend(lambda place: abs(place - least)) == least
