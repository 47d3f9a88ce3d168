"""When no noise will do: how close one can get, and which limit binds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, log10

from dovetail.errors import GoalUnreachable

from .certify import Certified, meets, outside
from .goal import Goal, Task

Solver = Callable[[Task], Certified | None]


def unreachable(task: Task, solve: Solver) -> GoalUnreachable:
    """Return the error for a task that no noise fulfils."""
    if not task.goals:
        return GoalUnreachable(f"No noise keeps {task.price} for {task.queries} queries within these limits.")
    if not task.has_budget and task.max_epsilon is None:
        return GoalUnreachable(f"{task.goals[0]} is too much to ask of the noises searched here.")
    name = _binding_limit(task, solve)
    if not task.has_budget:
        # Only the worst case can stand in the way of an accuracy, so it is the budget.
        task = replace(task, epsilon=task.max_epsilon, delta=None, minimise=("variance", None))
    queries = f" for {task.queries} queries" if task.queries > 1 else ""
    farthest = _farthest(task, solve)
    if farthest is None:
        parts = [f"{' and '.join(map(str, task.goals))} together with {name}{queries} is not possible"]
        parts.append("each alone is")
    else:
        parts = [f"{farthest[0]} with {name}{queries} is not possible"]
        parts.append(f"at this budget the best is probability {_digits(farthest[1], floor)}")
    price = _least_price(task, solve)
    if price is not None:
        parts.append(f"at this accuracy the least {price}")
    return GoalUnreachable("; ".join(parts) + ".")


def _binding_limit(task: Task, solve: Solver) -> str:
    """Return the limit that stands in the way: the budget, unless it would do without max_epsilon."""
    if task.max_epsilon is None or (task.has_budget and solve(replace(task, max_epsilon=None)) is None):
        return task.price
    return f"max_epsilon {float(task.max_epsilon):g}"


def _farthest(task: Task, solve: Solver) -> tuple[Goal, float] | None:
    """Return the goal that is farthest out of reach and the best probability it can have, if one is."""
    found: list[tuple[Goal, float]] = []
    for goal in task.goals:
        best = solve(replace(task, goals=(), minimise=("outside", Fraction(goal.within))))
        if best is not None and not meets(best.noise, goal):
            found.append((goal, (1 - outside(best.noise, goal.within)) ** goal.cells))
    return min(found, key=lambda pair: pair[1]) if found else None


def _least_price(task: Task, solve: Solver) -> str | None:
    if task.zeta is not None:
        measure: tuple[str, Fraction | None] = ("zeta", None)
    else:
        measure = ("epsilon", task.delta or None)
    free = replace(task, epsilon=None, zeta=None, delta=None, minimise=measure, max_epsilon=None)
    cheapest = solve(free)
    budget = task.zeta if task.zeta is not None else task.epsilon
    # Two searches, each a little short of the optimum, must not seem to contradict each other.
    if cheapest is None or (budget is not None and cheapest.value <= budget):
        return None
    return f"{measure[0]} is {_digits(cheapest.value, ceil)}"


def _digits(value: float, towards: Callable[[float], int]) -> str:
    """Return three digits, rounded to the side that keeps what is said true."""
    if not 0 < value < 1e300:
        return f"{value:g}"
    unit = 10.0 ** (floor(log10(value)) - 2)
    return f"{towards(value / unit) * unit:.3g}"
