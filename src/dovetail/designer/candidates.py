"""Find shapes worth fitting: the search at unit sensitivity, its starts, and whole break-points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import cos, inf, log, pi, sin, sqrt, tan

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.bisection import bracket
from dovetail.privacy.normal import normal_sigma

from .calibration import NoiseShape, edge
from .family import Scaled, best_of_family, delta_margin, epsilon_of, normal_tilt, polished
from .goal import Task
from .optimisation import Layout, Term, delta_within, epsilon_itself, improve, joint_zeta, smooth
from .piecewise_floats import PiecewiseFloats
from .shapes import unit_shapes

Floats = NDArray[np.float64]

# From this many uses on, the loss of all is so near to normal that fewer, larger ones stand for them.
_NORMAL = 1000
_FEW = 10
_SOME = 50
_ROUGH = 3
_FITTED = 2
_COARSE = 25
_WIDE_SHIFT = 16
_ROUNDS = 60
# Where epsilon is minimised, the last rounds gain less than 0.03 %: of many uses, and with whole breaks.
_ROUNDS_OF_MANY, _ROUNDS_OF_WHOLE = 45, 6
# Points of the grid per steepest rate: fine enough that its own error is second to rounding.
_PER_RATE = 96


class Finder:
    """The search for one task, in units where the largest shift is 1.

    Noise for a shift of d, and for more uses than `_NORMAL`, is the same noise stretched by `stretch`.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.stretch = max(task.shifts) * sqrt(max(1.0, task.uses / _NORMAL))
        self.uses = min(task.uses, _NORMAL)
        self.with_epsilon = not task.has_budget and task.minimise[0] == "epsilon"
        self.objective = self._objective()
        self.limits = self._limits()
        self.constraints = [*self.limits, *self._accuracies(), *self._worst_case()]

    def shapes(self) -> Iterator[NoiseShape]:
        """Give shapes of several pieces with whole breaks, the likeliest first."""
        fixed = () if self.task.break_point is None else (self.task.break_point / self.stretch,)
        first = None if fixed else self._of_family()
        if first is not None and (self._steps_will_do or self._family_will_do):
            shape = first.on_integers(self.stretch)
            yield self._polished(shape) if self._steps_will_do else shape
            return
        starts = self._starts() if first is None else self._near(first)
        searched = [self._searched(rates, breaks, fixed) for rates, breaks in starts]
        ranked = sorted((pair for pair in searched if pair is not None), key=lambda pair: pair[0])
        for _, profile in ranked[: self._worth_fitting()]:
            yield from self._rounded(profile)

    @property
    def _family_will_do(self) -> bool:
        """Whether the family was made for what is asked: the least variance for a budget with delta."""
        task = self.task
        plain = not task.goals and task.max_epsilon is None
        return plain and task.has_budget and task.minimise[0] == "variance"

    @property
    def _steps_will_do(self) -> bool:
        """Whether small steps lead on from the family: few pieces and uses, and a delta beside one limit."""
        if self.task.pieces > _ROUGH or self.task.max_epsilon is not None:
            return False
        return self._family_will_do and self.uses <= _SOME if self.task.has_budget else self._is_rough

    @property
    def _is_rough(self) -> bool:
        """Whether so few different losses are added up so rarely that the value has many kinks."""
        return self.task.pieces <= _ROUGH and self.uses <= 2 * _SOME

    def _polished(self, shape: NoiseShape) -> NoiseShape:
        """Return a shape after small steps that lower its error or, for an accuracy, its epsilon."""
        small = float(self.task.delta or self.task.minimise[1] or 0)
        with np.errstate(all="ignore"):
            if self.task.has_budget:
                margin = self._budget_margin(small, float(self.task.epsilon or 0))
                return polished(shape, self.stretch, margin, self._measured, side=1)
            cost = partial(epsilon_of, uses=self.uses, delta=small)
            return polished(shape, self.stretch, self._accuracy_margin, cost, side=-1)

    def estimated(self) -> Scaled | None:
        """Return the better of the family's best shape and one piece; None without a delta."""
        many = self._of_family()
        one = self._of_family(1) if many is not None and self.task.has_budget else None
        if many is None or one is None:
            return many
        return min(one, many, key=lambda each: self._measured(each.profile))

    def _of_family(self, pieces: int | None = None) -> Scaled | None:
        """Return the best shape of the family, where a delta is part of what is asked."""
        pieces = pieces or self.task.pieces
        task, small = self.task, float(self.task.delta or self.task.minimise[1] or 0)
        if task.zeta is not None or task.minimise[0] == "zeta" or not small:
            return None
        with np.errstate(all="ignore"):
            if not task.has_budget:
                widest = min(self._shrunk(goal.within) + 1 for goal in task.goals)
                return best_of_family(
                    pieces,
                    self._accuracy_margin,
                    partial(epsilon_of, uses=self.uses, delta=small),
                    side=-1,
                    guess=(1.0, max(widest / 2, 0.1)),
                )
            epsilon = float(task.epsilon or 0)
            sigma = normal_sigma(epsilon, small, self.uses)
            return best_of_family(
                pieces,
                self._budget_margin(small, epsilon),
                self._measured,
                side=1,
                guess=(normal_tilt(epsilon, sigma, self.uses), sigma),
            )

    def _budget_margin(self, delta: float, epsilon: float) -> Callable[[PiecewiseFloats], float]:
        within, most = delta_margin(delta, self.uses, epsilon), self._most_rate
        return lambda profile: min(within(profile), log(most / float(profile.rates[-1])))

    def _accuracy_margin(self, profile: PiecewiseFloats) -> float:
        return min(
            log(goal.each / float(profile.outside(self._shrunk(goal.within)))) for goal in self.task.goals
        )

    def _measured(self, profile: PiecewiseFloats) -> float:
        """Return the error that is minimised."""
        name, number = self.task.minimise
        if name in ("outside", "quantile"):
            return float(profile.outside(self._shrunk(int(number or 0))))
        return float(profile.moment(1 if name == "mean_abs" else 2))

    def _near(self, first: Scaled) -> Iterator[tuple[Floats, Floats]]:
        """Give the family's best as a start, and for a rough landscape the usual ones too."""
        if self._is_rough or self.task.max_epsilon is not None:
            yield first.rates, first.breaks
            yield from self._starts()
            return
        if self.task.has_budget:
            yield first.rates, first.breaks
            if self.uses <= _SOME // 2:
                yield self._halfway()
        # For an accuracy, the ends of the three differ by less than 0.2 %, the best of them by the uses.
        elif self.uses < _FEW:
            yield first.rates, first.breaks
        elif self.uses <= _SOME // 2:
            yield self._halfway()
        else:
            yield self._least_informative()

    def _worth_fitting(self) -> int:
        """Return how many shapes to fit: more where the landscape is rough, fewer where fitting is slow."""
        if max(self.task.shifts) > _WIDE_SHIFT or not (self.task.has_budget or self.task.pieces <= _ROUGH):
            return 1
        return 2 * _FITTED if self.task.pieces <= _ROUGH else _FITTED

    def _objective(self) -> Term:
        name, number = self.task.minimise
        if name == "mean_abs":
            return smooth(lambda profile: profile.moment(1))
        if name in ("outside", "quantile"):
            return smooth(lambda profile: profile.outside(self._shrunk(int(number or 0))))
        if name == "zeta":
            return joint_zeta(self.uses)
        return epsilon_itself if self.with_epsilon else smooth(lambda profile: profile.moment(2))

    def _shrunk(self, t: int) -> float:
        """Return the size of error that stands for t before stretching."""
        return (t + 1) / self.stretch - 1

    def _limits(self) -> list[Term]:
        task = self.task
        if task.zeta is not None:
            return [joint_zeta(self.uses, float(task.zeta))]
        if self.with_epsilon:
            return [delta_within(float(task.minimise[1] or 0), self.uses, None)]
        if task.epsilon is not None and task.delta:
            return [delta_within(float(task.delta), self.uses, float(task.epsilon))]
        return []

    def _accuracies(self) -> list[Term]:
        def accuracy(t: float, chance: float) -> Term:
            return smooth(lambda profile: profile.outside(t), chance)

        # Beside a budget, leave room for the rounding of rates.
        room = 0.997 if self.task.has_budget else 1.0
        return [accuracy(self._shrunk(goal.within), goal.each * room) for goal in self.task.goals]

    def _worst_case(self) -> list[Term]:
        if self.task.max_epsilon is None:
            return []
        return [smooth(lambda profile: profile.rates[..., -1], self._most_rate)]

    @property
    def _most_rate(self) -> float:
        """The steepest rate that the worst case allows."""
        if self.task.max_epsilon is None:
            return inf
        return float(self.task.max_epsilon) / self.task.uses * self.stretch / max(self.task.shifts)

    def _starts(self) -> Iterator[tuple[Floats, Floats]]:
        """Give starting shapes: what many queries tend to, and for few of them shapes nearer to one rate."""
        count = self.task.pieces
        flattest = unit_shapes(count)[0]
        rates, breaks = flattest.rates, flattest.breaks
        yield rates, breaks
        even = np.linspace(0.5, 1.6, count)
        # Sums of few different losses make a rough landscape; it needs more than one start.
        if self.uses <= _SOME:
            yield self._halfway()
        if self.uses < _FEW or self._is_rough:
            yield np.sqrt(rates * even), breaks * 1.4
            yield even, np.arange(1.0, count) / 2
        if self._is_rough:
            yield rates, breaks * 1.4
            yield even, breaks
            yield even, breaks * 1.4

    def _halfway(self) -> tuple[Floats, Floats]:
        """Return a shape between what many queries tend to and rates that hardly differ."""
        flattest = unit_shapes(self.task.pieces)[0]
        return np.sqrt(flattest.rates * np.linspace(0.5, 1.6, self.task.pieces)), flattest.breaks

    def _least_informative(self) -> tuple[Floats, Floats]:
        """Return what is best for one accuracy and very many queries: cos² as far as it asks, then one rate.

        Of all densities with a chance p beyond ±1 it has the least Fisher information, the limit of what many
        queries cost: exp(-psi) with psi = -2·ln cos(w·x/2) up to 1 and the slope psi'(1) from there on.
        """
        goal = min(self.task.goals, key=lambda goal: goal.within)

        def enough(w: float) -> bool:
            beyond = 2 * cos(w / 2) ** 2 / (w * tan(w / 2))
            return beyond / (1 + sin(w) / w + beyond) <= goal.each

        w = bracket(1e-3, pi - 1e-9, enough, close=1e-9)[1]
        places = np.linspace(0, 1, self.task.pieces)
        rates = np.diff(-2 * np.log(np.cos(w * places / 2))) * (self.task.pieces - 1)
        size = self._shrunk(goal.within) + 1
        return np.append(rates, w * tan(w / 2)) / size, places[1:] * size

    def _searched(
        self, rates: Floats, breaks: Floats, fixed: tuple[float, ...]
    ) -> tuple[float, PiecewiseFloats] | None:
        """Scale a start until it keeps the limits, and improve it."""
        scale = self._scale(rates, breaks, fixed)
        return None if scale is None else self._improved(rates / scale, _moved(breaks * scale, fixed), fixed)

    def _rounded(self, profile: PiecewiseFloats) -> Iterator[NoiseShape]:
        """Round the breaks of a noise to integers, and where that matters adapt its rates to them."""
        rates, whole = _whole(profile.rates / self.stretch, profile.starts[1:] * self.stretch)
        breaks = tuple(int(point) for point in whole)
        yield NoiseShape(tuple(rates.tolist()), breaks)
        if self.stretch == 1 and breaks and breaks[0] < _COARSE:
            again = self._improved(rates, whole, tuple(whole.tolist()))
            if again is not None:
                yield NoiseShape(tuple(again[1].rates.tolist()), breaks)

    def _improved(
        self, rates: Floats, breaks: Floats, fixed: tuple[float, ...]
    ) -> tuple[float, PiecewiseFloats] | None:
        with np.errstate(all="ignore"):
            return self._improved_quietly(rates, breaks, fixed)

    def _improved_quietly(
        self, rates: Floats, breaks: Floats, fixed: tuple[float, ...]
    ) -> tuple[float, PiecewiseFloats] | None:
        per_rate = _PER_RATE if self.uses <= 2 * _SOME else _PER_RATE // 2
        layout = Layout(len(rates), fixed, self.with_epsilon, float(rates[-1]) / per_rate)
        start = layout.point(rates, breaks)
        if self.with_epsilon:
            start[-1] = log(epsilon_of(layout.profile(start), self.uses, float(self.task.minimise[1] or 0)))
        rounds = _ROUNDS
        if self.with_epsilon and len(fixed) == len(breaks):
            rounds = _ROUNDS_OF_WHOLE
        elif self.with_epsilon and self.uses > _SOME:
            rounds = _ROUNDS_OF_MANY
        improved = improve(layout, start, self.objective, self.constraints, rounds)
        return None if improved is None else (improved[0], layout.profile(improved[1]))

    def _scale(self, rates: Floats, breaks: Floats, fixed: tuple[float, ...]) -> float | None:
        """Return the least scale within the budget, or the largest that is accurate."""
        terms = self.limits if self.task.has_budget else self._accuracies()

        def margin(scale: float) -> float:
            scaled = rates / scale
            layout = Layout(len(rates), fixed, grid=float(scaled[-1]) / 24)
            point = layout.point(scaled, _moved(breaks * scale, fixed))
            return min(term(layout, point)[0] for term in terms)

        with np.errstate(all="ignore"):
            return edge(margin, -1 if self.task.has_budget else 1, close=1e-7)


def _moved(breaks: Floats, fixed: tuple[float, ...]) -> Floats:
    """Put the first break where it is fixed, and the others as far behind it as they were."""
    return breaks if not fixed or not len(breaks) else breaks - breaks[0] + fixed[0]


def _whole(rates: Floats, breaks: Floats) -> tuple[Floats, Floats]:
    """Round breaks to integers; a piece that vanishes is left out."""
    kept_rates: list[float] = [float(rates[0])]
    kept_breaks: list[float] = []
    for rate, point in zip(rates[1:], np.maximum(np.rint(breaks), 0), strict=True):
        if point <= (kept_breaks[-1] if kept_breaks else 0):
            kept_rates[-1] = float(rate)
        else:
            kept_rates.append(float(rate))
            kept_breaks.append(float(point))
    return np.array(kept_rates), np.array(kept_breaks)
