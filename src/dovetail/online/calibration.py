"""Share a budget among the parts of a run, and find the shares that promise most.

Under a worst-case budget the shares add up in pure epsilon, under (epsilon, delta) in the Rényi divergence of
one order. A search in closed form finds shares and order; the winner's own loss is then certified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import log, log1p, sqrt
from typing import Protocol

from dovetail.check import Real
from dovetail.designer import design
from dovetail.errors import GoalUnreachable, InvalidParameter
from dovetail.exact.decimals import short
from dovetail.noise import DiscreteGaussian, Geometric, IntegerNoise
from dovetail.pricing.sensitivity import grows_outward
from dovetail.privacy import Budget, PrivacyLoss, privacy_loss
from dovetail.workloads.planning import keeps

from .guard import Guard, Neighbours
from .response_curve import ResponseCurve

_DIGITS = 5
_ORDER_STEP = 1.12
_SHARE_STEP = 1.25
_CLOSE = 0.002
_MOST_ORDER = 2000.0
_MOST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Shares:
    """Which part of the price goes where; tests get what is left."""

    threshold: float = 0.06
    answers: float = 0.35
    base: float = 0.0

    @classmethod
    def usual(cls, terms: Terms) -> Shares:
        """Return where a search begins: half for a base; 35 % of the rest for answers, 6 % for thresholds."""
        base = 0.5 if terms.tables else 0.0
        return cls(0.06 * (1 - base), 0.35 * (1 - base) if terms.measures else 0.0, base)

    @property
    def tests(self) -> float:
        """The share of all firings together."""
        return 1 - self.threshold - self.answers - self.base


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run has to give, from public facts alone.

    `tables` is how many tables its base measures; a row lies in one cell of each.
    """

    updates: int
    queries: int = 1000
    tables: int = 0
    neighbours: Neighbours = "add-remove"
    rows: int = 1
    promise: str = "0.95"
    measures: bool = True

    @property
    def moved(self) -> int:
        """How many thresholds, or cells of a table, one neighbour moves."""
        return 1 if self.neighbours == "add-remove" else 2

    @property
    def splits(self) -> bool:
        """Whether a person's rows may lie in several cells of one table of the base.

        The base is priced for all of them in one cell. That is the worst for noise whose rates grow outward
        or are one; of no other is it known here, so no other is taken.
        """
        return self.tables > 0 and self.rows > 1

    @property
    def answers(self) -> int:
        """How many numbers are measured, the number of rows included where no base tells it."""
        return self.updates + (0 if self.tables else 1)

    @property
    def false_alarm(self) -> float:
        """The chance of a false alarm at which all questions together use a twentieth of the updates."""
        return min(self.updates / (40 * self.queries), 0.4)


class Currency(Protocol):
    """A price in which parts add up: what noise or curve a share of it buys."""

    def noise(self, share: float, uses: int) -> IntegerNoise:
        """Return the noise of `uses` counts that cost this share together."""
        ...

    def curve(self, share: float, updates: int) -> ResponseCurve:
        """Return the response curve of so many firings that cost this share together."""
        ...


@dataclass(frozen=True, slots=True)
class Pure:
    """Worst-case epsilon: geometric noise and the exponential curve."""

    epsilon: Fraction

    def noise(self, share: float, uses: int) -> IntegerNoise:
        """Return geometric noise."""
        return Geometric(short(float(self.epsilon) * share / uses, _DIGITS))

    def curve(self, share: float, updates: int) -> ResponseCurve:
        """Return the exponential curve."""
        return ResponseCurve.pure(short(float(self.epsilon) * share / updates, _DIGITS))


@dataclass(frozen=True, slots=True)
class Renyi:
    """The Rényi divergence of one order: Gaussian noise and the curve made for that order."""

    order: float
    divergence: float

    def noise(self, share: float, uses: int) -> IntegerNoise:
        """Return Gaussian noise."""
        sigma = sqrt(self.order * uses / (2 * share * self.divergence))
        return DiscreteGaussian(short(sigma, _DIGITS, up=True))

    def curve(self, share: float, updates: int) -> ResponseCurve:
        """Return the curve on which every step costs the same at this order."""
        cost = short(share * self.divergence / updates, _DIGITS)
        return ResponseCurve.renyi(cost, short(self.order, _DIGITS))


@dataclass(frozen=True)
class Calibrated:
    """The parts of a run that fit a budget: the guard and the noise of the base, where there are."""

    guard: Guard | None
    base: IntegerNoise | None
    terms: Terms

    @property
    def base_loss(self) -> PrivacyLoss | None:
        """The privacy loss of the base alone."""
        if self.base is None:
            return None
        wide = self.base.stretched(self.terms.rows)
        return privacy_loss(wide, sensitivity=self.terms.rows).compose(self.terms.tables * self.terms.moved)

    @property
    def loss(self) -> PrivacyLoss:
        """The privacy loss of base and guard together."""
        if self.guard is not None:
            return self.guard.loss(self.base_loss)
        assert self.base_loss is not None
        return self.base_loss

    @property
    def alpha(self) -> int:
        """What is promised of answers that pass."""
        assert self.guard is not None
        return self.guard.alpha(self.terms.promise)


def assemble(currency: Currency, shares: Shares, terms: Terms) -> Calibrated:
    """Buy every part with its share, and place the tests."""
    base = currency.noise(shares.base, terms.tables * terms.moved) if terms.tables else None
    guard = Guard(
        threshold=currency.noise(shares.threshold, terms.moved),
        curve=currency.curve(shares.tests, terms.updates),
        answers=currency.noise(shares.answers, terms.answers) if terms.measures else None,
        updates=terms.updates,
        neighbours=terms.neighbours,
        rows=terms.rows,
        counts_rows=terms.measures and not terms.tables,
    )
    return Calibrated(guard.placed(terms.false_alarm), base, terms)


def calibrate(budget: Budget, terms: Terms) -> Calibrated:
    """Return the run with the least promised error that certainly keeps the budget.

    >>> found = calibrate(Budget.pure(1), Terms(updates=50, queries=12500, measures=False))
    >>> found.loss.epsilon <= 1, found.alpha
    (True, 541)
    """
    start = Shares.usual(terms)
    ways = (_pure,) if terms.splits else (_pure, _renyi)
    candidates = [each for each in (way(budget, start, terms) for way in ways) if each is not None]
    if not candidates:
        raise GoalUnreachable(
            f"No run with {terms.updates} updates fits this budget.", "Allow fewer updates or spend more."
        )
    return min(candidates, key=lambda each: each.alpha)


def base_only(budget: Budget, terms: Terms) -> Calibrated:
    """Return a run that answers from its base alone, with the noise of least variance that fits."""
    uses = terms.tables * terms.moved
    limits: dict[str, Real] = {"epsilon": budget.epsilon_limit}
    if budget.currency == "approximate":
        limits["delta"] = budget.delta_limit
    elif budget.zeta_limit is not None:
        limits = {"zeta": budget.zeta_limit, "max_epsilon": budget.epsilon_limit}
    designed = design(**limits, queries=uses)  # type: ignore[arg-type]
    noises = [designed.noise, *(other.noise for other in designed.alternatives)]
    if terms.splits:
        alone = Geometric(short(float(budget.epsilon_limit) / uses, _DIGITS))
        noises = [alone, *(noise for noise in noises if grows_outward(noise))]
    tried = (Calibrated(None, noise, terms) for noise in sorted(noises, key=lambda noise: noise.variance()))
    return next(each for each in tried if keeps([each.loss], budget))


def _pure(budget: Budget, start: Shares, terms: Terms) -> Calibrated | None:
    """Search in worst-case epsilon; where zeta is limited too, spend less of it until both limits hold."""
    best = _best_share(Pure(budget.epsilon_limit), start, terms)
    if best is None:
        return None
    return _largest(lambda part: assemble(Pure(budget.epsilon_limit * Fraction(part)), best, terms), budget)


def _renyi(budget: Budget, start: Shares, terms: Terms) -> Calibrated | None:
    """Search over orders, at each with the divergence that the budget allows there; then over shares."""
    if budget.currency != "approximate":
        return None

    @cache
    def alpha(step: int) -> float:
        currency = _at_order(budget, _first_order(budget) * _ORDER_STEP**step)
        return float("inf") if currency is None else _alpha(currency, start, terms)

    order = _first_order(budget) * _ORDER_STEP ** _descend(alpha)
    currency = _at_order(budget, order)
    best = None if currency is None else _best_share(currency, start, terms)
    if currency is None or best is None:
        return None

    def scaled(part: float) -> Calibrated:
        return assemble(replace(currency, divergence=currency.divergence * part), best, terms)

    return _largest(scaled, budget, most=1.05)


def _best_share(currency: Currency, start: Shares, terms: Terms) -> Shares | None:
    """Return shares with the threshold's changed for the least alpha, or None if nothing fits."""

    @cache
    def shares(step: int) -> Shares:
        return replace(start, threshold=start.threshold * _SHARE_STEP**step)

    @cache
    def alpha(step: int) -> float:
        possible = shares(step).threshold < _MOST_SHARE * (1 - start.base - start.answers)
        return _alpha(currency, shares(step), terms) if possible else float("inf")

    best = _descend(alpha)
    return shares(best) if alpha(best) < float("inf") else None


def _alpha(currency: Currency, shares: Shares, terms: Terms) -> float:
    """Return what these shares would promise; inf where a part cannot be had at all."""
    try:
        return float(assemble(currency, shares, terms).alpha)
    except InvalidParameter:
        return float("inf")


def _largest(make: Callable[[float], Calibrated], budget: Budget, most: float = 1.0) -> Calibrated | None:
    """Return the run that spends the largest part, up to `most`, and certainly keeps the budget."""
    for part in _halving(most):
        found = make(part)
        if keeps([found.loss], budget):
            low, high = part, most
            break
    else:
        return None
    while high - low > _CLOSE:
        middle = (low + high) / 2
        tried = make(middle)
        low, high, found = (middle, high, tried) if keeps([tried.loss], budget) else (low, middle, found)
    return found


def _halving(most: float) -> Iterator[float]:
    part = most
    for _ in range(12):
        yield part
        part *= 0.97 if part > 0.9 else 0.5


def _at_order(budget: Budget, order: float) -> Renyi | None:
    """Return what the Rényi divergence of an order may be under (epsilon, delta)."""
    if not 1.01 < order < _MOST_ORDER:
        return None
    delta, epsilon = float(budget.delta_limit), float(budget.epsilon_limit)
    most = epsilon + (log(delta) + log(order) - (order - 1) * log1p(-1 / order)) / (order - 1)
    return Renyi(order, most) if most > 0 else None


def _first_order(budget: Budget) -> float:
    """Return about the order that is best for Gaussian noise; curves prefer a somewhat larger one."""
    return 1 + 2 * -log(float(budget.delta_limit)) / float(budget.epsilon_limit)


def _descend(value: Callable[[int], float]) -> int:
    """Return a whole number where a function has no smaller neighbour, beginning at 0."""
    here = 0
    for direction in (-1, 1):
        while value(here + direction) < value(here):
            here += direction
    return here
