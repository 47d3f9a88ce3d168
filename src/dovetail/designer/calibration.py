"""Give a shape short rational rates and the largest or least scale that keeps what was asked.

All rates are multiples of one short decimal unit, so that the loss of any number of uses lies on an exact
lattice and its rigorous accounting loses nothing to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, floor, gcd, inf, isfinite, log, log1p, log10, sqrt
from typing import TYPE_CHECKING

import numpy as np

from dovetail.noise import PiecewiseGeometric
from dovetail.privacy import privacy_loss
from dovetail.privacy.normal import normal_sigma

from .certify import Certified, certify
from .goal import Task

if TYPE_CHECKING:
    from .composition_floats import Floats

# Units per steepest rate: enough for a fine choice, few enough for a short lattice.
_STEPS = 1000
_POINTS = 2**16
_MOST_POINTS = 2**18
_MANY = 2000
_FINE_STEPS = 50_000
_MOST_TRIES = 40
_CLOSE = 2e-6
_RETRIES = 24
# Sums of the losses of different shifts are listed up to this many; each cell has two for a piece.
_MOST_SUMS = 1 << 16
# ln of how much of delta or zeta is left unused where floats only estimate it.
_SPARED = 1e-4

Margin = Callable[[PiecewiseGeometric], float]


@dataclass(frozen=True, slots=True, eq=False)
class NoiseShape:
    """Rates and whole breaks that may still be scaled."""

    rates: tuple[float, ...]
    breaks: tuple[int, ...]

    def noise(self, scale: float, unit: Fraction) -> PiecewiseGeometric:
        """Return the noise with rates nearest to scale·rates, in whole units."""
        steps = [max(1, round(scale * rate / float(unit))) for rate in self.rates]
        return PiecewiseGeometric([step * unit for step in steps], self.breaks)


def one_piece(task: Task) -> NoiseShape:
    """Return one piece with about the rate that it needs; fitting does the rest."""
    return NoiseShape((_one_rate(task),), ())


def _one_rate(task: Task) -> float:
    if task.has_budget:
        pure = float(max(task.zeta or task.epsilon or 1, task.delta or 0)) / task.uses
        if not task.delta or task.zeta is not None:
            return pure / max(task.shifts)
        # Many uses let one piece have twice the variance of the Gaussian.
        return max(pure, 1 / normal_sigma(float(task.epsilon or 0), float(task.delta), task.uses)) / max(
            task.shifts
        )
    return min(max(-log(goal.each) / (goal.within + 1), 1e-90) for goal in task.goals)


def fitted(shape: NoiseShape, task: Task) -> Certified | None:
    """Return the best noise of this shape that certainly keeps what was asked, or None."""
    unit = _unit(shape, task)
    margin = _in_budget(task, unit) if task.has_budget else _accurate(task)
    side = 1 if task.has_budget else -1
    with np.errstate(all="ignore"):
        scale = edge(lambda scale: margin(shape.noise(scale, unit)), side)
        if scale is not None and task.has_budget and max(task.shifts) > 1:
            # Breaks between the integers of a shift leave the estimate off by about the same everywhere.
            noise = shape.noise(scale, unit)
            off = margin(noise) - _exact_margin(noise, task) + _SPARED
            scale = edge(lambda scale: margin(shape.noise(scale, unit)) - off, side)
    return None if scale is None else _certified(shape, scale, unit, task, side)


def _certified(shape: NoiseShape, scale: float, unit: Fraction, task: Task, side: int) -> Certified | None:
    """Return the noise at a scale or, where it just misses, at one a little more careful."""
    for attempt in range(_RETRIES):
        noise = shape.noise(scale, unit)
        certified = certify(noise, task)
        if certified is not None or (task.goals and task.has_budget and _exact_margin(noise, task) >= 0):
            return certified
        scale *= 1 - side * 5e-5 * 1.5**attempt
    return None


def _unit(shape: NoiseShape, task: Task) -> Fraction:
    """Return a unit of 1, 2 or 5 times a power of ten."""
    wanted = _STEPS if len(shape.rates) > 1 else _FINE_STEPS
    if len(shape.rates) > 1 and not task.is_pure:
        # A window of some 18 deviations, each about a third of the steepest rate.
        points = _MOST_POINTS if task.uses > _MANY else _POINTS
        wanted = min(wanted, max(64, int(points / (6 * sqrt(task.uses)))))
    size = shape.rates[-1] / wanted
    power = floor(log10(size))
    lead = size / 10.0**power
    digit = next(digit for digit in (1, 2, 5, 10) if lead <= digit * 1.0001)
    return Fraction(digit) * Fraction(10) ** power


def edge(margin: Callable[[float], float], side: int, close: float = _CLOSE) -> float | None:
    """Return the largest (side 1) or least (side -1) scale at which `margin` is not negative."""
    good, step = 1.0, 1.02
    good_margin = margin(good)
    while not good_margin >= 0:
        good, step = good / step**side, step**1.5
        if not 1e-12 < good < 1e12:
            return None
        good_margin = margin(good)
    bad, step = good * 1.02**side, 1.02
    bad_margin = margin(bad)
    while bad_margin >= 0:
        good, good_margin, step = bad, bad_margin, step**1.5
        bad = good * step**side
        if not 1e-12 < bad < 1e12:
            return good
        bad_margin = margin(bad)
    # False position between the two, with the Illinois rule against a side that gets stuck.
    for _ in range(_MOST_TRIES):
        if abs(bad / good - 1) < close:
            break
        share = (
            min(max(good_margin / (good_margin - bad_margin), 0.02), 0.98) if isfinite(bad_margin) else 0.5
        )
        middle = good + share * (bad - good)
        here = margin(middle)
        if here >= 0:
            good, good_margin, bad_margin = middle, here, bad_margin / 2
        else:
            bad, bad_margin, good_margin = middle, here, good_margin / 2
    return good


def _in_budget(task: Task, unit: Fraction) -> Margin:
    """Return by how much, in logs, a noise keeps the budget: by floats for few shifts, else exactly."""
    equal = len(set(task.shifts)) == 1
    if not (task.delta or task.zeta) or not (equal or (2 * task.pieces) ** len(task.shifts) <= _MOST_SUMS):
        return lambda noise: _exact_margin(noise, task)
    from .composition_floats import log_delta_alone, zeta_of

    epsilon = float(task.epsilon or task.zeta or 0)
    uses, shifts = (task.uses, task.shifts[:1]) if equal else (task.queries, task.shifts)
    # The loss of the largest shift says how fine a grid must be; one piece has a coarser one of its own.
    widest, finest = max(shifts), max(gcd(*shifts), max(shifts) / _STEPS)

    def quick(noise: PiecewiseGeometric) -> float:
        worst = float(task.queries * noise.rates[-1]) * sum(task.shifts)
        room = inf if task.max_epsilon is None else log(float(task.max_epsilon) / worst)
        if worst <= epsilon:
            return min(room, 1.0)
        values, chances = _losses(noise, shifts)
        grid = float(unit) * widest if len(noise.rates) > 1 else float(noise.rates[0]) * finest
        if task.zeta is not None:
            return min(room, log(task.zeta) - zeta_of(values, chances, uses, grid).log)
        return min(room, log(task.delta or 1) - log_delta_alone(values, chances, uses, epsilon, grid))

    return quick


def _losses(noise: PiecewiseGeometric, shifts: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return about the values of the loss at several shifts together, and their chances."""
    from .piecewise_floats import PiecewiseFloats

    values, chances = np.zeros(1), np.ones(1)
    for shift in shifts:
        rates = np.array([float(rate) for rate in noise.rates]) * shift
        masses = PiecewiseFloats(rates, np.array([0.0, *noise.breaks]) / shift).masses()
        values = np.add.outer(values, np.concatenate([rates, -rates])).ravel()
        chances = np.multiply.outer(chances, np.concatenate([masses, masses * np.exp(-rates)])).ravel()
    return values, chances


def _exact_margin(noise: PiecewiseGeometric, task: Task) -> float:
    loss = privacy_loss(noise, sensitivity=task.shifts)
    total = loss.compose(task.queries)
    room = inf if task.max_epsilon is None else log(float(task.max_epsilon)) - log(total.epsilon)
    if task.zeta is not None:
        return min(room, log(task.zeta) - log(total.zeta))
    if not task.delta:
        return min(room, log(task.epsilon or 1) - log(total.epsilon))
    return min(room, log(task.delta) - log(max(total.delta(task.epsilon or 0), 1e-300)))


def _accurate(task: Task) -> Margin:
    """Return by how much, in logs, a noise is more accurate than every goal asks."""

    def quick(noise: PiecewiseGeometric) -> float:
        return min(log(goal.each) - _log_outside(noise, goal.within) for goal in task.goals)

    return quick


def _log_outside(noise: PiecewiseGeometric, t: int) -> float:
    """Return about ln P(|Y| > t): by floats for several pieces, by the closed form for one."""
    if len(noise.rates) > 1:
        from .piecewise_floats import PiecewiseFloats

        rates = np.array([float(rate) for rate in noise.rates])
        chance = float(PiecewiseFloats(rates, np.array([0.0, *noise.breaks])).outside(t))
        return log(chance) if chance > 0 else log(2) + float(noise.log_sf(t))
    rate = float(noise.rates[0])
    return log(2) - rate * (t + 1) - log1p(exp(-rate))
