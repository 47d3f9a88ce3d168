"""What is asked of a design: a budget or an accuracy, and the limits that always apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, log, log1p
from typing import Any

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.errors.remedies import Give

ERRORS = ("variance", "mean_abs")
COSTS = ("epsilon", "zeta")
MOST_PIECES = 16
_MOST_QUERIES = 10**6
_MEASURE = (
    'With a budget minimise "variance", "mean_abs", ("quantile", 0.95) or ("outside", 5); '
    'with an accuracy "epsilon", "zeta" or ("epsilon", 1e-6).'
)


@dataclass(frozen=True, slots=True)
class Goal:
    """An accuracy: all of `cells` answers within ±`within` of the truth with this probability.

    >>> Goal(within=5)
    Goal(within=5, probability=Fraction(19, 20), cells=1)
    """

    within: int
    probability: Fraction
    cells: int

    def __init__(self, within: Real, probability: Real = 0.95, cells: int = 1) -> None:
        size = check.rational("within", within, "Give the error you can live with, for example 5.")
        if not 0 <= size <= 10**300:
            raise InvalidParameter(
                "within", within, "a number from 0 to 1e300", "Give an error, for example 5."
            )
        # Noise is a whole number, so an error of 5.7 is one of 5.
        object.__setattr__(self, "within", int(size // 1))
        object.__setattr__(self, "probability", check.probability("probability", probability))
        object.__setattr__(self, "cells", check.integer("cells", cells, 1, 10**9))

    @property
    def each(self) -> float:
        """About how likely a single answer may miss."""
        miss = float(1 - self.probability)
        # Each logarithm is exact at one end, and the second also where a float would be 0.
        above, below = self.probability.numerator, self.probability.denominator
        log_met = log1p(-miss) if miss < 0.5 else log(above) - log(below)
        return min(max(-expm1(log_met / self.cells), 1e-300), 1 - 2**-53)

    def __str__(self) -> str:
        cells = f"all {self.cells} answers " if self.cells > 1 else ""
        return f"{cells}within={self.within} at probability {float(self.probability):g}"


@dataclass(frozen=True, slots=True)
class Task:
    """Everything that was asked, checked; equal tasks have equal answers."""

    epsilon: Fraction | None
    delta: Fraction | None
    zeta: Fraction | None
    goals: tuple[Goal, ...]
    queries: int
    minimise: tuple[str, Fraction | None]
    max_epsilon: Fraction | None
    pieces: int
    break_point: int | None
    shifts: tuple[int, ...]
    steps: bool = True

    @property
    def has_budget(self) -> bool:
        """Whether the price is given and the error is what is minimised."""
        return self.epsilon is not None or self.zeta is not None

    @property
    def is_pure(self) -> bool:
        """Whether the price is a worst case alone, where no noise of a count errs less than the geometric."""
        if self.has_budget:
            return self.zeta is None and not self.delta
        return self.minimise == ("epsilon", None)

    @property
    def price(self) -> str:
        """The budget in words."""
        if self.zeta is not None:
            return f"zeta {float(self.zeta):g}"
        small = f", delta {float(self.delta):g}" if self.delta else ""
        return f"epsilon {float(self.epsilon or 0):g}{small}"

    @property
    def uses(self) -> int:
        """How many cells move in all queries together."""
        return self.queries * len(self.shifts)


def read_task(
    *,
    epsilon: Any = None,
    delta: Any = None,
    zeta: Any = None,
    goals: Any = (),
    within: Any = None,
    probability: Any = 0.95,
    cells: Any = 1,
    queries: Any = 1,
    minimise: Any = None,
    max_epsilon: Any = None,
    pieces: Any = 8,
    break_point: Any = None,
    sensitivity: Any = 1,
    steps: Any = True,
) -> Task:
    """Check what `design` was given; its defaults are those of `design`."""
    wanted = _goals(goals, within, probability, cells)
    if epsilon is not None and zeta is not None:
        raise InvalidParameter(
            "zeta",
            zeta,
            "given without epsilon",
            "Choose one; beside zeta, the worst case can be limited too.",
        )
    has_budget = epsilon is not None or zeta is not None
    if not has_budget and not wanted:
        raise InvalidParameter("epsilon", None, "given, or an accuracy instead", Give("epsilon", "within"))
    small = None if delta is None else check.within("delta", delta, 0, 1, "Give a small number such as 1e-6.")
    if small is not None and (zeta is not None or small == 1):
        raise InvalidParameter("delta", delta, "a number below 1 beside epsilon", "Leave it out for zeta.")
    small = small and told_apart(small)
    first_break = None if break_point is None else check.integer("break_point", break_point, 1, 10**15)
    most = check.integer("pieces", pieces, 1, MOST_PIECES)
    if first_break is not None and most == 1:
        raise InvalidParameter(
            "break_point", break_point, "left out where there is one piece", "Allow two pieces or more."
        )
    measure = _measure(minimise, has_budget)
    if not has_budget and minimise is None and small:
        measure = ("epsilon", small)
    return Task(
        epsilon=None if epsilon is None else loss_limit("epsilon", epsilon),
        delta=small,
        zeta=None if zeta is None else loss_limit("zeta", zeta),
        goals=wanted,
        queries=check.integer("queries", queries, 1, _MOST_QUERIES, "Give the number of queries."),
        minimise=measure,
        max_epsilon=None if max_epsilon is None else loss_limit("max_epsilon", max_epsilon),
        pieces=most,
        break_point=first_break,
        shifts=_shifts(sensitivity),
        steps=bool(steps),
    )


def loss_limit(name: str, value: object) -> Fraction:
    """Return a limit of the loss if it lies in the range of rates, where searches by floats can reach it.

    >>> loss_limit("epsilon", "0.5")
    Fraction(1, 2)
    """
    return check.within(name, check.positive(name, value), "1e-100", "1e100")


def told_apart(delta: Fraction) -> Fraction:
    """Return a delta, or 0 where no float is as small: whatever keeps 0 keeps it, too.

    >>> told_apart(Fraction(1, 4)), told_apart(Fraction(1, 10**400))
    (Fraction(1, 4), Fraction(0, 1))
    """
    return delta if float(delta) else Fraction(0)


def _goals(goals: Any, within: Any, probability: Any, cells: Any) -> tuple[Goal, ...]:
    listed = (goals,) if isinstance(goals, Goal) else goals
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise InvalidParameter("goals", goals, "a list of goals", Give("within", "goals"))
    if not all(isinstance(goal, Goal) for goal in listed):
        raise InvalidParameter("goals", goals, "a list of goals", Give("within", "goals"))
    return (*listed, *(() if within is None else (Goal(within, probability, cells),)))


def _shifts(sensitivity: Any) -> tuple[int, ...]:
    cells = sensitivity if isinstance(sensitivity, tuple | list) else (sensitivity,)
    shifts = tuple(abs(check.integer("sensitivity", cell, -(10**12), 10**12)) for cell in cells)
    if not shifts or not all(shifts):
        raise InvalidParameter("sensitivity", sensitivity, "whole numbers other than 0", "Use 1 for a count.")
    return shifts


def _measure(minimise: Any, has_budget: bool) -> tuple[str, Fraction | None]:
    if minimise is None:
        return ("variance" if has_budget else "epsilon"), None
    if isinstance(minimise, str) and minimise in (ERRORS if has_budget else COSTS):
        return minimise, None
    if isinstance(minimise, tuple | list) and len(minimise) == 2:
        name, number = minimise
        if has_budget and name == "quantile":
            return "quantile", check.probability("minimise[1]", number)
        if has_budget and name == "outside":
            return "outside", Fraction(Goal(number).within)
        if not has_budget and name == "epsilon":
            return "epsilon", told_apart(check.probability("minimise[1]", number)) or None
    raise InvalidParameter("minimise", minimise, "a measure that fits the goal", _MEASURE)
