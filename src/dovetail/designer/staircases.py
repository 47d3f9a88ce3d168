"""The staircase for one sensitivity above 1: with a worst-case budget the best noise there is.

(Geng and Viswanath 2014; for counts it is the geometric noise.) It stays level over steps, so what it costs
at a shift is no hint of what it costs where several cells share the shift: (9, 1) costs twice and ten ones
ten times as much as (10). So it is only considered where one neighbour moves one number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from dovetail.exact.bisection import bracket, least_whole
from dovetail.exact.decimals import short
from dovetail.noise import StaircaseNoise

from .certify import Certified, certify, outside
from .goal import Task

# A shift beyond has more levels than its loss can be listed for.
_WIDEST = 10**5
_DIGITS = 6
_FLATTEST, _STEEPEST = 1e-9, 500.0
_MEASURES = (StaircaseNoise.variance, StaircaseNoise.mean_abs)


def staircases(task: Task) -> Iterator[Certified]:
    """Give the certified staircases worth a look: none for counts, several cells or an average price."""
    (shift, *others) = task.shifts
    averaged = task.zeta is not None or task.minimise[0] == "zeta"
    if others or not task.steps or not 1 < shift <= _WIDEST or averaged or task.break_point is not None:
        return
    for first in _firsts(task, shift):
        found = _of_budget(task, shift, first) if task.has_budget else _of_goals(task, shift, first)
        if found is not None:
            yield found


def _of_budget(task: Task, shift: int, first: int) -> Certified | None:
    """Return the staircase that spends all of epsilon as a worst case."""
    limits = [limit for limit in (task.epsilon, task.max_epsilon) if limit is not None]
    return certify(StaircaseNoise(min(limits) / task.queries, Fraction(first, shift), shift), task)


def _of_goals(task: Task, shift: int, first: int) -> Certified | None:
    """Return the staircase of the least epsilon, in a few digits, that is as accurate as asked."""

    def noise(epsilon: float) -> StaircaseNoise:
        return StaircaseNoise(short(epsilon, _DIGITS, up=True), Fraction(first, shift), shift)

    def accurate(epsilon: float) -> bool:
        return all(outside(noise(epsilon), goal.within) <= goal.each for goal in task.goals)

    if not accurate(_STEEPEST) or accurate(_FLATTEST):
        return None
    least = bracket(_FLATTEST, _STEEPEST, accurate, close=1e-7, by_ratio=True)[1]
    return certify(noise(least), task) or certify(noise(least * (1 + 1e-5)), task)


def _firsts(task: Task, shift: int) -> list[int]:
    """Return how many sizes of a step may be on the higher level: the best for E Y² and for E|Y|.

    Where an error is what counts, also the share with which a step ends just there.
    """
    errors = [goal.within for goal in task.goals]
    errors += [int(task.minimise[1] or 0)] if task.minimise[0] in ("outside", "quantile") else []
    found = {(error + 1) % shift for error in errors}
    limit = task.epsilon or task.max_epsilon or Fraction(1)
    found |= {_best_first(limit / task.queries, shift, measure) for measure in _MEASURES}
    return sorted({min(max(first, 1), shift) for first in found})


def _best_first(epsilon: Fraction, shift: int, measure: Callable[[StaircaseNoise], float]) -> int:
    """Return the share of the least error, which falls to its least and grows again."""

    def error(first: int) -> float:
        return measure(StaircaseNoise(epsilon, Fraction(first, shift), shift))

    return 1 + least_whole(0, lambda more: more + 1 >= shift or error(more + 1) <= error(more + 2))
