"""In which ways marginals may be measured, and how far each is about off."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dovetail as dv
from dovetail.noise import DiscreteGaussian, Geometric
from dovetail.query.measures import Way

from .test_marginal_tables import ASKED, SCHEMA, STRATEGIES


@pytest.mark.parametrize(
    ("strategy", "neighbours", "ways"),
    [
        (None, "add-remove", ["joint", "residuals"]),
        (None, "persons", ["joint"]),
        ("plain", "add-remove", ["plain"]),
        ("joint", "replace", ["joint"]),
        ("residuals", "add-remove", ["residuals"]),
    ],
)
def test_an_accuracy_is_looked_for_in_every_way_that_was_left_open(
    strategy: Any, neighbours: str, ways: list[str]
) -> None:
    measure = dv.Marginals(**ASKED, strategy=strategy).checked(SCHEMA.table()).measure
    listed = measure.alternatives(neighbours)
    assert [made.strategy for made, _ in listed] == ways  # type: ignore[attr-defined]
    assert all(len(widths) == len(made.components()) for made, widths in listed)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("chance", ["0.05", "0.001"])
def test_a_rough_error_is_about_the_error_of_wide_noise(strategy: Any, chance: str) -> None:
    measure = dv.Marginals(**ASKED, strategy=strategy).checked(SCHEMA.table()).measure
    noises = (DiscreteGaussian(40),) * len(measure.components())
    rough, exact = (each(noises, Fraction(chance)) for each in (measure.rough_error, measure.error))
    assert rough is not None
    assert exact is not None
    assert float(rough) == pytest.approx(float(exact), rel=0.02)


def test_a_way_is_as_good_as_its_least_exact_table() -> None:
    measure = dv.Marginals(**ASKED).checked(SCHEMA.table()).measure
    assert Way(measure, (Geometric(1),), "plain", {"a": 1.5, "b": 4.0, "c": 2.0}).worst == 4.0
