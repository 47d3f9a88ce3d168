"""About what a design would have, by floats, in a few hundredths of a second: for sliders and first looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dovetail.exact.bisection import bracket
from dovetail.noise import IntegerNoise, PiecewiseGeometric

from .candidates import Finder
from .designs import design
from .family import Scaled, epsilon_of
from .goal import Task, read_task


@dataclass(frozen=True, slots=True)
class Estimate:
    """About the errors of a design, its epsilon and its shape on the reals; nothing is certified."""

    variance: float
    mean_abs: float
    within_95: float
    epsilon: float
    rates: tuple[float, ...]
    breaks: tuple[float, ...]


def estimate(**wanted: Any) -> Estimate:
    """Return about what `design` with the same arguments would have.

    Good to about 1 % of a budget's errors and 4 % of an accuracy's; it may err on either side, so price by
    `design`. What is asked for without a delta is designed at once.

    >>> about = estimate(epsilon=1, delta="1e-6", queries=10)
    >>> 158 < about.variance < 162
    True
    """
    task = read_task(**wanted)
    finder = Finder(task)
    shaped = None if task.is_pure or task.break_point is not None else finder.estimated()
    if shaped is None:
        exact = design(**wanted)
        cost = exact.total.epsilon if exact.point is None else exact.point[0]
        rates, breaks = _shape(exact.noise)
        utility = exact.utility
        return Estimate(utility.variance, utility.mean_abs, utility.within_95, cost, rates, breaks)
    return _figures(shaped, task, finder)


def _shape(noise: IntegerNoise) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return rates and breaks as floats; empty where a noise is not made of pieces."""
    if not isinstance(noise, PiecewiseGeometric):
        return (), ()
    return tuple(map(float, noise.rates)), tuple(map(float, noise.breaks))


def _figures(shaped: Scaled, task: Task, finder: Finder) -> Estimate:
    profile, stretch = shaped.profile, finder.stretch
    top = 20 * shaped.scale
    bar = bracket(0.0, top, lambda t: float(profile.outside(t)) <= 0.05, close=1e-4)[1]
    epsilon = float(task.epsilon or 0) or epsilon_of(profile, finder.uses, float(task.minimise[1] or 0))
    return Estimate(
        float(profile.moment(2)) * stretch**2,
        float(profile.moment(1)) * stretch,
        bar * stretch,
        epsilon,
        tuple((shaped.rates / stretch).tolist()),
        tuple((shaped.breaks * stretch).tolist()),
    )
