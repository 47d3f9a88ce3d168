"""Noise that is cut off far out: its masses on coarser grids, and bounds of its moments by direct sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail.noise import DiscreteGaussian, Geometric, IntegerNoise, PiecewiseGeometric
from dovetail.workloads.cutoff import CutNoise, cut, variance
from oracles import mp


@pytest.mark.parametrize("width", [0.125, 0.1875])
def test_noise_on_a_coarser_grid_has_the_masses_of_its_nearest_whole_numbers(width: float) -> None:
    """Summed one by one; halves go towards 0. Of one width, all edges are halves, of the other only some."""
    noise = cut(Geometric("0.05"))
    places = np.ceil(np.arange(noise.reach + 1) * width - 0.5).astype(int)
    one_by_one = np.bincount(places, noise.masses())
    one_by_one[0] += noise.masses()[1:][places[1:] == 0].sum()  # from the other side
    found = noise.rounded(width)
    assert np.allclose(found[: len(one_by_one)], one_by_one, rtol=1e-9, atol=1e-15)
    assert found[len(one_by_one) :].sum() < 1e-20


def cumulant(made: CutNoise, order: float) -> Any:
    """Return ln E exp(order·Y) over all values within the reach, one by one."""
    values = range(1, made.reach + 1)
    growth = (mp.cosh(mp.mpf(order) * value) - 1 for value in values)
    masses = (mp.mpf(float(made.noise.pmf(value))) for value in values)
    return mp.log(1 + 2 * mp.fsum(p * more for p, more in zip(masses, growth, strict=True)))


@pytest.mark.parametrize(
    ("noise", "loose"),
    [
        (Geometric(1), 1e-6),
        (PiecewiseGeometric([1, 3], [2]), 1e-6),
        (DiscreteGaussian(2), 1e-6),
        (Geometric(20), 1e-6),
        # In bins of 2, each at its outer end.
        (Geometric("0.02"), 0.03),
    ],
)
def test_no_cumulant_is_below_that_of_all_values_within_the_reach(noise: IntegerNoise, loose: float) -> None:
    """Far out, the last value of all decides. What no float can hold is infinite."""
    made = cut(noise)
    assert made.missing >= 2 * float(noise.sf(made.reach))
    for order, bound in zip(made.orders[1::133].tolist(), made.cumulants[1::133].tolist(), strict=True):
        truth = cumulant(made, order)
        assert truth <= bound
        assert bound <= truth * (1 + loose) or truth > 650
    assert made.orders[1::133][-1] == made.orders[-1]


def test_chords_of_a_cumulant_lie_above_it_and_end_where_it_is_not_known() -> None:
    made = cut(DiscreteGaussian(3))
    for order in ((made.orders[1:] + made.orders[:-1]) / 2)[::57].tolist():
        assert cumulant(made, order) <= made.cumulant(np.array([order]))[0]
    assert made.cumulant(made.orders[-1:] * 1.01)[0] == np.inf


@pytest.mark.parametrize("sigma", ["0.5", "3", "7.9", "8", "12"])
def test_a_variance_is_that_of_all_values(sigma: str) -> None:
    noise = DiscreteGaussian(sigma)
    values = np.arange(-200, 201)
    assert variance(noise) == pytest.approx(float(np.sum(values**2 * noise.pmf(values))), rel=1e-12)
