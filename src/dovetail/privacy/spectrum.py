"""The Fourier transform of a sum of independent losses on a lattice, with a bound on its rounding errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, log2, pi, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .atoms import ROUNDING, Floats, Ints, log_sum

Spectrum: TypeAlias = NDArray[np.complex128]

UNIT_ROUNDOFF = 2.0**-53
_SKETCHED = 4096
_VANISHED = -120.0  # ln of what a frequency may add and is left out


@dataclass(frozen=True, eq=False)
class Factor:
    """Atoms on a lattice, used `uses` times."""

    steps: Ints
    log_masses: Floats
    uses: int

    @cached_property
    def sketch(self) -> tuple[Floats, Floats]:
        """About the same atoms, but only a few thousand, for moments that need not be exact."""
        if len(self.steps) <= _SKETCHED:
            return self.steps.astype(np.float64), self.log_masses
        width = int(self.steps[-1] - self.steps[0]) // _SKETCHED + 1
        starts = np.flatnonzero(np.diff((self.steps - self.steps[0]) // width, prepend=-1))
        totals = np.logaddexp.reduceat(self.log_masses, starts)
        shares = np.exp(self.log_masses - np.repeat(totals, np.diff(starts, append=len(self.steps))))
        return np.add.reduceat(shares * self.steps, starts), totals


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The transform of one factor at rising frequencies, and bounds on its errors: each, and all together."""

    frequencies: Ints
    spectrum: Spectrum
    each: float
    together: float
    uses: int

    @property
    def bound(self) -> Floats:
        """An upper bound on the size at each frequency."""
        return np.asarray(np.abs(self.spectrum) + self.each)

    def at(self, kept: Ints) -> _Part:
        """Return some of the frequencies."""
        places = np.searchsorted(self.frequencies, kept)
        return replace(self, frequencies=kept, spectrum=self.spectrum[places])


def transform(factors: Sequence[Factor], tilt: float, points: int) -> tuple[Spectrum, float]:
    """Return the transform of the sum's distribution and a bound on the error of each probability.

    The weights of losses are tilted by exp(tilt·step) first and scaled to a sum of 1.
    Powers: a product of k factors errs by k·sqrt(5) roundoffs. Of many uses only the frequencies near a few
    peaks are left, so the factors that scatter the sum most come first.
    """
    kept = np.arange(points // 2 + 1)
    log_size, growth = np.zeros(len(kept)), 0.0
    parts: list[_Part] = []
    weighed = [(factor, _tilted_weights(factor, tilt)) for factor in factors]
    for factor, weights in sorted(weighed, key=_scatter, reverse=True):
        few = 2 * len(kept) * len(weights) < points
        parts.append((_at_few if few else _at_all)(factor, weights, kept, points))
        log_size += factor.uses * np.log(parts[-1].bound)
        growth += factor.uses * max(log(float(np.sum(weights)) + parts[-1].each), 0.0)
        near = log_size > _VANISHED
        kept, log_size = kept[near], log_size[near]
    parts = [part.at(kept) for part in parts]
    sizes = np.exp(np.minimum(log_size, 300.0)) * (1 + (np.abs(log_size) + 8) * ROUNDING)
    product = np.zeros(points // 2 + 1, dtype=np.complex128)
    product[kept] = 1.0
    uses = sum(part.uses for part in parts)
    error = sqrt(5) * UNIT_ROUNDOFF * 1.1 * uses * 2 * float(np.sum(sizes)) / points
    # What was left out was that small before the factors that came later, which can be a little above 1.
    error += exp(min(_VANISHED + growth, 0.0))
    for part in parts:
        product[kept] *= power(part.spectrum, part.uses)
        error += part.uses * part.together * sqrt(2 * float(np.sum((sizes / part.bound) ** 2))) / points
    return product, error


def _tilted_weights(factor: Factor, tilt: float) -> Floats:
    exponents = factor.log_masses + tilt * factor.steps
    total = log_sum(exponents)
    sizes = np.abs(factor.log_masses) + np.abs(tilt * factor.steps) + abs(total) + 8
    return np.asarray(np.exp(exponents - total) * (1 + sizes * ROUNDING))


def _scatter(weighed: tuple[Factor, Floats]) -> float:
    """Return about what a factor adds to the variance of the sum."""
    factor, weights = weighed
    return factor.uses * float(weights @ (factor.steps - float(weights @ factor.steps)) ** 2)


def _at_all(factor: Factor, weights: Floats, kept: Ints, points: int) -> _Part:
    """Transform a factor by the fast transform.

    The 2-norm of its error is at most 16·log2(n) roundoffs of the 2-norm of the result (Higham 2002, Theorem
    24.2, with room).
    """
    vector = np.bincount(factor.steps % points, weights, points)
    # Not by the linear algebra library, whose threads take longer to start than this takes.
    norm = sqrt(float(np.sum(vector * vector)))
    error = 16 * log2(points) * UNIT_ROUNDOFF * sqrt(points) * norm
    return _Part(kept, np.fft.rfft(vector)[kept], error, error, factor.uses)


def _at_few(factor: Factor, weights: Floats, kept: Ints, points: int) -> _Part:
    """Transform a factor term by term, which is cheaper where few frequencies are left.

    An angle, its sine and its cosine err by less than 16 roundoffs, a sum of n terms by n more.
    """
    turns = np.outer(kept, factor.steps % points) % points
    angles = np.where(turns > points // 2, turns - points, turns) * (-2 * pi / points)
    spectrum = np.cos(angles) @ weights + 1j * (np.sin(angles) @ weights)
    error = (2 * len(weights) + 48) * UNIT_ROUNDOFF * float(np.sum(weights))
    return _Part(kept, spectrum, error, error * sqrt(2 * len(kept)), factor.uses)


def power(base: Spectrum, exponent: int) -> Spectrum:
    """Return an array to a whole power by repeated squaring, whose rounding errors are known."""
    result = np.ones_like(base)
    square = base
    while exponent:
        if exponent & 1:
            result = result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return result
