"""Check a noise from scratch against everything that was asked, by rigorous means only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from dovetail.noise import IntegerNoise
from dovetail.privacy import PrivacyLoss, privacy_loss

from .goal import Goal, Task


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """A noise that keeps a task, with its exact losses; `value` is what was minimised."""

    noise: IntegerNoise
    loss: PrivacyLoss
    total: PrivacyLoss
    value: float
    task: Task


def certify(noise: IntegerNoise, task: Task) -> Certified | None:
    """Return the noise with its losses if it keeps the budget, the goals and the limits; else None."""
    if not keeps_goals(noise, task):
        return None
    loss = privacy_loss(noise, sensitivity=task.shifts)
    total = loss.compose(task.queries)
    if not keeps_budget(total, task):
        return None
    return Certified(noise, loss, total, _value(noise, total, task), task)


def keeps_goals(noise: IntegerNoise, task: Task) -> bool:
    """Say whether every accuracy holds for certain."""
    return all(meets(noise, goal) for goal in task.goals)


def meets(noise: IntegerNoise, goal: Goal) -> bool:
    """Say whether one accuracy holds for certain."""
    return noise.error_bound(1 - goal.probability, goal.cells) <= goal.within


def keeps_budget(total: PrivacyLoss, task: Task) -> bool:
    """Say whether all queries together stay within the budget and below the worst case allowed."""
    if task.max_epsilon is not None and not total.worst <= task.max_epsilon:
        return False
    if task.zeta is not None:
        return min(_exact(total.zeta), total.worst) <= task.zeta
    if task.epsilon is None:
        return True
    if not task.delta:
        return total.worst <= task.epsilon
    return _exact(total.delta(task.epsilon)) <= task.delta


def _exact(value: float) -> Fraction | float:
    return Fraction(value) if value < inf else value


def _value(noise: IntegerNoise, total: PrivacyLoss, task: Task) -> float:
    name, number = task.minimise
    if name == "variance":
        return noise.variance()
    if name == "mean_abs":
        return noise.mean_abs()
    if name == "quantile":
        return noise.quantile_abs(number or 0) + outside(noise, noise.quantile_abs(number or 0))
    if name == "outside":
        return outside(noise, int(number or 0))
    if name == "zeta":
        return total.zeta
    return total.epsilon_at(number) if number else total.epsilon


def outside(noise: IntegerNoise, t: float) -> float:
    """Return P(|Y| > t)."""
    return 2 * float(noise.sf(t))
