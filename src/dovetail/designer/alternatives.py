"""The standard noises at the same price, or with the same accuracy, as a design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log, sqrt

from dovetail.exact.bisection import bracket
from dovetail.exact.decimals import short
from dovetail.noise import DiscreteGaussian, IntegerNoise
from dovetail.privacy.normal import normal_sigma

from .calibration import fitted, one_piece
from .certify import certify
from .goal import Task

_DIGITS = 5
_CLOSE = 2e-5
_NARROWEST, _WIDEST = 2e-3, 1e14
# The list of a Gaussian's losses leaves out so much for each use: no smaller delta is ever reached.
_LEFT_OUT = Fraction(1, 10**42)


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another noise that keeps what was asked; `value` is its `measure`, `chosen` the design's own."""

    name: str
    noise: IntegerNoise
    measure: str
    value: float
    chosen: float


def standard_noises(noise: IntegerNoise, task: Task) -> tuple[Alternative, ...]:
    """Return the geometric and, where delta or zeta allow it, the discrete Gaussian noise; the best first."""
    own = certify(noise, task)
    assert own is not None
    others = []
    geometric = fitted(one_piece(task), task)
    if geometric is not None and geometric.noise != noise:
        others.append(Alternative("geometric", geometric.noise, _measure(task), geometric.value, own.value))
    gaussian = _gaussian(task) if _has_gaussian(task) else None
    if gaussian is not None:
        checked = certify(gaussian, task)
        assert checked is not None
        others.append(Alternative("Gaussian", gaussian, _measure(task), checked.value, own.value))
    return tuple(sorted(others, key=lambda other: other.value))


def _has_gaussian(task: Task) -> bool:
    """Say whether a noise without a worst case is comparable: the zeta of many is only bounded by a sum."""
    priced_by_zeta = task.zeta is not None or task.minimise[0] == "zeta"
    small = task.delta or (task.minimise[1] if task.minimise[0] == "epsilon" else None)
    if small and small < task.uses * _LEFT_OUT:
        return False
    return not (task.is_pure or task.max_epsilon is not None or (priced_by_zeta and task.uses > 1))


def _measure(task: Task) -> str:
    name, number = task.minimise
    words = {"variance": "the variance", "mean_abs": "the mean error", "zeta": "zeta", "epsilon": "epsilon"}
    if name == "outside":
        return f"the chance of an error over {int(number or 0)}"
    if name == "quantile":
        return f"the {float(number or 0):g} error bar"
    return words[name]


def _gaussian(task: Task) -> DiscreteGaussian | None:
    """Return the least sigma that keeps the budget, or the largest that keeps the goals, to five digits."""
    if task.has_budget:
        return least_sigma(
            lambda noise: certify(noise, replace(task, goals=())) is not None, _first_guess(task), 1
        )
    bars = [goal.within / sqrt(2 * max(log(1 / goal.each), 0.1)) + 0.3 for goal in task.goals]
    return least_sigma(lambda noise: certify(noise, task) is not None, min(bars), -1)


def _first_guess(task: Task) -> float:
    """Return about the sigma of the continuous Gaussian with this budget."""
    shift = max(task.shifts)
    if task.zeta is not None:
        return shift * task.uses / float(task.zeta)
    return shift * normal_sigma(float(task.epsilon or 1), float(task.delta or 1e-9), task.uses)


def least_sigma(
    holds: Callable[[DiscreteGaussian], bool], guess: float, side: int
) -> DiscreteGaussian | None:
    """Return the least (side 1) or largest (side -1) sigma near `guess` that holds, to five digits."""
    if not _NARROWEST < guess < _WIDEST:
        return None
    good, step = guess, 1.0005
    while not holds(_rounded(good, side)):
        good, step = good * step**side, step * step
        if not _NARROWEST < good < _WIDEST:
            return None
    bad, step = good / 1.0005**side, 1.0005
    while holds(_rounded(bad, side)):
        good, step = bad, step * step
        bad = good / step**side
        if not _NARROWEST < bad < _WIDEST:
            return _rounded(good, side)
    # Turned over where the largest is wanted, so that what holds is always on the upper side.
    found = bracket(
        bad**side, good**side, lambda size: holds(_rounded(size**side, side)), close=_CLOSE, by_ratio=True
    )
    return _rounded(found[1] ** side, side)


def _rounded(sigma: float, side: int) -> DiscreteGaussian:
    """Return the noise of a sigma rounded to five digits, away from the limit."""
    return DiscreteGaussian(short(sigma, _DIGITS, up=side > 0))
