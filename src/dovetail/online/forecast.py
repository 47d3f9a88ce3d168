"""What each way of answering would err by, from public facts alone: columns, questions and budget.

Random public questions of the declared form stand for those that will come. No row is looked at, so where a
way's error depends on the data (a fit from too few columns), there is no forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod, sqrt
from typing import Literal, TypeAlias

from dovetail.privacy import Budget
from dovetail.privacy.normal import normal_sigma
from dovetail.sampling import experiment_bits
from dovetail.workloads import MarginalWorkload
from dovetail.workloads.marginals import subsets

Form: TypeAlias = Literal["point", "subset"]

_QUESTIONS = 200
_SEED = 20
_NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class ForecastCount:
    """A count with a condition on some columns: which, and how many of their values are counted."""

    axes: tuple[int, ...]
    values: tuple[int, ...]


def public_questions(
    shape: Sequence[int], ways: int, form: Form, number: int = _QUESTIONS
) -> list[ForecastCount]:
    """Return random questions of a form: one value a column, or one and each other with an even chance.

    >>> public_questions((2, 9), ways=1, form="point", number=2) == public_questions((2, 9), 1, "point", 2)
    True
    """
    longest = 8 * ways + sum(shape) + 64
    bits = iter(experiment_bits(_SEED, number * longest * 8))
    questions = []
    for _ in range(number):
        axes: set[int] = set()
        while len(axes) < ways:
            axes.add((next(bits) << 8 | next(bits)) % len(shape))
        chosen = tuple(sorted(axes))
        questions.append(ForecastCount(chosen, tuple(_values(shape[axis], form, bits) for axis in chosen)))
    return questions


def _values(size: int, form: Form, bits: object) -> int:
    if form == "point":
        return 1
    return 1 + sum(next(bits) & 1 for _ in range(size - 1))  # type: ignore[call-overload]


def deviation(budget: Budget, uses: int) -> float:
    """Return about the least standard deviation with which so many counts fit a budget together."""
    worst = float(budget.epsilon_limit)
    if budget.zeta_limit is not None:
        worst = min(worst, float(budget.zeta_limit))
    geometric = sqrt(2) * uses / worst
    if budget.currency != "approximate":
        return geometric
    return min(geometric, normal_sigma(worst, float(budget.delta_limit), uses))


def product_variance(wanted: MarginalWorkload, question: ForecastCount) -> float:
    """Return the variance of an answer by least squares, in those of one noise; inf if no table tells it.

    Every table B tells each residual C within B with weight prod of the sizes outside B, and all of them are
    orthogonal. A count over s of n values lies along a residual by s·(1 - s/n), beside it by s²/n.
    """
    if not any(set(question.axes) <= set(table) for table in wanted.tables):
        return inf
    outside = prod(size for axis, size in enumerate(wanted.sizes) if axis not in question.axes)
    total = 0.0
    for residual in subsets(question.axes):
        part = 1.0
        for axis, count in zip(question.axes, question.values, strict=True):
            share = count / wanted.sizes[axis]
            part *= count * (1 - share) if axis in residual else count * share
        total += part * outside / _information(wanted, residual)
    return total


@lru_cache(maxsize=4096)
def _information(wanted: MarginalWorkload, residual: tuple[int, ...]) -> float:
    """Return the sum over tables that hold the residual of the product of the sizes outside of each."""
    whole = wanted.cells(range(len(wanted.sizes)))
    return float(sum(whole // wanted.cells(table) for table in wanted.tables if set(residual) <= set(table)))


@dataclass(frozen=True, slots=True)
class Forecast:
    """One way of answering: its root mean square error and its 95 % error over the public questions.

    `base` is what it measures first: the whole histogram, all tables of so many columns, or nothing.
    """

    name: str
    error: float
    bar: float
    base: Literal["histogram"] | int | None = None


def forecasts(
    shape: Sequence[int], queries: int, ways: int, form: Form, budget: Budget, moved: int
) -> list[Forecast]:
    """Return the ways whose errors can be told without data, the best first."""
    sizes = tuple(shape)
    questions = public_questions(sizes, ways, form)
    listed = [_forecast("plain", deviation(budget, queries), None)]
    for way in range(ways, min(len(sizes), max(ways, 3)) + 1):
        wanted = MarginalWorkload.of_ways(sizes, way)
        mean = sum(product_variance(wanted, each) for each in questions) / len(questions)
        noise = deviation(budget, len(wanted.tables) * moved)
        error = noise * sqrt(mean)
        whole = way == len(sizes)
        listed.append(_histogram(error) if whole else _forecast(f"{way}-way", error, way))
    if not any(each.base == "histogram" for each in listed):
        outside = [
            prod(sizes) / prod(sizes[axis] for axis in each.axes) * prod(each.values) for each in questions
        ]
        noise = deviation(budget, moved)
        listed.append(_histogram(noise * sqrt(sum(outside) / len(outside))))
    return sorted(listed, key=lambda each: each.bar)


def _histogram(error: float) -> Forecast:
    return _forecast("histogram", error, "histogram")


def _forecast(name: str, error: float, base: Literal["histogram"] | int | None) -> Forecast:
    return Forecast(name, error, _NORMAL_95 * error, base)
