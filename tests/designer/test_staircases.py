"""The staircase where one neighbour moves one number far, against a linear programme over all noises."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

import dovetail as dv
from dovetail.errors import InvalidParameter
from dovetail.noise import PiecewiseGeometric, StaircaseNoise
from dovetail.privacy import privacy_loss
from dovetail.privacy.contribution import split_losses


def least_variance(epsilon: float, shift: int, periods: int) -> float:
    """Return the least variance of all symmetric noises on the integers that are private at the shift.

    What lies beyond some periods is a copy of the last one, falling by exp(-epsilon) a period, which costs
    little where that is little.
    """
    size = periods * shift
    k = np.arange(size)
    rest = 1 / -np.expm1(-epsilon)
    last = k >= size - shift
    weight = np.where(last, rest, 1.0) * np.where(k == 0, 1, 2)
    # The sum of (k + j·shift)²·exp(-epsilon·j) over j >= 0.
    fall = exp(-epsilon)
    once, twice = fall / (1 - fall) ** 2, fall * (1 + fall) / (1 - fall) ** 3
    squares = np.where(last, k**2 * rest + 2 * k * shift * once + shift**2 * twice, k**2) * 2.0
    pairs = [(i, j) for i in range(size) for j in range(-shift, size) if abs(i - j) <= shift and i != abs(j)]
    rows = np.arange(len(pairs))
    i, j = np.array([(i, abs(j)) for i, j in pairs]).T
    limits = coo_array(
        (
            np.concatenate([np.ones(len(pairs)), np.full(len(pairs), -exp(epsilon))]),
            (np.tile(rows, 2), np.concatenate([i, j])),
        )
    )
    solved = linprog(squares, A_ub=limits.tocsr(), b_ub=np.zeros(len(pairs)), A_eq=[weight], b_eq=[1.0])
    return float(solved.fun)


@pytest.mark.parametrize(("epsilon", "shift", "periods"), [("2", 4, 12), ("4", 7, 7), ("6", 10, 5)])
def test_a_pure_design_for_a_sensitivity_is_the_best_of_all_noises(epsilon, shift, periods) -> None:
    chosen = dv.design(epsilon=epsilon, sensitivity=shift)
    assert isinstance(chosen.noise, StaircaseNoise)
    assert chosen.utility.variance == pytest.approx(least_variance(float(epsilon), shift, periods), rel=1e-4)
    assert chosen.utility.variance < PiecewiseGeometric((Fraction(epsilon) / shift,)).variance()
    assert chosen.total.worst == Fraction(epsilon)


def test_its_ratios_keep_the_budget_at_every_shift() -> None:
    noise = dv.design(epsilon=6, sensitivity=10).noise
    p = np.asarray(noise.pmf(np.arange(-80, 81)))
    assert float(noise.variance()) == pytest.approx(1.4881, abs=1e-4)
    for shift in range(1, 11):
        assert np.max(np.log(p[shift:] / p[:-shift])) <= 6 * (1 + 1e-12)


@pytest.mark.parametrize(("within", "shift"), [(20, 10), (100, 73), (7, 3)])
def test_an_accuracy_costs_less_with_steps(within: int, shift: int) -> None:
    chosen = dv.design(within=within, sensitivity=shift)
    plain = dv.design(within=within, sensitivity=(shift,), pieces=1)
    assert chosen.noise.error_bound("0.05") <= within
    assert chosen.total.epsilon <= plain.total.epsilon
    (geometric,) = (other for other in chosen.alternatives if other.name == "geometric")
    assert chosen.total.epsilon < geometric.value * 0.99
    assert "Steps bring epsilon" in chosen.why


def test_several_queries_share_the_budget() -> None:
    chosen = dv.design(epsilon=10, queries=2, sensitivity=10)
    assert isinstance(chosen.noise, StaircaseNoise)
    assert chosen.noise.epsilon == 5
    assert chosen.total.worst == 10


@pytest.mark.parametrize(
    "kind", [{"sensitivity": (9, 1)}, {"sensitivity": 1}, {"zeta": 3, "epsilon": None, "sensitivity": 10}]
)
def test_it_is_no_candidate_elsewhere(kind: dict[str, object]) -> None:
    assert not isinstance(dv.design(**{"epsilon": 6, **kind}).noise, StaircaseNoise)


def test_what_several_cells_share_costs_more_than_one_cell_that_takes_all() -> None:
    noise = dv.Staircase(1).stretched(10)
    shares = [(10,), (9, 1), (5, 5), (1,) * 10]
    assert [privacy_loss(noise, sensitivity=share).worst for share in shares] == [1, 2, 2, 10]
    # So no bound merges them: the ways are listed, or it is refused.
    assert max(loss.worst for loss in split_losses(noise, cells=3, per_cell=4, total=5)) == 3
    with pytest.raises(InvalidParameter, match="ways"):
        split_losses(noise, cells=20, per_cell=39, total=40)


def test_a_hint_of_what_it_gains() -> None:
    """The figures that the pages quote."""
    gains = []
    for epsilon in (1, 2, 4, 6):
        chosen = dv.design(epsilon=epsilon, sensitivity=1000)
        gains.append(1 - chosen.utility.variance / PiecewiseGeometric((Fraction(epsilon, 1000),)).variance())
    assert gains == pytest.approx([0.041, 0.155, 0.480, 0.747], abs=0.002)
