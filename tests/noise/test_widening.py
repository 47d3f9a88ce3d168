"""A widened noise keeps its shape, as far as whole break-points let it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, PiecewiseGeometric, Staircase
from dovetail.noise.widening import widened

SHAPE = PiecewiseGeometric(("0.05", "0.2", "0.4"), (3, 9))


@given(factor=st.fractions(min_value=Fraction(1, 100), max_value=100))
def test_break_points_stay_whole_and_apart_and_every_rate_is_one_of_the_shape(factor: Fraction) -> None:
    wide = widened(SHAPE, factor)
    assert isinstance(wide, PiecewiseGeometric)
    assert {rate * factor for rate in wide.rates} <= set(SHAPE.rates)
    assert all(near < far for near, far in pairwise((0, *wide.breaks)))


@pytest.mark.parametrize("factor", [30, Fraction(61, 2)])
def test_the_width_grows_by_the_factor(factor: Fraction) -> None:
    for noise in (SHAPE, DiscreteGaussian(3)):
        assert widened(noise, factor).std() == pytest.approx(float(factor) * noise.std(), rel=0.01)


def test_a_noise_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="piecewise geometric or discrete Gaussian noise"):
        widened(Staircase(1), Fraction(2))
