"""The losses of noise that is not made of a few stretches: the discrete Gaussian and the staircase."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf

import numpy as np
from flint import arb

from dovetail.errors import InvalidParameter
from dovetail.exact import ball, upper
from dovetail.noise import DiscreteGaussian, StaircaseNoise

from .atoms import ROUNDING, Atoms, Floats, Ints, Ranges, on_steps
from .dominating_pairs import shift_loss_of

# The listed losses of a Gaussian reach this many sigma; beyond it lies a mass of 1e-43.
_REACH = 14
_MOST_LISTED = 1 << 20
# A bucket of a wide bell is then at most a 2,000th of sigma wide.
_MOST_OF_A_BELL = 1 << 17
# A shift of so many sigma has a mean loss of 5e7; larger ones leave what floats can tell apart.
_WIDEST = 10_000
# Sums of floats that are good to 1e-12 are made upper bounds by this factor.
_BLUR = 1e-9
_WELL_HELD = 1e-290


@dataclass(frozen=True, slots=True)
class GaussianMoments:
    """Moments of the Gaussian's loss in closed form: it has no upper end, yet all of them are finite."""

    noise: DiscreteGaussian
    shift: int

    def log_moment(self, order: float) -> float:
        """Return an upper bound on ln E exp(order·L).

        With m = order·shift, exp(order·L)·p(k) = exp((order + order²)·shift²/(2·sigma²))·p(k + m), and the
        sum of the bell over the integers moved by m is largest for whole m (Canonne, Kamath, Steinke 2020).
        """
        exact = Fraction(order)
        growth = (exact + exact * exact) * self.shift * self.shift * self.noise.exponent
        return upper(lambda: ball(growth))

    def log_mean_exp_size(self) -> float:
        """Return an upper bound on ln E exp|L|: Q's mass where L <= 0, a moved bell's elsewhere."""
        shift = self.shift

        def below(k: int) -> arb:
            # So far out the tail is nothing, and takes long to compute; 1 is the safe side.
            return arb(1) if k > 2 * _REACH * self.noise.sigma else 1 - self.noise._tail_here(k)

        def formula() -> arb:
            # L > 0 for k < shift/2; then p·exp(L) = exp(shift²/sigma²)·p(k + shift), k + shift <= last.
            last = (shift - 1) // 2 + shift
            right = below(last + 1)
            # L <= 0 for k >= shift/2; then p·exp(-L) = p(k - shift), k - shift >= -(shift // 2).
            left = below(shift // 2 + 1)
            return ((ball(2 * shift * shift * self.noise.exponent)).exp() * right + left).log()

        return upper(formula)

    def mean(self) -> float:
        """Return E L = shift²/(2·sigma²), because the noise has mean 0."""
        return upper(lambda: ball(self.shift * self.shift * self.noise.exponent))


@shift_loss_of.register
def _(noise: DiscreteGaussian, shift: Fraction) -> Atoms:
    """List L(k) = shift·(shift - 2k)/(2·sigma²) up to a reach; beyond it counts as infinite for delta."""
    step = int(shift)
    if step > _WIDEST * noise.sigma:
        raise InvalidParameter(
            "sensitivity",
            step,
            f"at most {_WIDEST} times sigma, which is {noise.sigma}",
            "Beyond, answers give everybody away. Stretch the noise to the sensitivity.",
        )
    last = ceil(_REACH * noise.sigma)
    unit = step * noise.exponent
    beyond = upper(lambda: 2 * noise._tail_here(last + 1))
    ranges = None
    if 2 * last < _MOST_OF_A_BELL:
        k = np.arange(-last, last + 1)
        masses = np.asarray(noise.log_pmf(k))
        pad = (np.abs(masses) + 16) * 4 * ROUNDING
        atoms = on_steps(step - 2 * k[::-1], (masses + pad)[::-1], unit, beyond)
    else:
        steps, masses, ranges = _buckets(noise, step, last)
        atoms = on_steps(steps, masses, unit, beyond)
    return replace(atoms, worst=inf, moments=GaussianMoments(noise, step), ranges=ranges)


def _buckets(noise: DiscreteGaussian, shift: int, last: int) -> tuple[Ints, Floats, Ranges]:
    """Replace each bucket of neighbouring k by its ends, with the same mass under P and under Q."""
    width = -(-4 * last // _MOST_OF_A_BELL)
    first = np.arange(-last, last + 1, width)
    end = np.minimum(first + width - 1, last)
    p, q = _masses(noise, first, end), _masses(noise, first - shift, end - shift)
    high, low = shift - 2 * first, shift - 2 * end
    unit = float(shift * noise.exponent)
    # share·exp(-low) + (1 - share)·exp(-high) = q/p, so that Q keeps its mass; less share is the safe side,
    # and none at all where a shift of many sigma leaves what floats hold well.
    with np.errstate(all="ignore"):
        spread = np.expm1((high - low) * unit)
        share = np.clip(((q / p) * np.exp(high * unit) * (1 - _BLUR) - 1) / spread, 0.0, 1.0)
        share = np.where((high > low) & (q > _WELL_HELD) & np.isfinite(share), share, 0.0)
        masses = np.concatenate([np.log(p) + np.log(share), np.log(p) + np.log1p(-share)]) + _BLUR
        whole = np.log(p) + _BLUR
    steps = np.concatenate([low, high])
    kept = masses > -inf
    return steps[kept], masses[kept], Ranges(_down(low, unit), -_down(-high, unit), whole)


def _down(steps: Ints, unit: float) -> Floats:
    """Return multiples of a unit, rounded down."""
    values = np.asarray(steps * unit, np.float64)
    return values - np.abs(values) * ROUNDING


def _masses(noise: DiscreteGaussian, first: Ints, end: Ints) -> Floats:
    """Return P(first <= Y <= end), from the tails on the bucket's own side of 0."""
    right = np.asarray(noise.sf(first - 1)) - np.asarray(noise.sf(end))
    left = np.asarray(noise.cdf(end)) - np.asarray(noise.cdf(first - 1))
    return np.asarray(np.where(first > 0, right, left))


@shift_loss_of.register
def _(noise: StaircaseNoise, shift: Fraction) -> Atoms:
    """Every loss is a whole multiple of epsilon, and beyond a few periods the losses repeat."""
    period, step = noise.sensitivity, int(shift)
    if period + step > _MOST_LISTED:
        raise InvalidParameter(
            "sensitivity",
            step,
            f"at most {_MOST_LISTED - period} for this staircase",
            "Use a coarser lattice.",
        )
    left, right = -2 * period, step + 2 * period
    k = np.arange(left, right)
    masses = np.asarray(noise.pmf(k)).copy()
    # The outermost period on each side stands for itself and all that follow it.
    endless = 1 / -np.expm1(-float(noise.epsilon))
    masses[:period] *= endless
    masses[-period:] *= endless
    steps = _level(noise, np.abs(k - step)) - _level(noise, np.abs(k))
    values, place = np.unique(steps, return_inverse=True)
    sums = np.bincount(place, masses)
    return on_steps(values, np.log(sums) + (len(k) + 64) * ROUNDING, noise.epsilon)


def _level(noise: StaircaseNoise, size: Ints) -> Ints:
    """Return how many steps down the staircase a size is."""
    period, place = np.divmod(size, noise.sensitivity)
    return period + (place >= noise.first)
