"""The loss near zero when negative counts are shown as 0: for study.

A release is always charged the unclamped figure. Clamping is post-processing, so it can only lower the loss,
but by how much depends on the true count, and a price that depends on the count would reveal it.
"""

from __future__ import annotations

from fractions import Fraction

from dovetail import check
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise

from .composition import OneWay
from .loss import PrivacyLoss
from .segments import Merged, shift_loss


def clamped_loss(noise: IntegerNoise, count: int, *, sensitivity: int = 1) -> PrivacyLoss:
    """Return the loss between the true counts `count` and `count + sensitivity`, negatives shown as 0.

    Both directions are exact and differ: forward is the smaller count against the larger one.

    >>> from dovetail.noise import GeometricMixture
    >>> loss = clamped_loss(GeometricMixture(inner=0.2, outer=1, break_point=5), 0)
    >>> round(loss.forward.zeta(), 3), round(loss.backward.zeta(), 3)
    (0.282, 0.328)
    """
    true = check.integer("count", count, low=0, fix="Give the true count.")
    shift = check.integer("sensitivity", sensitivity, low=1)
    if not hasattr(noise, "decay"):
        raise InvalidParameter("noise", noise, "integer noise made of pieces", "Use PrivacyLoss.from_pmfs.")

    def one_way(moved: int, floor: int) -> OneWay:
        merged = Merged(floor, lambda: noise.cdf_ball(floor, 96), lambda: noise.cdf_ball(floor - moved, 96))
        # Truncated noise may give nothing there; then no outcome is shown as another one.
        some = not (merged.p().is_zero() or merged.q().is_zero())
        return OneWay(((shift_loss(noise.decay, Fraction(moved), merged if some else None), 1),))

    return PrivacyLoss(one_way(shift, -true), one_way(-shift, -true - shift))
