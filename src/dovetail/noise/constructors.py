"""The famous cases, as constructors of the general ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail import check
from dovetail.check import Real

from .geometric import PiecewiseGeometric

# The others load when they are made: a program that draws counts needs none of them.
if TYPE_CHECKING:
    from .laplace import PiecewiseLaplace
    from .staircase import StaircaseNoise

_EPSILON = "Give the privacy parameter, for example 0.5."
_INNER = "Give the paper's epsilon, the rate inside the break-point, for example 0.2."
_OUTER = "Give r·epsilon, the rate outside the break-point, for example 1.0."
_BREAK = "Give the paper's c_t, for example 5."


def Geometric(epsilon: Real) -> PiecewiseGeometric:  # noqa: N802 - the public name of a distribution
    """Return the two-sided geometric noise: one piece, on the integers.

    >>> Geometric(0.5)
    PiecewiseGeometric(rates=('0.5',))
    """
    return PiecewiseGeometric((check.positive("epsilon", epsilon, _EPSILON),))


def Laplace(epsilon: Real) -> PiecewiseLaplace:  # noqa: N802 - the public name of a distribution
    """Return the Laplace noise of scale 1/epsilon: one piece, on the reals.

    >>> Laplace(0.5).variance()
    8.0
    """
    from .laplace import PiecewiseLaplace

    return PiecewiseLaplace((check.positive("epsilon", epsilon, _EPSILON),))


def GeometricMixture(inner: Real, outer: Real, break_point: Real) -> PiecewiseGeometric:  # noqa: N802
    """Return the paper's geometric mixture: rate `inner` up to `break_point`, `outer` beyond it.

    >>> GeometricMixture(inner=0.2, outer=1, break_point=5).mean_abs()
    2.4800462651852775

    Paper: Eqs. 17 and 18.
    """
    rates = check.positive("inner", inner, _INNER), check.positive("outer", outer, _OUTER)
    return PiecewiseGeometric(rates, (check.integer("break_point", break_point, low=1, fix=_BREAK),))


def LaplaceMixture(inner: Real, outer: Real, break_point: Real) -> PiecewiseLaplace:  # noqa: N802
    """Return the paper's Laplace mixture: rate `inner` up to `break_point`, `outer` beyond it.

    >>> LaplaceMixture(inner=0.1, outer=1, break_point=4.5)
    PiecewiseLaplace(rates=('0.1', 1), breaks=('4.5',))

    Paper: Eqs. 9 and 10.
    """
    rates = check.positive("inner", inner, _INNER), check.positive("outer", outer, _OUTER)
    from .laplace import PiecewiseLaplace

    return PiecewiseLaplace(rates, (check.positive("break_point", break_point, _BREAK),))


def Staircase(epsilon: Real, gamma: Real | None = None) -> StaircaseNoise:  # noqa: N802
    """Return the staircase noise for counts, which on the integers is the geometric noise.

    `gamma` is the share of each step on the higher level; it matters from `stretched(2)` on.

    >>> Staircase(0.5).variance() == Geometric(0.5).variance()
    True
    """
    from .staircase import StaircaseNoise

    return StaircaseNoise(epsilon, gamma)
