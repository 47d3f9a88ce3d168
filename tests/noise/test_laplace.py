"""Real noise on a lattice: exact where it fits, refused where it does not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import Laplace, LaplaceMixture, PiecewiseGeometric, PiecewiseLaplace
from strategies import laplaces


@settings(max_examples=60, deadline=None)
@given(laplaces(), st.integers(1, 64), st.integers(-1000, 1000))
def test_lattice_noise_has_the_potential_of_the_real_one(noise: PiecewiseLaplace, parts: int, k: int) -> None:
    step = noise.lattice_step() * parts
    if all((point / step).denominator == 1 for point in noise.breaks):
        lattice = noise.on_lattice(step)
        assert isinstance(lattice, PiecewiseGeometric)
        assert lattice.potential(k) == noise.potential(k * step)


@settings(max_examples=60, deadline=None)
@given(laplaces())
def test_the_lattice_of_samples_is_fine_and_meets_every_break(noise: PiecewiseLaplace) -> None:
    step = noise.lattice_step()
    assert 0 < step * max(noise.rates) <= Fraction(1, 2**20)
    assert all((point / step).denominator == 1 for point in noise.breaks)


def test_a_lattice_that_misses_a_break_is_refused() -> None:
    noise = LaplaceMixture(0.1, 1, "4.5")
    assert noise.on_lattice("0.5") == PiecewiseGeometric(("0.05", "0.5"), (9,))
    assert noise.on_lattice("4.5").breaks == (1,)
    with pytest.raises(InvalidParameter, match=r"^step=2 must be a divisor of every break \(\('4.5',\)\)"):
        noise.on_lattice(2)
    for bad in (0, -1, float("nan"), "1e999"):
        with pytest.raises(InvalidParameter, match=r"^step="):
            noise.on_lattice(bad)


def test_a_finer_lattice_comes_closer_to_the_real_noise() -> None:
    noise = LaplaceMixture(0.1, 1, "4.5")
    gaps = [
        abs(float(step) ** 2 * noise.on_lattice(step).variance() - noise.variance())
        for step in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 200))
    ]
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2]


def test_the_scale_of_the_laplace_is_one_over_epsilon() -> None:
    assert Laplace(0.5).mean_abs() == 2
    assert Laplace(0.5).variance() == 8
