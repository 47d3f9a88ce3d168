"""Runs that fit a budget, and the table of promises."""

from __future__ import annotations

from fractions import Fraction
from math import log
from types import SimpleNamespace
from typing import Any

import mpmath
import pytest

from dovetail.errors import GoalUnreachable
from dovetail.noise import DiscreteGaussian, Geometric
from dovetail.online import ResponseCurve, calibration
from dovetail.online.calibration import (
    Pure,
    Renyi,
    Shares,
    Terms,
    _at_order,
    _descend,
    _first_order,
    assemble,
    base_only,
    calibrate,
)
from dovetail.pricing.sensitivity import grows_outward
from dovetail.privacy import Budget, privacy_loss
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
    return assemble(Pure(Fraction(1)), Shares(threshold, 0.0), terms).alpha


@pytest.mark.parametrize("terms", [Terms(5, 100), Terms(5, 100, tables=3), Terms(5, 100, measures=False)])
def test_the_shares_of_a_run_are_of_one_whole(terms: Terms) -> None:
    shares = Shares.usual(terms)
    parts = (shares.threshold, shares.answers, shares.base, shares.tests)
    assert sum(parts) == pytest.approx(1)
    assert min(parts) >= 0
    assert (shares.base > 0) == (terms.tables > 0)
    assert (shares.answers > 0) == terms.measures


def test_a_search_begins_with_half_for_a_base_and_usual_parts_of_the_rest() -> None:
    assert Shares.usual(Terms(5)) == Shares(0.06, 0.35, 0.0)
    assert Shares.usual(Terms(5, tables=2)) == Shares(0.03, 0.175, 0.5)
    assert Shares.usual(Terms(5, measures=False)) == Shares(0.06, 0.0, 0.0)


@pytest.mark.parametrize(
    ("tables", "rows", "splits"), [(0, 9, False), (1, 1, False), (1, 2, True), (3, 2, True)]
)
def test_rows_of_a_person_may_lie_in_several_cells_of_a_table(tables: int, rows: int, splits: bool) -> None:
    assert Terms(5, tables=tables, rows=rows).splits is splits


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


@pytest.mark.parametrize(("share", "uses"), [(0.3, 1), (0.06, 7), (1.0, 50)])
def test_a_share_of_epsilon_buys_noise_and_curves_that_cost_it(share: float, uses: int) -> None:
    currency = Pure(Fraction(3, 2))
    noise, curve = currency.noise(share, uses), currency.curve(share, uses)
    for loss in (privacy_loss(noise), curve.loss()):
        assert share * 1.5 * (1 - 1e-3) <= float(uses * loss.worst) <= share * 1.5


@pytest.mark.parametrize(("share", "uses"), [(0.3, 1), (0.06, 7), (0.9, 50)])
def test_a_share_of_a_divergence_buys_noise_and_curves_that_cost_it(share: float, uses: int) -> None:
    currency = Renyi(12.5, 0.7)
    noise, curve = currency.noise(share, uses), currency.curve(share, uses)
    assert isinstance(noise, DiscreteGaussian)
    cost = Fraction(12.5) * uses / (2 * noise.sigma**2)
    bought = Fraction(share) * Fraction(0.7)
    assert bought * Fraction("0.999") <= cost <= bought
    assert float(bought) * 0.999 <= uses * curve.loss().renyi("12.5") <= float(bought)


@pytest.mark.parametrize("order", [1.02, 2.0, 30.0, 1999.0])
def test_the_divergence_of_an_order_is_what_the_budget_allows(order: float) -> None:
    """Of a divergence tau, delta is exp((a - 1)·(tau - epsilon))·(1 - 1/a)^(a - 1)/a."""
    budget = Budget.approximate(2000, "1e-6")
    found = _at_order(budget, order)
    assert found is not None
    assert found.order == order
    with mpmath.workdps(60):
        a, tau = mpmath.mpf(order), mpmath.mpf(found.divergence)
        log_delta = (a - 1) * (tau - 2000) + (a - 1) * mpmath.log(1 - 1 / a) - mpmath.log(a)
        assert float(log_delta) == pytest.approx(float(mpmath.log("1e-6")), rel=1e-6)


def test_an_order_that_no_budget_pays_or_that_is_out_of_bounds_is_none() -> None:
    for order in (0.5, 1.0, 1.009, 2000.5):
        assert _at_order(Budget.approximate(2000, "1e-6"), order) is None
    assert _at_order(Budget.approximate("0.1", "1e-6"), 5) is None
    assert _at_order(Budget.approximate(3, "1e-6"), 5) is not None


def test_the_search_of_an_order_begins_at_that_of_gaussian_noise() -> None:
    """1 + 2·ln(1/delta)/epsilon, where a Gaussian's divergence spends half of epsilon."""
    assert _first_order(Budget.approximate(2, "1e-6")) == pytest.approx(1 + log(1e6))


@pytest.mark.parametrize("target", [14.0, 28.0, 90.0])
def test_the_best_order_is_found_on_either_side(target: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        calibration, "_alpha", lambda currency, _shares, _terms: abs(log(currency.order / target))
    )
    monkeypatch.setattr(calibration, "_best_share", lambda _currency, start, _terms: start)
    monkeypatch.setattr(calibration, "_largest", lambda make, _budget, most: (make(1.0), make(0.5), most))
    monkeypatch.setattr(calibration, "assemble", lambda currency, _shares, _terms: currency)
    found: Any = calibration._renyi(APPROXIMATE, Shares(), Terms(5))
    whole, half, most = found
    assert abs(log(whole.order / target)) <= log(1.12)
    assert (half.order, half.divergence) == (whole.order, whole.divergence / 2)
    assert most > 1
    assert calibration._renyi(PURE, Shares(), Terms(5)) is None


@pytest.mark.parametrize("best", [0.001, 0.06, 0.2])
def test_the_share_of_the_thresholds_is_searched_and_the_others_stay(
    best: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Shares] = []

    def alpha(_currency: Any, shares: Shares, _terms: Terms) -> float:
        tried.append(shares)
        return abs(log(shares.threshold / best))

    monkeypatch.setattr(calibration, "_alpha", alpha)
    found = calibration._best_share(Pure(Fraction(1)), Shares(0.06, 0.35, 0.2), Terms(5))
    assert found is not None
    assert abs(log(found.threshold / best)) <= log(1.25)
    assert {(each.answers, each.base) for each in tried} == {(0.35, 0.2)}
    # Thresholds take at most half of what answers and base leave.
    assert max(each.threshold for each in tried) < 0.5 * 0.45
    monkeypatch.setattr(calibration, "_alpha", lambda *_given: float("inf"))
    assert calibration._best_share(Pure(Fraction(1)), Shares(), Terms(5)) is None


@pytest.mark.parametrize("most", [1.0, 1.05])
@pytest.mark.parametrize("limit", [2.0, 1.0, 0.98, 0.93, 0.6, 0.3, 0.05, 1e-9])
def test_as_much_is_spent_as_the_budget_allows(
    limit: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "keeps", lambda losses, _budget: losses[0] <= limit)
    found = calibration._largest(lambda part: SimpleNamespace(loss=part), PURE, most)  # type: ignore[arg-type,return-value]
    if limit < 1e-6:
        assert found is None
    else:
        assert min(limit, most) - 0.002 <= found.loss <= min(limit, most)  # type: ignore[union-attr,operator]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_parts_of_a_run_are_bought_for_what_they_are_used(neighbours: Any) -> None:
    """Replacing moves two thresholds and two cells of each table; without a base the rows are counted."""
    bought: list[tuple[float, int]] = []

    class Noting(Pure):
        def noise(self, share: float, uses: int) -> Any:
            bought.append((share, uses))
            return Geometric("0.1")

        def curve(self, share: float, updates: int) -> ResponseCurve:
            bought.append((round(share, 9), updates))
            return ResponseCurve.pure("0.1")

    moved = 1 if neighbours == "add-remove" else 2
    based = assemble(
        Noting(Fraction(1)), Shares(0.1, 0.3, 0.2), Terms(4, tables=3, neighbours=neighbours, rows=2)
    )
    assert sorted(bought) == sorted([(0.2, 3 * moved), (0.1, moved), (0.4, 4), (0.3, 4)])
    assert based.guard is not None
    assert (based.guard.counts_rows, based.guard.rows, based.guard.neighbours) == (False, 2, neighbours)
    assert based.guard.false_alarm() <= Terms(4).false_alarm
    bought.clear()
    alone = assemble(Noting(Fraction(1)), Shares(0.1, 0.3), Terms(4))
    assert (alone.base, alone.guard.counts_rows) == (None, True)  # type: ignore[union-attr]
    assert (0.3, 5) in bought
    silent = assemble(Noting(Fraction(1)), Shares(0.1, 0.0), Terms(4, measures=False))
    assert (silent.guard.answers, silent.guard.counts_rows) == (None, False)  # type: ignore[union-attr]


def test_false_alarms_use_a_twentieth_of_the_updates_at_most() -> None:
    """Each question has two tests."""
    assert Terms(50, 12500).false_alarm * 2 * 12500 == pytest.approx(50 / 20)
    assert Terms(50, 1).false_alarm == 0.4
