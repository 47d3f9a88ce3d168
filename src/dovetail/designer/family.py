"""The best shape of the family between the Gaussian and one rate, by floats: an estimate in milliseconds.

One number tells the shapes apart, the tilt; what a task asks for is met by the scale. So two searches along a
line find a noise within a few tenths of a per cent of the best of any shape, where it is wide against the
integers and its variance is what counts. Nothing here guards privacy: what is found is checked afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import log, sqrt

import numpy as np

from .calibration import NoiseShape, edge
from .composition_floats import log_delta_alone
from .piecewise_floats import PiecewiseFloats
from .shapes import Floats, UnitShape, unit_shapes

# Points of the grid per steepest rate.
_PER_RATE = 24
_CLOSE = 3e-5
# A step must gain more than the scale of a shape is off.
_CLOSE_ENOUGH, _LEAST_GAIN = 1e-7, 1e-4
_FIRST_STEP, _LAST_STEP = 0.08, 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A shape of the family at a scale, its standard deviation."""

    shape: UnitShape
    scale: float

    @property
    def rates(self) -> Floats:
        """The rates at this scale."""
        return self.shape.rates / self.scale

    @property
    def breaks(self) -> Floats:
        """The breaks at this scale, not whole."""
        return self.shape.breaks * self.scale

    @property
    def profile(self) -> PiecewiseFloats:
        """The noise as floats."""
        return PiecewiseFloats(self.rates, np.append(0.0, self.breaks))

    def on_integers(self, stretch: float) -> NoiseShape:
        """Return the noise, stretched, with whole breaks: the chords of its potential between them."""
        size = self.scale * stretch
        points = np.unique(np.rint(self.shape.breaks * size))
        points = points[points > 0]
        levels = self.shape.potential(np.append(0.0, points) / size)
        lengths = np.diff(np.append(0.0, points))
        rates = np.append(np.diff(levels) / lengths, self.rates[-1] / stretch)
        return NoiseShape(tuple(rates.tolist()), tuple(int(point) for point in points))


Margin = Callable[[PiecewiseFloats], float]
"""By how much, in logs, a noise keeps what was asked; negative where it does not."""


def best_of_family(
    pieces: int,
    margin: Margin,
    value: Callable[[PiecewiseFloats], float],
    *,
    side: int,
    guess: tuple[float, float],
) -> Scaled | None:
    """Return the shape whose value is the least at the narrowest (side 1) or widest (-1) scale that keeps.

    `guess` is about the tilt and the scale to begin with.
    """
    shapes = unit_shapes(pieces)[: 1 if pieces == 1 else None]
    known: dict[int, tuple[float, Scaled]] = {}
    place = min(range(len(shapes)), key=lambda number: abs(shapes[number].tilt - guess[0]))
    scale = guess[1]

    def at(number: int) -> float:
        nonlocal scale
        if not 0 <= number < len(shapes):
            return float("inf")
        if number not in known:
            start = scale
            found = edge(lambda x: margin(Scaled(shapes[number], start / x).profile), side, close=_CLOSE)
            if found is None:
                return float("inf")
            scale = start / found
            fitted = Scaled(shapes[number], scale)
            known[number] = value(fitted.profile), fitted
        return known[number][0]

    while True:
        step = min((-1, 0, 1), key=lambda by: at(place + by))
        if not step or at(place + step) == float("inf"):
            break
        place += step
    return known[place][1] if place in known else None


def polished(
    shape: NoiseShape,
    stretch: float,
    margin: Margin,
    value: Callable[[PiecewiseFloats], float],
    *,
    side: int,
) -> NoiseShape:
    """Return a shape of few pieces after steps that each lower its value, at the scale that just keeps.

    The sums of few different losses have a value with many kinks, where derivatives lead astray. So each step
    moves one break by whole numbers, or changes one rate by a share, if that gains more than floats are off:
    the same steps on every processor.
    """

    def scaled(rates: Floats, breaks: Floats) -> tuple[float, Floats]:
        starts = np.append(0.0, breaks) / stretch
        found = edge(
            lambda x: margin(PiecewiseFloats(rates * (x * stretch), starts)), side, close=_CLOSE_ENOUGH
        )
        if found is None:
            return float("inf"), rates
        return value(PiecewiseFloats(rates * (found * stretch), starts)), rates * found

    breaks = np.array(shape.breaks, dtype=np.float64)
    best, rates = scaled(np.array(shape.rates), breaks)
    step = _FIRST_STEP
    while step >= _LAST_STEP:
        before = best
        for place, sign in product(range(2 * len(breaks)), (1, -1)):
            near_rates, near_breaks = rates.copy(), breaks.copy()
            if place < len(breaks):
                near_breaks[place] += sign * max(1, round(step * breaks[place]))
            else:
                near_rates[place - len(breaks)] *= 1 + sign * step
            if (np.diff(near_rates) <= 0).any() or (np.diff(near_breaks, prepend=0.0) <= 0).any():
                continue
            here, kept = scaled(near_rates, near_breaks)
            if here < best * (1 - _LEAST_GAIN):
                best, rates, breaks = here, kept, near_breaks
        if best == before:
            step /= 2
    return NoiseShape(tuple(rates.tolist()), tuple(int(point) for point in breaks))


def delta_margin(delta: float, uses: int, epsilon: float) -> Margin:
    """Return the margin of a limit on delta at epsilon."""

    def margin(profile: PiecewiseFloats) -> float:
        if uses * float(profile.rates[-1]) <= epsilon:
            return 1.0
        return log(delta) - log_delta_of(profile, uses, epsilon)

    return margin


def log_delta_of(profile: PiecewiseFloats, uses: int, epsilon: float) -> float:
    """Return ln delta of so many uses of a noise at a shift by 1."""
    rates, masses = profile.rates, profile.masses()
    values, chances = np.concatenate([rates, -rates]), np.concatenate([masses, masses * np.exp(-rates)])
    return log_delta_alone(values, chances, uses, epsilon, float(rates[-1]) / _PER_RATE)


def epsilon_of(profile: PiecewiseFloats, uses: int, delta: float) -> float:
    """Return the epsilon of so many uses of a noise at a delta."""
    rates, masses = profile.rates, profile.masses()
    most, goal = uses * float(rates[-1]), log(delta)
    square = float((masses * (1 + np.exp(-rates)) * rates**2).sum())
    # As if the loss were normal: its mean is half its variance.
    guess = min(uses * square / 2 + sqrt(2 * uses * square * -goal), most * (1 - 1e-6))
    found = edge(lambda x: goal - log_delta_of(profile, uses, guess * x), -1, close=_CLOSE)
    return most if found is None else min(guess * found, most)


def normal_tilt(epsilon: float, sigma: float, uses: int) -> float:
    """Return about the tilt of the unit shape that is best where a Gaussian of this sigma would do."""
    return max(epsilon - uses / (2 * sigma**2), 0.0) * sigma / uses
