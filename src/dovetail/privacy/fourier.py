"""The loss of many independent uses: one Fourier transform of exponentially tilted atoms.

A plain transform errs by about 1e-16 of the largest probability, which drowns a small delta. So the atoms
are weighted by exp(tilt·loss) first, with the tilt that brings the region of interest to the centre; the
weights are divided out again afterwards. Truncation, wrap-around and round-off are bounded and added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, expm1, floor, inf, isfinite, log2, sqrt
from typing import TypeAlias

import numpy as np

from .atoms import BLUR, ROUNDING, Atoms, Floats, common_unit, log_sum, on_steps, spread
from .curve import Curve
from .spectrum import UNIT_ROUNDOFF, Factor, transform

Parts: TypeAlias = Sequence[tuple[Atoms, int]]

_NEGLIGIBLE = -42.0  # ln of the tilted mass that may fall outside the window
_MOST_POINTS = 2**21
_FEWEST_POINTS = 2**13
_GRID_POINTS = 2**16
_RAISED_POINTS = 2**14
_PER_DEVIATION = 64


@dataclass(frozen=True, slots=True, eq=False)
class LossLattice:
    """Independent losses on one lattice of spacing `step`; `exact` if none had to be moved to fit."""

    step: float
    factors: tuple[Factor, ...]
    exact: bool = True
    blur: float = 0.0  # how much of |sum| rounding may have taken away

    def log_moment(self, tilt: float) -> float:
        """Return ln E exp(tilt·sum), but for rounding."""
        return sum(
            factor.uses * log_sum(factor.log_masses + tilt * self.step * factor.steps)
            for factor in self.factors
        )

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """Return ln E exp(tilt·sum), and mean and variance of the sum under the tilt, all approximate."""
        log_total = mean = variance = 0.0
        for factor in self.factors:
            steps, log_masses = factor.sketch
            exponents = log_masses + tilt * self.step * steps
            total = log_sum(exponents)
            weights = np.exp(exponents - total)
            centre = float(weights @ steps)
            log_total += factor.uses * total
            mean += factor.uses * centre * self.step
            variance += factor.uses * float(weights @ (steps - centre) ** 2) * self.step**2
        return log_total, mean, variance

    @property
    def support(self) -> tuple[int, int]:
        """The least and the largest possible sum, in steps."""
        low = sum(factor.uses * int(factor.steps[0]) for factor in self.factors)
        return low, sum(factor.uses * int(factor.steps[-1]) for factor in self.factors)

    @property
    def widest(self) -> float:
        """How far apart the least and the largest loss of a single use are."""
        return max(int(factor.steps[-1] - factor.steps[0]) for factor in self.factors) * self.step


# Puts losses on a lattice whose step is at least the one given.
Placement: TypeAlias = Callable[[Parts, float], LossLattice]


@dataclass(frozen=True, eq=False)
class Placed:
    """Losses and a way to put them on a lattice; the finest lattice is kept."""

    parts: Parts
    place: Placement

    @cached_property
    def finest(self) -> LossLattice:
        """The lattice with the finest step in use."""
        return self.place(self.parts, 0.0)

    def coarser(self, step: float) -> LossLattice:
        """Return a lattice whose step is at least this."""
        return self.place(self.parts, step)


def dominating(parts: Parts, coarser: float) -> LossLattice:
    """Put losses on one lattice such that no divergence falls: exactly where they share a unit.

    Without a common unit each loss is spread over its two neighbours on a grid ("connect the dots"). That
    moves mass down as well as up, so it does not bound the chance of a loss above a limit.
    """
    exact = _exactly(parts, coarser)
    if exact is not None:
        return exact
    step = _grid_step(parts, coarser)
    factors = [Factor(*spread(atoms, step), uses) for atoms, uses in parts]
    blur = sum(
        uses * (atoms.slack + 2 * BLUR * (float(np.max(np.abs(atoms.values))) + 1)) for atoms, uses in parts
    )
    return LossLattice(step, tuple(factors), False, blur)


def rounded_up(parts: Parts, coarser: float) -> LossLattice:
    """Put losses on one lattice such that none falls: the chance of a sum above a limit only grows."""
    return _raised(parts, coarser, mirrored=False)


def mirrored_up(parts: Parts, coarser: float) -> LossLattice:
    """Put the losses with their signs turned on one lattice such that none falls."""
    return _raised(parts, coarser, mirrored=True)


def _raised(parts: Parts, coarser: float, *, mirrored: bool) -> LossLattice:
    if all(atoms.ranges is None for atoms, _ in parts):
        exact = _exactly(parts, coarser)
        if exact is not None:
            return exact if not mirrored else _turned(exact)
    # Every loss rises by half a step on average, and the sum by that for each use: so the steps are fine.
    uses = sum(count for _, count in parts)
    points = min(_RAISED_POINTS * uses, _most_points(parts) // 2)
    step = _power_of_two(max(_window_width(parts) / points, _finest(parts), coarser))
    factors = []
    for atoms, count in parts:
        ranges = atoms.all_ranges().mirrored() if mirrored else atoms.all_ranges()
        above = np.ceil(ranges.high / step + (np.abs(ranges.high) + 1) * BLUR / step).astype(np.int64)
        placed = on_steps(above, ranges.log_masses, Fraction(1))
        assert placed.steps is not None
        factors.append(Factor(placed.steps, placed.log_masses, count))
    return LossLattice(step, tuple(factors), False)


def _turned(on: LossLattice) -> LossLattice:
    factors = (Factor(-f.steps[::-1], f.log_masses[::-1], f.uses) for f in on.factors)
    return LossLattice(on.step, tuple(factors), on.exact, on.blur)


def _exactly(parts: Parts, coarser: float) -> LossLattice | None:
    """Return the common lattice of all losses, if they have one that is wide enough."""
    units = [atoms.unit for atoms, _ in parts if atoms.unit is not None]
    unit = common_unit(units) if len(units) == len(parts) else None
    if unit is None or unit < coarser or not _window_width(parts) / float(unit) < _most_points(parts):
        return None
    factors = []
    for atoms, uses in parts:
        assert atoms.unit is not None
        assert atoms.steps is not None
        factors.append(Factor(atoms.steps * int(atoms.unit / unit), atoms.log_masses, uses))
    return LossLattice(float(unit), tuple(factors))


def _most_points(different: Sequence[object]) -> int:
    """Return how many steps a window may have: each of several different losses takes a transform of them.

    >>> [_most_points(range(n)) // 2**10 for n in (1, 3, 4, 7, 8, 10**4)]
    [2048, 2048, 1024, 1024, 512, 8]
    """
    share = 4 * _MOST_POINTS // (len(different) + 1)
    return max(min(1 << (share.bit_length() - 1), _MOST_POINTS), _FEWEST_POINTS)


def _width(atoms: Atoms) -> float:
    return float(atoms.values[-1] - atoms.values[0])


def _deviation(parts: Parts) -> float:
    return sqrt(sum(count * atoms.tilted(0.0)[2] for atoms, count in parts))


def _window_width(parts: Parts) -> float:
    """Return about how wide a window holds the sum."""
    whole = sum(count * _width(atoms) for atoms, count in parts)
    return min(whole, 40 * _deviation(parts) + 4 * max(_width(atoms) for atoms, _ in parts))


def _grid_step(parts: Parts, coarser: float) -> float:
    """Choose the grid: fine against one use's deviation, whose square is what a spread adds to."""
    uses = sum(count for _, count in parts)
    wanted = min(_window_width(parts) / _GRID_POINTS, _deviation(parts) / sqrt(uses) / _PER_DEVIATION)
    return _power_of_two(max(wanted, _finest(parts), coarser))


def _finest(parts: Parts) -> float:
    """Return the least step: a window must not have too many of them, nor one loss."""
    widest = max(_width(atoms) for atoms, _ in parts)
    # Losses that hardly vary leave a width near 0; their size then sets the scale.
    size = max(float(np.max(np.abs(atoms.values))) for atoms, _ in parts)
    return max(max(2 * _window_width(parts), 8 * widest) / _most_points(parts), size * 2.0**-44, 2.0**-60)


def _power_of_two(step: float) -> float:
    """Return a power of two, which keeps products of the step with whole numbers exact."""
    return 2.0 ** floor(log2(step))


@dataclass(frozen=True, slots=True, eq=False)
class Tilted:
    """Probabilities of the tilted sum at first, first + 1, ... steps, each an upper bound."""

    lattice: LossLattice
    tilt: float
    first: int
    probabilities: Floats
    log_scale: float
    before: float  # bound on the tilted mass to the left of the window
    beyond: float  # and to its right
    error: float  # what every probability holds for rounding

    @property
    def values(self) -> Floats:
        """The sums of the loss in the window, rounded up."""
        values = (self.first + np.arange(len(self.probabilities))) * self.lattice.step
        return np.asarray(values + np.abs(values) * ROUNDING)

    def curve(self, infinite: float, start: float) -> Curve:
        """Return delta(epsilon) from `start` on, with the tilt divided out; without a tilt, everywhere."""
        values = self.values
        last = float(values[-1]) if len(values) else inf
        lost = self.beyond * exp(min(self.log_scale - self.tilt * last, 700.0)) if self.beyond else 0.0
        kept = self.probabilities > 0
        if self.tilt == 0:
            lost += self.before
        else:
            # Far left of the centre, dividing by small weights would only blow errors up.
            kept &= values >= start
            # What lies between the start and the window weighs at most as much as at the start.
            lost += self.before * exp(min(self.log_scale - self.tilt * start, 700.0))
        values = values[kept]
        exponents = self.log_scale - self.tilt * values
        pad = (abs(self.log_scale) + np.abs(self.tilt * values) + 8) * 4 * ROUNDING
        masses = np.log(self.probabilities[kept]) + exponents + pad
        return Curve(values, masses, infinite + lost, start if self.tilt else -inf)

    def unseen(self, start: float) -> float:
        """Return about how much of delta at `start` stands for errors and for what the window leaves out."""
        if not self.tilt:
            return self.before + self.beyond
        errors = self.error / -expm1(-self.tilt * self.lattice.step)
        return (self.before + errors) * exp(min(self.log_scale - self.tilt * start, 700.0))


def tilted(losses: Placed, tilt: float) -> Tilted:
    """Return the distribution of the sum under a tilt, from one transform and its inverse.

    Where a window of the sum has too many steps, they become coarser, until a single loss has no more than
    two; then, and where rounding may have done more than all of it, the whole mass counts as outside.
    """
    on = losses.finest
    while (window := _window(on, tilt)) is None:
        if on.widest <= 2 * on.step:
            return _unseen(on, tilt)
        on = losses.coarser(4 * on.step)
    first, last, before, beyond = window
    points = 1 << max(3, (last - first).bit_length())
    product, error = transform(on.factors, tilt * on.step, points)
    if not error < 1:
        return _unseen(on, tilt)
    whole = np.fft.irfft(product, points)
    size = sqrt(2 * float(np.sum(np.abs(product) ** 2)) / points)  # at least the 2-norm of the result
    error += 16 * log2(points) * UNIT_ROUNDOFF * size
    # Sums are known modulo `points`; what wraps around can only add to what is there.
    probabilities = np.maximum(np.roll(whole, -(first % points)), 0.0)[: last - first + 1] + error
    return Tilted(on, tilt, first, probabilities, on.log_moment(tilt), before, beyond, error)


def _unseen(on: LossLattice, tilt: float) -> Tilted:
    return Tilted(on, tilt, 0, np.empty(0), on.log_moment(tilt), before=1.0, beyond=0.0, error=0.0)


def _window(on: LossLattice, tilt: float) -> tuple[int, int, float, float] | None:
    """Return a window of steps that holds the tilted sum, and bounds on the mass outside it; None if none."""
    _, mean, variance = on.moments(tilt)
    low, high = on.support
    half = 9 * sqrt(variance) / on.step + 2
    while True:
        first, last = max(low, int(mean / on.step - half)), min(high, int(mean / on.step + half) + 1)
        if last - first >= _most_points(on.factors):
            return None
        rough = half * on.step / max(variance, on.step**2)
        right = -inf if last == high else _chernoff(on, tilt, last, rough)
        left = -inf if first == low else _chernoff(on, tilt, first, -rough)
        if max(left, right) < _NEGLIGIBLE:
            return first, last, exp(left), exp(right)
        half *= 1.5


def _chernoff(on: LossLattice, tilt: float, edge: int, rough: float) -> float:
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
