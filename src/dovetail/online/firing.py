"""What one firing costs: tests of chance p against q, one after another until the first success.

P fires with chance p = S(t), Q with q = S(t) or S(t + 1), and an adversary chooses t before every test. A
failure never has a positive loss, because q <= p. The figures are suprema over all such adversaries, however
long they go on, and are computed from the stored table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import expm1, inf, log, nextafter

import numpy as np

from dovetail.exact import ball, upper
from dovetail.privacy.atoms import ROUNDING, Atoms, Floats, Ints, LossRanges, on_values

from .response_tables import WHOLE, Table

# The grid of ln γ: this many points on [0, s], and as many times that far to the left.
_POINTS = 300
_LEFT = 4
# Relative room for rounding in places of the grid; a place too far left is the safe side.
_ROOM = 1e-7
_UP = 1 + 2.0**-48


@dataclass(frozen=True, slots=True, eq=False)
class FiringSteps:
    """The steps of a table as floats of full relative accuracy: p, q, p - q, 1 - p and 1 - q."""

    p: Floats
    q: Floats
    gap: Floats
    p_fails: Floats
    q_fails: Floats

    @classmethod
    def of(cls, table: Table) -> FiringSteps:
        """Return the steps on which the table falls; the others cost nothing."""
        pairs = [(p, q) for p, q in pairwise(table) if p > q]
        columns = zip(*((p, q, p - q, WHOLE - p, WHOLE - q) for p, q in pairs), strict=True)
        return cls(*(np.array([value / WHOLE for value in column]) for column in columns))

    @property
    def log_fires(self) -> Floats:
        """ln(p/q)."""
        return np.log1p(self.gap / self.q)

    @property
    def log_fails(self) -> Floats:
        """ln((1 - p)/(1 - q)), -inf where P surely fires."""
        with np.errstate(divide="ignore"):
            return np.log1p(-self.gap / self.q_fails)


@dataclass(frozen=True, slots=True, eq=False)
class FiringMoments:
    """Moments of the loss of one firing, each the largest over all adversaries.

    exp((a - 1)·loss)·theta^(-fired) is a supermartingale where no step raises its mean, so that
    theta = max p^a·q^(1-a) / (1 - (1-p)^a·(1-q)^(1-a)) bounds the moment. A list that dominates at every
    epsilon at once has larger moments.
    """

    steps: FiringSteps
    pair: Atoms

    def log_moment(self, order: float) -> float:
        """Return an upper bound on ln E exp(order·L)."""
        steps = self.steps
        with np.errstate(divide="ignore"):
            log_p = np.where(steps.p < 0.5, np.log(steps.p), np.log1p(-steps.p_fails))
            log_p_fails = np.where(steps.p < 0.5, np.log1p(-steps.p), np.log(steps.p_fails))
        fires, fails = order * steps.log_fires, log_p_fails + order * steps.log_fails
        decided = np.log(-np.expm1(fails))
        pad = (np.abs(log_p) + fires + np.abs(decided) + 4) * 8 * ROUNDING
        return max(float(np.max(log_p + fires - decided + pad)), 0.0)

    def log_mean_exp_size(self) -> float:
        """Return an upper bound on zeta, that of the dominating list."""
        return self.pair.log_mean_exp_size()

    def mean(self) -> float:
        """Return an upper bound on E L: the largest mean loss of a test for each success of P."""
        steps = self.steps
        fires = steps.p * steps.log_fires
        fails = np.where(steps.p_fails > 0, steps.p_fails, 0.0) * np.maximum(steps.log_fails, -1e300)
        pad = (fires - fails) * 16 * ROUNDING
        return nextafter(float(np.max((fires + fails + pad) / steps.p)), inf)


def worst_step(table: Table) -> float:
    """Return the largest ln(S(t)/S(t + 1)), rounded up."""
    ratio = max(Fraction(p, q) for p, q in pairwise(table))
    return upper(lambda: ball(ratio).log())


@lru_cache(maxsize=64)
def firing_atoms(table: Table, worst: Fraction | float) -> Atoms:
    """Return the loss of one firing: a list that dominates every adversary, and the moments.

    The list belongs to a pair whose hockey-stick curve is at least H(γ), the supremum over adversaries. Q has
    mass where P has none, so the pair is one-way: by mirroring it serves both directions, reversed it is
    infinite.
    """
    steps = FiringSteps.of(table)
    places, heights = _hockey_sticks(steps, worst)
    pair = _listed(*_convex(places, heights), worst)
    return replace(pair, moments=FiringMoments(steps, pair))


def _hockey_sticks(steps: FiringSteps, worst: Fraction | float) -> tuple[Floats, Floats]:
    """Return points γ from 0 on and upper bounds on H there, H(γ) = sup E_P (1 - γ·Q/P)+.

    H(γ) = max over t of (p - γ·q)+ + (1 - p)·H(γ·(1-q)/(1-p)), at least (1 - γ)+, and 0 from exp(worst) on.
    A failure only raises γ, so it is solved downwards. H is convex: between points a chord is an upper bound.
    """
    step = float(worst) * _UP / _POINTS
    gammas = np.exp(step * np.arange(-_LEFT * _POINTS, _POINTS + 1))
    gammas[-1] *= _UP
    least_q = float(np.min(steps.q[steps.p_fails == 0], initial=1.0))
    within, beyond = Within.of(steps, step), Beyond.of(steps, step)
    heights = np.zeros(len(gammas) + int(np.max(beyond.places, initial=0)) + 2)
    for i in range(len(gammas) - 2, -1, -1):
        gamma = float(gammas[i])
        best = max(
            1 - gamma * least_q + 2.0**-51,
            float(heights[i + 1]),
            within.best(gamma, float(heights[i + 1])),
            beyond.best(gamma, heights[i:]),
        )
        heights[i] = min(best * _UP, 1.0)
    return np.append(0.0, gammas), np.append(1.0, heights[: len(gammas)])


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """Tests after whose failure γ stays inside its cell of a grid that is even in ln γ.

    The chord leads back to the point itself: H_i <= p - γ·q + (1 - p)·((1 - share)·H_i + share·H_next), and
    the coefficients of the solution do not depend on the point.
    """

    fires: Floats
    misses: Floats
    leaves: Floats

    @classmethod
    def of(cls, steps: FiringSteps, step: float) -> Within:
        """Choose these tests and solve for each."""
        odds, inside = _odds(steps), _places(steps, step) == 0
        p, q, fails = steps.p[inside], steps.q[inside], steps.p_fails[inside]
        share = np.minimum(odds[inside] / expm1(step) * (1 - _ROOM), 1.0)
        ends = p + share * fails
        return cls(p / ends * _UP, q / ends / _UP, fails * share / ends * _UP)

    def best(self, gamma: float, following: float) -> float:
        """Return the largest bound on H that one of these tests gives."""
        return float(np.max(self.fires - gamma * self.misses + following * self.leaves, initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Beyond:
    """Tests after whose failure γ lies whole places further to the right."""

    p: Floats
    q: Floats
    fails: Floats
    places: Ints
    share: Floats

    @classmethod
    def of(cls, steps: FiringSteps, step: float) -> Beyond:
        """Choose these tests and find where their failures lead."""
        places = _places(steps, step)
        chosen = (places > 0) & (steps.p_fails > 0)
        ratio = (1 + _odds(steps)[chosen]) / np.exp(places[chosen] * step)
        share = np.clip((ratio - 1) / expm1(step) * (1 - _ROOM) - _ROOM, 0.0, 1.0)
        return cls(steps.p[chosen] * _UP, steps.q[chosen], steps.p_fails[chosen] * _UP, places[chosen], share)

    def best(self, gamma: float, heights: Floats) -> float:
        """Return the largest bound on H that one of these tests gives; `heights` begin at this point."""
        there = heights[self.places] * (1 - self.share) + heights[self.places + 1] * self.share
        gains = np.maximum(self.p - gamma * self.q, 0.0) + self.fails * there
        return float(np.max(gains, initial=0.0))


def _odds(steps: FiringSteps) -> Floats:
    """Return (1 - q)/(1 - p) - 1, by which a failure raises γ."""
    with np.errstate(divide="ignore"):
        return np.asarray(steps.gap / steps.p_fails)


def _places(steps: FiringSteps, step: float) -> Ints:
    """Return how many whole places of the grid a failure moves, rounded down; 1 where P cannot fail."""
    moves = np.where(steps.p_fails > 0, np.log1p(_odds(steps)) / step * (1 - _ROOM), 1.0)
    return np.floor(moves).astype(np.int64)


def _convex(places: Floats, heights: Floats) -> tuple[list[Fraction], list[Fraction]]:
    """Return the lower convex hull, exactly: what is convex and nowhere above the points lies below it."""
    (xs, width), (ys, height) = _whole(places), _whole(heights)
    kept: list[int] = []
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (ys[b] - ys[a]) * (x - xs[b]) < (y - ys[b]) * (xs[b] - xs[a]):
                break
            kept.pop()
        kept.append(i)
    return [Fraction(xs[i], width) for i in kept], [Fraction(ys[i], height) for i in kept]


def _whole(values: Floats) -> tuple[list[int], int]:
    """Return floats as whole numbers over one power of two."""
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    scale = max(below for _, below in ratios)
    return [above * (scale // below) for above, below in ratios], scale


def _listed(xs: list[Fraction], ys: list[Fraction], worst: Fraction | float) -> Atoms:
    """Return the loss whose hockey-stick curve is this polygon: Q's masses are its changes of slope.

    The polygon is taken as exact, so that no mass is a difference of rounded numbers.
    """
    slopes = [(y1 - y0) / (x1 - x0) for x0, x1, y0, y1 in zip(xs, xs[1:], ys, ys[1:], strict=False)] + [
        Fraction(0)
    ]
    masses = [(after - before) * x for before, after, x in zip(slopes, slopes[1:], xs[1:], strict=False)]
    values = np.array([log(x) for x in xs[1:]])
    size = np.abs(values) + 2.0**-20
    values = values + size * ROUNDING
    log_masses = np.array([log(mass) for mass in masses])
    log_masses = log_masses + (np.abs(log_masses) + 1) * ROUNDING
    unmatched = nextafter(float(1 + slopes[0]), 1.0)
    slack = 4 * float(np.max(size)) * ROUNDING
    # The loss itself may lie anywhere up to the worst one, and below -700 with probability exp(-700).
    whole = LossRanges(np.array([-700.0]), np.array([float(values[-1])]), np.zeros(1))
    return replace(on_values(values, log_masses, worst, slack=slack), unmatched=unmatched, ranges=whole)
