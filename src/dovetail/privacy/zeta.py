"""The paper's zeta where it differs from the exact one, and what a bound on zeta promises.

The exact zeta of a noise is `privacy_loss(noise).zeta`; that one is charged, never the published one.
"""

from __future__ import annotations

from math import exp, expm1, inf, isinf, log, log1p, nextafter, sinh, sqrt

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.exact import float_down, float_up
from dovetail.exact.bisection import bracket
from dovetail.noise import Noise, PiecewiseGeometric, RoundedLaplace

from .atoms import ROUNDING
from .loss import privacy_loss

_FAMILIES = ("geometric", "rounded_laplace")
_LARGEST = 300


def published_zeta(noise: Noise) -> float:
    """Return zeta by the formula that the paper's Table I was made with (the sign misprint corrected).

    For geometric noise and for the rounded Laplace it is exact. For the rounded Laplace mixture it ignores
    that the loss passes from `inner` to `outer` inside one cell, so it can err on either side: for comparison
    with the paper only.

    >>> from dovetail.noise import LaplaceMixture
    >>> round(published_zeta(LaplaceMixture(inner=0.2, outer=1, break_point=5).rounded()), 4)
    0.3091

    Paper: Eqs. 25 to 27.
    """
    if isinstance(noise, PiecewiseGeometric) and len(noise.rates) <= 2:
        return privacy_loss(noise).zeta
    if not isinstance(noise, RoundedLaplace) or len(noise.rates) > 2:
        raise InvalidParameter(
            "noise",
            noise,
            "geometric or rounded Laplace noise of one or two pieces",
            "Use privacy_loss(noise).zeta, which is exact for every noise.",
        )
    source, inner = noise.source, float(noise.rates[0])
    edge = float(noise.breaks[0]) if noise.breaks else inf
    if edge < 1.5:
        raise InvalidParameter("break_point", edge, "at least 1.5 for this formula", "Use the exact zeta.")

    def mass(low: float, high: float) -> float:
        return float(source.sf(low)) - (0.0 if isinf(high) else float(source.sf(high)))

    centre, beside = 2 * mass(0.0, 0.5), mass(0.5, 1.5)
    total = centre**2 / beside + centre + exp(inner) * (mass(1.5, edge) + mass(0.5, edge))
    if noise.breaks:
        total += exp(float(noise.rates[1])) * 2 * mass(edge, inf)
    return log(total)


def equivalent_epsilon(noise_family: str, zeta: Real) -> float:
    """Return the epsilon at which the standard noise of a family has this zeta at sensitivity 1.

    For "geometric" that is zeta itself; for "rounded_laplace" it is the paper's column epsilon_Lap.

    >>> equivalent_epsilon("geometric", 0.3), round(equivalent_epsilon("rounded_laplace", "0.3091"), 4)
    (0.3, 0.3319)
    """
    family = check.choice("noise_family", noise_family, _FAMILIES)
    target = float(check.within("zeta", zeta, 0, _LARGEST))
    if not target > 0:
        raise InvalidParameter("zeta", zeta, f"a number above 0, at most {_LARGEST}")
    if family == "geometric":
        return target
    return bracket(target, 2 * target + 2, lambda epsilon: _zeta_rounded_laplace(epsilon) >= target, close=0)[
        1
    ]


def _zeta_rounded_laplace(epsilon: float) -> float:
    """Return zeta of the rounded Laplace at sensitivity 1, also accurate for a tiny epsilon."""
    ratio = exp(-epsilon / 2)
    centre = -expm1(-epsilon / 2)
    return log1p(2 * centre / (ratio * (1 + ratio)) + centre + centre**2 / (2 * ratio))


def delta_from_zeta(zeta: Real, epsilon: Real) -> float:
    """Return the largest delta that a mechanism of this zeta can have at `epsilon`, rounded up.

    With t = P/Q, exp(zeta) bounds E_Q max(t², 1) and E_Q max(t, 1/t), the other direction. Where exp(epsilon)
    is at most cosh(zeta) both bind, and randomised response of zeta itself is the worst. Beyond, the first
    one binds alone: E_Q (t² - 1) over t > 1 is at most exp(zeta) - 1, and (t - e^epsilon)/(t² - 1) is the
    largest at t = e^epsilon + √(e^(2·epsilon) - 1). A linear programme over all t confirms both.

    >>> round(delta_from_zeta("0.328", 1), 4), round(delta_from_zeta("0.5", 0), 4)
    (0.037, 0.2449)
    """
    mean = float_up(check.within("zeta", zeta, 0, _LARGEST))
    worst = float_down(check.within("epsilon", epsilon, 0, _LARGEST))
    if not mean:
        return 0.0
    # cosh(mean) - 1 = 2·sinh(mean/2)²: near 0 the sides differ by far less than 1.
    if expm1(worst) <= 2 * sinh(mean / 2) ** 2:
        bound = exp(worst) * expm1(mean - worst) / (exp(mean) + 1)
    else:
        bound = expm1(mean) / (2 * (exp(worst) + sqrt(expm1(2 * worst))))
    return min(nextafter(bound * (1 + (mean + 4) * ROUNDING), inf), 1.0)
