"""Noise of the same shape, wider or narrower."""

from __future__ import annotations

from fractions import Fraction

from dovetail.errors import InvalidParameter

from .gaussian import DiscreteGaussian
from .geometric import PiecewiseGeometric
from .integer import IntegerNoise


def widened(noise: IntegerNoise, factor: Fraction) -> IntegerNoise:
    """Return a noise of the same shape, `factor` times as wide.

    Break-points stay whole, so the shape is kept only nearly, and of those that fall together the first one
    and the rate after it are kept: price the result by itself.

    >>> widened(PiecewiseGeometric(("0.1", "0.2", "0.4"), (2, 3)), Fraction(1, 3))
    PiecewiseGeometric(rates=('0.3', '0.6'), breaks=(1,))
    """
    if isinstance(noise, DiscreteGaussian):
        return DiscreteGaussian(noise.sigma * factor)
    if not isinstance(noise, PiecewiseGeometric):
        raise InvalidParameter("noise", noise, "piecewise geometric or discrete Gaussian noise")
    breaks = [max(1, round(point * factor)) for point in noise.breaks]
    kept = [i for i in range(len(breaks)) if i == 0 or breaks[i] > breaks[i - 1]]
    rates = [noise.rates[0], *(noise.rates[i + 1] for i in kept)]
    return PiecewiseGeometric([rate / factor for rate in rates], [breaks[i] for i in kept])
