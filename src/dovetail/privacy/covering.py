"""Noise for a larger shift that costs no more than a noise at a shift of 1, at any epsilon at once.

A plan has paid for a noise at a shift of 1, and a question of its may have a larger sensitivity.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import inf

import numpy as np

from dovetail.exact.bisection import least_whole
from dovetail.noise import DiscreteGaussian, IntegerNoise, PiecewiseGeometric
from dovetail.noise.widening import widened

from .atoms import Atoms
from .curve import Curve
from .loss import privacy_loss

_MARGIN = 1e-9
_NOTHING = 1e-30
# Widths are tried in steps of this share of the shift; breaks stay whole, so theirs are whole too.
_SHARE = 1024
_WHOLE_SHARE = 256


@lru_cache(maxsize=1024)
def covering_noise(noise: IntegerNoise, shift: int) -> IntegerNoise:
    """Return about the narrowest noise of this kind that costs no more at `shift` than `noise` at 1.

    `noise.stretched(shift)` nearly does, but not quite: between its break-points its loss takes values that
    the unstretched noise skips. A few per cent more width make up for it.

    >>> from dovetail.noise import Geometric
    >>> covering_noise(Geometric("0.5"), 100)
    PiecewiseGeometric(rates=('0.005',))
    """
    if shift == 1:
        return noise
    return _wider(
        noise, shift, least_whole(0, lambda steps: covers(noise, _wider(noise, shift, steps), shift))
    )


def _wider(noise: IntegerNoise, shift: int, steps: int) -> IntegerNoise:
    """Return the noise stretched to the shift and widened by some steps; breaks have to stay whole."""
    if isinstance(noise, DiscreteGaussian | PiecewiseGeometric):
        return widened(noise, shift * (1 + Fraction(steps, _SHARE)))
    wide = noise.stretched(shift + steps * max(1, shift // _WHOLE_SHARE))
    assert isinstance(wide, IntegerNoise)
    return wide


def covers(noise: IntegerNoise, wide: IntegerNoise, shift: int) -> bool:
    """Tell whether `noise` at a shift of 1 costs at least what `wide` costs at `shift`.

    "At least" for every epsilon at once: the hockey-stick divergence of the first lies above the second's.
    Both are convex in exp(epsilon), and the first is linear between its own losses, so it is enough to look
    there. At the largest loss both vanish, being bounded by the steepest rate; by symmetry epsilon >= 0 is
    enough. The first one errs downwards and the second upwards; a tie counts as not covered.
    Of a loss without an upper end, which only the Gaussian has, a delta of 1e-30 is as good as none: a charge
    counts 1e-18. Its Rényi figures at whole orders need no looking, being order·(shift/sigma)²/2.
    """
    if shift == 1 and wide == noise:
        return True
    base, other = privacy_loss(noise), privacy_loss(wide, sensitivity=shift)
    if other.worst > base.worst:
        return False
    atoms = base.forward.single
    assert atoms is not None
    paid = _from_below(atoms)
    knots = np.append(0.0, paid.values[(paid.values > 0) & (paid.values < float(base.worst))])
    known = paid.least_deltas(knots)
    if base.worst == inf:
        knots, known = knots[known >= _NOTHING], known[known >= _NOTHING]
    return bool(np.all(other.forward.deltas(knots) <= known * (1 - _MARGIN)))


def _from_below(atoms: Atoms) -> Curve:
    """Return delta(epsilon) of a loss with every range of losses moved to its lower end.

    A smaller loss has a smaller delta, so this errs downwards, but for rounding; see `least_deltas`.
    """
    ranges = atoms.all_ranges()
    order = np.argsort(ranges.low, kind="stable")
    return Curve(ranges.low[order], ranges.log_masses[order])
