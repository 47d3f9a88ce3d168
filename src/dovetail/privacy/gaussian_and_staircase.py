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

from .atoms import ROUNDING, Atoms, Floats, Ints, LossRanges, on_steps
from .dominating_pairs import shift_loss_of

# The listed losses of a Gaussian reach this many sigma; beyond it lies a mass of 1e-43.
_REACH = 14
_MOST_LISTED = 1 << 20
# A bucket of a wide Gaussian is then at most a 2,000th of sigma wide.
_MOST_BUCKETS = 1 << 17
# A shift of so many sigma has a mean loss of 5e7; larger ones leave what floats can tell apart.
_WIDEST = 10_000


@dataclass(frozen=True, slots=True)
class GaussianMoments:
    """Moments of the Gaussian's loss in closed form: it has no upper end, yet all of them are finite."""

    noise: DiscreteGaussian
    shift: int

    def log_moment(self, order: float) -> float:
        """Return an upper bound on ln E exp(order·L).

        With m = order·shift, exp(order·L)·p(k) = exp((order + order²)·shift²/(2·sigma²))·p(k + m), and the
        sum of weights over the integers moved by m is largest for whole m (Canonne, Kamath, Steinke 2020).
        """
        exact = Fraction(order)
        growth = (exact + exact * exact) * self.shift * self.shift * self.noise.exponent
        return upper(lambda: ball(growth))

    def log_mean_exp_size(self) -> float:
        """Return an upper bound on ln E exp|L|: Q's mass where L <= 0, the moved weights' elsewhere."""
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
            "Beyond that, an answer would reveal everybody. Stretch the noise to the sensitivity.",
        )
    last = ceil(_REACH * noise.sigma)
    unit = step * noise.exponent
    beyond = upper(lambda: 2 * noise._tail_here(last + 1))
    ranges = None
    if 2 * last < _MOST_BUCKETS:
        k = np.arange(-last, last + 1)
        masses = np.asarray(noise.log_pmf(k))
        pad = (np.abs(masses) + 16) * 4 * ROUNDING
        atoms = on_steps(step - 2 * k[::-1], (masses + pad)[::-1], unit, beyond)
    else:
        steps, masses, ranges = _buckets(noise, step, last)
        atoms = on_steps(steps, masses, unit, beyond)
    return replace(atoms, worst=inf, moments=GaussianMoments(noise, step), ranges=ranges)


def _buckets(noise: DiscreteGaussian, shift: int, last: int) -> tuple[Ints, Floats, LossRanges]:
    """Replace each bucket of neighbouring k by its ends, with the same mass under P and no more under Q.

    The low end may take E_P[exp(high - L) - 1]/(exp(high - low) - 1) of the mass; less is the safe side.
    """
    width = -(-4 * last // _MOST_BUCKETS)
    first = np.arange(-last, last + 1, width)
    end = np.minimum(first + width - 1, last)
    whole = _log_masses(noise, first, end)
    high, low = shift - 2 * first, shift - 2 * end
    unit = float(shift * noise.exponent)
    size = (high - low) * unit
    # exp(x) - 1 >= x, so the share is at least that of the mean place.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = _mean_place(noise, first, end) * np.where(size > 0, size / np.expm1(size), 0.0)
        share = np.clip(share * (1 - 64 * ROUNDING), 0.0, 1.0)
        masses = np.concatenate([whole + np.log(share), whole + np.log1p(-share) + 4 * ROUNDING])
    steps = np.concatenate([low, high])
    kept = masses > -inf
    return steps[kept], masses[kept], LossRanges(_down(low, unit), -_down(-high, unit), whole)


def _log_masses(noise: DiscreteGaussian, first: Ints, end: Ints) -> Floats:
    """Return an upper bound on ln P(first <= Y <= end) for buckets far narrower than sigma.

    Around its centre c a bucket's weights are exp(-c²/2sigma²)·cosh(c·j/sigma²)·exp(-j²/2sigma²), of which
    the first terms of the series are summed and the rest is bounded.
    """
    count = (end - first + 1).astype(np.float64)
    centre = (first + end) / 2
    sigma = float(noise.sigma)
    steep, half = np.abs(centre) / sigma**2, count / 2
    squares = (count**2 - 1) / 12  # the mean of j²
    series = squares / 2 * (steep**2 - 1 / sigma**2)
    rest = (steep * half) ** 4 / 12 + (half / sigma) ** 4 + (steep * half * half / sigma) ** 2
    logs = noise._log_density(np.abs(centre)) + np.log(count) + np.log1p(series + rest)
    return np.asarray(logs + (np.abs(logs) + centre**2 / sigma**2 + 64) * 4 * ROUNDING)


def _mean_place(noise: DiscreteGaussian, first: Ints, end: Ints) -> Floats:
    """Return a lower bound on E[(Y - first)/(end - first)] in each bucket.

    Within a bucket the weights fall at most by the slope at its end, so the mean is at least that of a
    truncated geometric law of this slope s, (w - 1)/2 - s·(w² - 1)/12 + O(s³) for w values.
    """
    count = (end - first + 1).astype(np.float64)
    slope = end / float(noise.sigma) ** 2
    mean = (count - 1) / 2 - slope * (count**2 - 1) / 12 - np.abs(slope) ** 3 * count**4 / 720
    return np.asarray(np.maximum(mean, 0.0) / np.maximum(count - 1, 1.0))


def _down(steps: Ints, unit: float) -> Floats:
    """Return multiples of a unit, rounded down."""
    values = np.asarray(steps * unit, np.float64)
    return values - np.abs(values) * ROUNDING


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
    masses = np.asarray(noise.log_pmf(k)).copy()
    # The outermost period on each side stands for itself and all that follow it.
    endless = np.log(-np.expm1(-float(noise.epsilon)))
    masses[:period] -= endless
    masses[-period:] -= endless
    steps = _level(noise, np.abs(k - step)) - _level(noise, np.abs(k))
    return on_steps(steps, masses + (np.abs(masses) + 64) * ROUNDING, noise.epsilon)


def _level(noise: StaircaseNoise, size: Ints) -> Ints:
    """Return how many steps down the staircase a size is."""
    period, place = np.divmod(size, noise.sensitivity)
    return period + (place >= noise.first)
