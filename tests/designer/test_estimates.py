"""Estimates are near the designs that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dv
from dovetail.designer import estimate
from dovetail.errors import InvalidParameter

BUDGETS = [
    {"epsilon": 1, "delta": "1e-6", "queries": 10},
    {"epsilon": "0.1", "delta": "1e-9", "queries": 300, "pieces": 16},
    {"epsilon": 3, "delta": "1e-6", "queries": 3},
    {"epsilon": 1, "delta": "1e-6", "queries": 20, "sensitivity": 50},
    {"epsilon": 1},
    {"zeta": "0.4"},
]


@pytest.mark.parametrize("wanted", BUDGETS, ids=str)
def test_an_estimate_for_a_budget_is_good_to_1_percent(wanted: dict[str, object]) -> None:
    about, exact = estimate(**wanted), dv.design(**wanted)
    assert about.variance == pytest.approx(exact.utility.variance, rel=0.01)
    assert about.mean_abs == pytest.approx(exact.utility.mean_abs, rel=0.02)
    assert about.within_95 <= exact.utility.within_95 * 1.02
    assert about.within_95 > exact.utility.within_95 * 0.98 - 1


@pytest.mark.parametrize("within", [5, 40])
def test_an_estimate_for_an_accuracy_is_good_to_4_percent(within: int) -> None:
    wanted = {"within": within, "queries": 20, "delta": "1e-6"}
    chosen = dv.design(**wanted)
    assert chosen.point is not None
    assert estimate(**wanted).epsilon == pytest.approx(chosen.point[0], rel=0.04)


@pytest.mark.parametrize("wanted", [BUDGETS[0], BUDGETS[3]], ids=str)
def test_the_shape_of_an_estimate_has_its_variance(wanted: dict[str, object]) -> None:
    about = estimate(**wanted)
    errors = np.arange(-20 * int(about.variance**0.5), 20 * int(about.variance**0.5) + 1)
    pieces = zip((0.0, *about.breaks), (*about.breaks, np.inf), about.rates, strict=True)
    potential = sum(rate * np.clip(abs(errors) - left, 0, right - left) for left, right, rate in pieces)
    density = np.exp(-potential)
    variance = (errors**2 * density).sum() / density.sum()
    assert variance == pytest.approx(about.variance, rel=0.005)


def test_what_design_refuses_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        estimate(epsilon=0)
    with pytest.raises(TypeError):
        estimate(mystery=1)
