"""The remark on iterative online querying: does mixture noise save updates, and in which sense?

Three senses of equal privacy, the same questions in each pair of runs. Both kinds of noise play in the same
algorithm: multiplicative weights with thresholds of their own for either side (for equal zeta of the noise,
the textbook's algorithm, whose transcript that zeta does not cover).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np

import dovetail as dv

from .claims import Measured
from .item import Item, ItemResult, StepInputs, table
from .online_runs import QUESTIONS, Result, domain, questions, simulate, simulate_textbook
from .rivals import GRID, paper_shape, steepest

UPDATES = 200
_EPSILON, _DELTA = Fraction(1), Fraction(1, 10**6)
# Shares of the price: thresholds, tests, measured answers.
_SHARES = (0.06, 0.59, 0.35)
# Of all questions, so many updates may be false alarms.
_FALSE_ALARM = Fraction(UPDATES, 40 * QUESTIONS)
# The paper's own noise is so small beside these counts that any distance will do.
FIVE_NOISE = dv.GeometricMixture("1/5", 1, 5)
_PLAIN_DISTANCE = 300

Noises = Callable[[float], dv.noise.IntegerNoise]
"""From a scale to the noise of one kind."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One kind of noise at one distance of the tests: how it plays a list of questions."""

    sense: str
    noise: str
    distance: int
    play: Callable[[int, list[dv.online.Region]], Result]


def _arms() -> Iterator[tuple[Arm, ...]]:
    """Return for each sense: the geometric noise, the mixture at the same distance, and at its own."""
    yield _textbook_arms("zeta of the noise, 0.328", FIVE_NOISE, _PLAIN_DISTANCE)
    mixture = steepest(
        lambda noise: dv.privacy_loss(noise).zeta <= Fraction(1, UPDATES),
        paper_shape,
        most=1,
        close=Fraction(1, 10_000),
    )
    yield _textbook_arms(f"zeta of the noise, 1/{UPDATES}", mixture, None)
    yield _guarded_arms("worst-case epsilon", _by_rates(dv.Geometric), _by_rates(paper_shape))
    two_pieces = dv.design(epsilon=_EPSILON, delta=_DELTA, queries=UPDATES, pieces=2).noise
    assert isinstance(two_pieces, dv.PiecewiseGeometric)
    yield (
        *_guarded_arms("epsilon and delta", _by_scale(dv.Geometric(1)), _by_scale(two_pieces)),
        _designed_arm(),
    )


def _textbook_arms(sense: str, mixture: dv.noise.IntegerNoise, distance: int | None) -> tuple[Arm, ...]:
    """Set the mixture beside the geometric noise of the same zeta, in the algorithm of the textbooks."""
    standard = dv.Geometric(_short(dv.privacy_loss(mixture).zeta))
    reaches = (int(each.quantile_abs(1 - 2 * _FALSE_ALARM)) for each in (standard, mixture))
    far, own = reaches if distance is None else (distance, distance)

    def arm(name: str, noise: dv.noise.IntegerNoise, place: int) -> Arm:
        return Arm(sense, name, place, lambda seed, asked: simulate_textbook(seed, asked, noise, place))

    return arm("geometric", standard, far), arm("mixture", mixture, far), arm("mixture", mixture, own)


def _designed_arm() -> Arm:
    """Return the guard as a user of the package gets it: Gaussian noise and a curve made for its price."""
    shape = domain().table.shape
    budget = dv.Budget.approximate(_EPSILON, _DELTA)
    found = dv.online.design_online(shape, queries=QUESTIONS, budget=budget, base=None, updates=UPDATES)
    guard = found.guard
    assert guard is not None
    return Arm(
        "epsilon and delta",
        "designed curve",
        guard.distance,
        lambda seed, asked: simulate(seed, asked, guard),
    )


def _guarded_arms(
    sense: str, standard: Callable[[], dv.online.Guard], mixed: Callable[[], dv.online.Guard]
) -> tuple[Arm, ...]:
    first, second = standard().placed(_FALSE_ALARM), mixed().placed(_FALSE_ALARM)
    same = replace(second, distance=first.distance)

    def arm(name: str, guard: dv.online.Guard) -> Arm:
        return Arm(sense, name, guard.distance, lambda seed, asked: simulate(seed, asked, guard))

    return arm("geometric", first), arm("mixture", same), arm("mixture", second)


def _guard(
    threshold: dv.noise.IntegerNoise, tests: dv.noise.IntegerNoise, answers: dv.noise.IntegerNoise
) -> dv.online.Guard:
    return dv.online.Guard(threshold, dv.online.ResponseCurve.of(tests), answers, UPDATES)


def _by_rates(make: Callable[[Fraction], dv.noise.IntegerNoise]) -> Callable[[], dv.online.Guard]:
    """Share the worst case: every part's steepest rate is its share of epsilon."""

    def build() -> dv.online.Guard:
        # A table rounds its steepest step up a little; the tests give that back.
        rates = [share / uses for share, uses in zip(_SHARES, (1, UPDATES, UPDATES + 1), strict=True)]
        guard = _guard(*(make(_short(float(_EPSILON) * rate)) for rate in rates))
        excess = float(guard.loss().worst - _EPSILON) / UPDATES
        return _guard(
            guard.threshold, make(_short(rates[1] - max(excess, 0.0))), guard.answers or guard.threshold
        )

    return build


def _by_scale(shape: dv.noise.PiecewiseGeometric) -> Callable[[], dv.online.Guard]:
    """Share by variances, as for Gaussian noise, and stretch all parts until (epsilon, delta) is kept."""

    def build() -> dv.online.Guard:
        sizes = [sqrt(uses / share) for share, uses in zip(_SHARES, (1, UPDATES, UPDATES + 1), strict=True)]

        def at(scale: float) -> dv.online.Guard:
            return _guard(*(_of_deviation(shape, scale * size) for size in sizes))

        low, high = 3.0, 9.0
        while high / low > 1.003:
            middle = sqrt(low * high)
            kept = at(middle).loss().delta(_EPSILON) <= _DELTA
            low, high = (low, middle) if kept else (middle, high)
        return at(high)

    return build


def _of_deviation(shape: dv.noise.PiecewiseGeometric, deviation: float) -> dv.noise.IntegerNoise:
    """Return a shape stretched until it has about this standard deviation."""
    factor = deviation / shape.std()
    rates = [_short(float(rate) / factor) for rate in shape.rates]
    return dv.PiecewiseGeometric(rates, [max(round(point * factor), 1) for point in shape.breaks])


def _short(value: float) -> Fraction:
    return Fraction(int(value * GRID), GRID)


_COLUMNS = (
    "equal noise distance runs updates updates_se answered answered_se mean_error mean_error_se "
    "largest_error largest_error_se updates_less updates_less_se"
)
_NOTE = (
    f"Multiplicative weights on five columns of Adult (4,032 cells), {QUESTIONS} random questions on three "
    f"of them, {UPDATES} updates paid for. Each row is the mean of paired runs with its standard error; "
    "updates_less is how many updates fewer than with geometric noise on the same questions. Equal zeta of "
    "the noise is the sense of the remark. The textbook's algorithm tests and releases one noisy number, so "
    "that figure is no guarantee of a transcript. At an equal worst case the mixture only loses: its "
    "steepest rate is what is paid for. At equal epsilon and delta of the whole run its tests may stand "
    "closer. The remark also names dual query, which samples questions by an exponential mechanism and adds "
    "no noise to answers: there a mixture has nothing to replace."
)
_SENSES = ("small", "zeta", "epsilon", "delta")


def _make(run: StepInputs) -> ItemResult:
    rows = []
    measured = {}
    runs = run.sizes.runs
    for number, arms in enumerate(_arms()):
        results: dict[Arm, list[Result]] = {arm: [] for arm in arms}
        for seed in range(runs):
            asked = questions(run.seed + seed)
            for arm in arms:
                results[arm].append(arm.play(run.seed + seed, asked))
            run.advance((number + (seed + 1) / runs) / len(_SENSES))
        standard, same, own, *_ = arms
        rows += [_row(arm, results[arm], results[standard]) for arm in arms]
        measured[f"online-updates-{_SENSES[number]}"] = _ratio(results, same, standard, "updates")
        if _SENSES[number] == "delta":
            measured["online-distance-delta"] = Measured(own.distance / standard.distance)
            measured["online-error-delta"] = _ratio(results, own, standard, "mean_error")
    return ItemResult((table("online", _COLUMNS, rows),), measured=measured, shown=("online",), note=_NOTE)


def _ratio(results: dict[Arm, list[Result]], arm: Arm, standard: Arm, name: str) -> Measured:
    ours, theirs = ([getattr(each, name) for each in results[which]] for which in (arm, standard))
    return Measured(float(np.mean(ours) / np.mean(theirs)))


def _row(arm: Arm, results: list[Result], standard: list[Result]) -> list[object]:
    row: list[object] = [arm.sense, arm.noise, arm.distance, len(results)]
    for name in ("updates", "answered", "mean_error", "largest_error"):
        row += _mean([float(getattr(each, name)) for each in results])
    pairs = zip(standard, results, strict=True)
    return row + _mean([float(theirs.updates - ours.updates) for theirs, ours in pairs])


def _mean(values: list[float]) -> list[float]:
    """Return the mean and its standard error."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return [float(np.mean(values)), spread / sqrt(len(values))]


ONLINE = Item("online", "Beyond: iterative online querying", _make, uses=("runs", "seed"))
