"""The loss of many independent uses: one Fourier transform of exponentially tilted atoms.

A plain transform errs by about 1e-16 of the largest probability, which drowns a small delta. So the atoms
are weighted by exp(tilt·loss) first, with the tilt that brings the region of interest to the centre; the
weights are divided out again afterwards. Truncation, wrap-around and round-off are bounded and added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, floor, inf, isfinite, log2, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .atoms import BLUR, ROUNDING, Atoms, Floats, Ints, common_unit, log_sum, spread
from .curve import Curve

Spectrum: TypeAlias = NDArray[np.complex128]

_UNIT_ROUNDOFF = 2.0**-53
_NEGLIGIBLE = -42.0  # ln of the tilted mass that may fall outside the window
_MOST_POINTS = 2**22
_EXACT_POINTS = 2**20
_GRID_POINTS = 2**16
_PER_DEVIATION = 64
_FAR_LEFT = 12.0


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """Atoms on a lattice, used `uses` times."""

    steps: Ints
    log_masses: Floats
    uses: int


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Independent losses on one lattice of spacing `step`; `drift` bounds how far a sum was moved to fit."""

    step: float
    factors: tuple[Factor, ...]
    drift: float
    blur: float = 0.0  # how much of |sum| rounding may have taken away

    def log_moment(self, tilt: float) -> float:
        """Return about ln E exp(tilt·sum)."""
        return sum(
            factor.uses * log_sum(factor.log_masses + tilt * self.step * factor.steps)
            for factor in self.factors
        )

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """Return ln E exp(tilt·sum), and mean and variance of the sum under the tilt, all approximate."""
        log_total = mean = variance = 0.0
        for factor in self.factors:
            exponents = factor.log_masses + tilt * self.step * factor.steps
            total = log_sum(exponents)
            weights = np.exp(exponents - total)
            centre = float(weights @ factor.steps)
            log_total += factor.uses * total
            mean += factor.uses * centre * self.step
            variance += factor.uses * float(weights @ (factor.steps - centre) ** 2) * self.step**2
        return log_total, mean, variance

    @property
    def support(self) -> tuple[int, int]:
        """The least and the largest possible sum, in steps."""
        low = sum(factor.uses * int(factor.steps[0]) for factor in self.factors)
        return low, sum(factor.uses * int(factor.steps[-1]) for factor in self.factors)


def lattice(parts: Sequence[tuple[Atoms, int]]) -> Lattice:
    """Put losses on one lattice: exactly where they share a unit, by a dominating spread otherwise."""
    units = [atoms.unit for atoms, _ in parts if atoms.unit is not None]
    unit = common_unit(units) if len(units) == len(parts) else None
    if unit is not None and _window_width(parts) / float(unit) < _EXACT_POINTS:
        factors = []
        for atoms, uses in parts:
            assert atoms.unit is not None
            assert atoms.steps is not None
            factors.append(Factor(atoms.steps * int(atoms.unit / unit), atoms.log_masses, uses))
        return Lattice(float(unit), tuple(factors), 0.0)
    step = _grid_step(parts)
    factors = [Factor(*spread(atoms, step), uses) for atoms, uses in parts]
    moved = sum(uses * (step + atoms.slack) for atoms, uses in parts)
    blur = sum(
        uses * (atoms.slack + 2 * BLUR * (float(np.max(np.abs(atoms.values))) + 1)) for atoms, uses in parts
    )
    return Lattice(step, tuple(factors), moved, blur)


def _width(atoms: Atoms) -> float:
    return float(atoms.values[-1] - atoms.values[0])


def _deviation(parts: Sequence[tuple[Atoms, int]]) -> float:
    return sqrt(sum(count * atoms.tilted(0.0)[2] for atoms, count in parts))


def _window_width(parts: Sequence[tuple[Atoms, int]]) -> float:
    """Return about how wide a window holds the sum."""
    whole = sum(count * _width(atoms) for atoms, count in parts)
    return min(whole, 40 * _deviation(parts) + 4 * max(_width(atoms) for atoms, _ in parts))


def _grid_step(parts: Sequence[tuple[Atoms, int]]) -> float:
    """Choose the grid: fine against one use's deviation, whose square is what a spread adds to."""
    uses = sum(count for _, count in parts)
    window, widest = _window_width(parts), max(_width(atoms) for atoms, _ in parts)
    # Losses that hardly vary leave a width near 0; their size then sets the scale.
    size = max(float(np.max(np.abs(atoms.values))) for atoms, _ in parts)
    finest = max(window * 2 / _MOST_POINTS, widest * 8 / _MOST_POINTS, size * 2.0**-44, 2.0**-60)
    wanted = min(window / _GRID_POINTS, _deviation(parts) / sqrt(uses) / _PER_DEVIATION)
    # A power of two keeps products of the step with whole numbers exact.
    return 2.0 ** floor(log2(max(wanted, finest)))


@dataclass(frozen=True, slots=True, eq=False)
class Tilted:
    """Probabilities of the tilted sum at first, first + 1, ... steps, each an upper bound."""

    lattice: Lattice
    tilt: float
    first: int
    probabilities: Floats
    log_scale: float
    before: float  # bound on the tilted mass to the left of the window
    beyond: float  # and to its right

    @property
    def values(self) -> Floats:
        """The sums of the loss in the window, rounded up."""
        values = (self.first + np.arange(len(self.probabilities))) * self.lattice.step
        return np.asarray(values + np.abs(values) * ROUNDING)

    def log_masses(self) -> Floats:
        """Return the logs of the probabilities with the tilt divided out."""
        exponents = self.log_scale - self.tilt * self.values
        pad = (abs(self.log_scale) + np.abs(self.tilt * self.values) + 8) * 4 * ROUNDING
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities) + exponents + pad)

    def curve(self, infinite: float) -> Curve:
        """Return delta(epsilon), to be used near the centre of the window."""
        values, masses = self.values, self.log_masses()
        lost = self.beyond * exp(min(self.log_scale - self.tilt * float(values[-1]), 700.0))
        if self.tilt == 0:
            lost += self.before  # then the curve holds to the left of the window too
        kept = masses > -inf
        if self.tilt > 0:
            # Far left of the centre, dividing by small weights would only blow errors up.
            kept &= values >= self.lattice.moments(self.tilt)[1] - _FAR_LEFT / self.tilt
        whole = self.tilt == 0 or (self.before == 0 and bool(kept[np.argmax(masses > -inf)]))
        values, masses = values[kept], masses[kept]
        return Curve(values, masses, infinite + lost, -inf if whole else float(values[0]))


def tilted(on: Lattice, tilt: float) -> Tilted:
    """Return the distribution of the sum under a tilt, from one transform and its inverse."""
    log_scale, mean, variance = on.moments(tilt)
    first, last, before, beyond = _window(on, tilt, mean, variance)
    points = 1 << max(3, (last - first).bit_length())
    product, error = _transform(on, tilt, points)
    whole = np.fft.irfft(product, points)
    size = sqrt(2 * float(np.sum(np.abs(product) ** 2)) / points)  # at least the 2-norm of the result
    error += 16 * log2(points) * _UNIT_ROUNDOFF * size
    # Sums are known modulo `points`; what wraps around can only add to what is there.
    probabilities = np.maximum(np.roll(whole, -(first % points)), 0.0)[: last - first + 1] + error
    return Tilted(on, tilt, first, probabilities, log_scale, before, beyond)


def _window(on: Lattice, tilt: float, mean: float, variance: float) -> tuple[int, int, float, float]:
    """Return a window of steps that holds the tilted sum, and bounds on the mass outside it."""
    low, high = on.support
    half = 9 * sqrt(variance) / on.step + 2
    while True:
        first, last = max(low, int(mean / on.step - half)), min(high, int(mean / on.step + half) + 1)
        rough = half * on.step / max(variance, on.step**2)
        right = -inf if last == high else _chernoff(on, tilt, last, rough)
        left = -inf if first == low else _chernoff(on, tilt, first, -rough)
        if max(left, right) < _NEGLIGIBLE or last - first > _MOST_POINTS:
            return first, last, exp(left), exp(right)
        half *= 1.5


def _chernoff(on: Lattice, tilt: float, edge: int, rough: float) -> float:
    """Return a bound on ln of the tilted mass beyond `edge`; `rough` is the further tilt of a Gaussian."""
    base, best = on.log_moment(tilt), 0.0
    uses = sum(factor.uses for factor in on.factors)
    pad = (abs(base) + abs(tilt * edge * on.step) + 16 * uses + 64) * ROUNDING * 16
    for scale in (1.0, 0.75, 0.5, 0.25, 1.5):
        more = rough * scale
        bound = on.log_moment(tilt + more) - base - more * edge * on.step
        if isfinite(bound):
            best = min(best, bound + pad)
        if best < _NEGLIGIBLE:
            break
    return best


def _transform(on: Lattice, tilt: float, points: int) -> tuple[Spectrum, float]:
    """Return the transform of the sum's distribution and a bound on the error of each probability.

    Forward: the 2-norm of the error of a transform is at most 16·log2(n) roundoffs of the 2-norm of the
    result (Higham 2002, Theorem 24.2, with room). Powers: a product of k factors errs by k·sqrt(5) roundoffs.
    """
    relative = 16 * log2(points) * _UNIT_ROUNDOFF
    product = np.ones(points // 2 + 1, dtype=np.complex128)
    sizes = np.ones(points // 2 + 1)
    pairs: list[tuple[Floats, float, int]] = []
    uses = sum(factor.uses for factor in on.factors)
    for factor in on.factors:
        vector = _tilted_vector(factor, tilt * on.step, points)
        spectrum = np.fft.rfft(vector)
        norm = relative * sqrt(points) * float(np.linalg.norm(vector))
        product *= power(spectrum, factor.uses)
        bound = np.abs(spectrum) + norm
        sizes *= bound**factor.uses
        pairs.append((bound, norm, factor.uses))
    error = sqrt(5) * _UNIT_ROUNDOFF * 1.1 * uses * 2 * float(np.sum(sizes)) / points
    for bound, norm, count in pairs:
        error += count * norm * sqrt(2 * float(np.sum((sizes / bound) ** 2))) / points
    return product, error


def _tilted_vector(factor: Factor, tilt: float, points: int) -> Floats:
    exponents = factor.log_masses + tilt * factor.steps
    total = log_sum(exponents)
    sizes = np.abs(factor.log_masses) + np.abs(tilt * factor.steps) + abs(total) + 8
    weights = np.exp(exponents - total) * (1 + sizes * ROUNDING)
    return np.asarray(np.bincount(factor.steps % points, weights, points), np.float64)


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
