"""Which way to measure marginals: plain tables, least squares over tables, or residuals; which noise.

Candidates are ranked by the error of their worst table, which is known in closed form from schema and budget
alone. For residuals the variances are chosen such that every table is as exact as every other where that can
be, with the least cost: in the Gaussian's measure, one row costs the sum over residuals C of p_C/s_C, p_C the
product of 1 - 1/n over the columns of C. For weights u of the tables, the best s_C is proportional to
sqrt(p_C/q_C), q_C being the weighted sum of what s_C adds to the tables; the weights are then moved towards
the tables that err most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import inf, log, prod, sqrt

import numpy as np

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, IntegerNoise, PiecewiseGeometric
from dovetail.noise.widening import widened
from dovetail.privacy import Budget, PrivacyLoss, privacy_loss
from dovetail.privacy.normal import normal_sigma

from .cutoff import variance
from .marginals import Columns, MarginalWorkload, subsets
from .strategies import KINDS, Kind, Pattern, Strategy, replacement_patterns, row_pattern

Calibrate = Callable[[str, int], IntegerNoise | None]
"""(name of a noise, tables) -> the noise with which so many tables keep the budget; None if there is none."""

_ROUNDS = 400
_EVEN = 1e-4
# Of a replaced row, the ways to differ in more columns than this are too many to price.
MOST_REPLACED = 6
TABLES: tuple[Kind, ...] = ("plain", "joint")
# Of many ways to move, most are ruled out by one of these Rényi orders.
_QUICK_ORDERS = (16, 32, 64)
# Noise without a worst-case guarantee must be so much better to be preferred.
_WORTH = 1.01
_TRIES = 12
# Beyond so many residuals, certifying takes its time; beyond so many different shifts, too much of it.
_MANY, _MOST_SHIFTS = 64, 1200


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to measure, with the standard error of each table's cells; is its price certain?"""

    strategy: Strategy
    noise: str
    errors: tuple[float, ...]
    certified: bool

    @property
    def worst(self) -> float:
        """The standard error of the least exact table."""
        return max(self.errors)


def price(strategy: Strategy, neighbours: str = "add-remove") -> tuple[PrivacyLoss, ...]:
    """Return the losses of all ways in which a neighbour can move what is released; the largest counts."""
    if neighbours == "replace":
        patterns = replacement_patterns(strategy.kind, strategy.wanted)
    else:
        patterns = (row_pattern(strategy.kind, strategy.wanted),)
    return tuple(pattern_loss(strategy.noises, pattern) for pattern in patterns)


def pattern_loss(noises: Sequence[IntegerNoise], pattern: Pattern) -> PrivacyLoss:
    """Return the loss of cells that move together, each with its own noise."""
    counts: dict[tuple[IntegerNoise, int], int] = {}
    for place, shift, count in pattern:
        counts[noises[place], shift] = counts.get((noises[place], shift), 0) + count
    parts = (privacy_loss(noise, sensitivity=shift).compose(n) for (noise, shift), n in counts.items())
    return reduce(PrivacyLoss.then, parts)


def keeps(losses: Sequence[PrivacyLoss], budget: Budget) -> bool:
    """Say whether each of the losses certainly stays within a budget."""
    return all(_keeps(loss, budget, quickly=len(losses) > 1) for loss in losses)


def _keeps(loss: PrivacyLoss, budget: Budget, quickly: bool) -> bool:
    if budget.zeta_limit is not None and not loss.zeta <= budget.zeta_limit:
        return False
    if loss.worst <= budget.epsilon_limit:
        return True
    if budget.currency != "approximate":
        return False
    by_order = quickly and any(
        _log_delta(loss, budget, order) < log(budget.delta_limit) for order in _QUICK_ORDERS
    )
    return by_order or loss.delta(budget.epsilon_limit) <= budget.delta_limit


def _log_delta(loss: PrivacyLoss, budget: Budget, order: int) -> float:
    """Return a bound on ln delta from one Rényi order (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    excess = (order - 1) * (loss.renyi(order) - float(budget.epsilon_limit))
    return excess - log(order - 1) + order * log(1 - 1 / order) + 1e-9 * (1 + abs(excess))


def even_variances(wanted: MarginalWorkload, *, by_cells: bool = False) -> dict[Columns, float]:
    """Return the variances of residuals, at a Gaussian cost of 1, that make the worst table most exact.

    `by_cells`: make the sum of the variances of all cells least instead.
    """
    parts = wanted.residuals
    place = {part: i for i, part in enumerate(parts)}
    adds = np.zeros((len(wanted.tables), len(parts)))
    for row, table in enumerate(wanted.tables):
        for part in subsets(table):
            freedom = prod(wanted.sizes[i] - 1 for i in part)
            adds[row, place[part]] = freedom / wanted.cells(part) * wanted.share(table, part) ** 2
    cost = np.array([prod(1 - 1 / wanted.sizes[i] for i in part) for part in parts])
    weights = np.array([float(wanted.cells(table)) if by_cells else 1.0 for table in wanted.tables])
    weights /= weights.sum()
    best, found = inf, np.ones(len(parts))
    for _ in range(1 if by_cells else _ROUNDS):
        gains = weights @ adds
        scale = np.sqrt(cost * gains).sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = np.where(gains > 0, np.sqrt(cost / gains) * scale, 1.0)
        errors = adds @ variances
        if errors.max() < best:
            best, found = float(errors.max()), variances
        if errors.max() <= (1 + _EVEN) * float(weights @ errors):
            break
        weights = weights * errors / float(weights @ errors)
    return dict(zip(parts, found.tolist(), strict=True))


def scaled(noise: IntegerNoise, factor: float) -> IntegerNoise:
    """Return a noise of the same shape, about `factor` times as wide: few digits keep its rates short."""
    return widened(noise, Fraction(f"{factor:.5g}"))


def residual_widths(wanted: MarginalWorkload) -> list[float]:
    """Return the standard deviations of released residuals, beside each other, of equally exact tables."""
    spreads = even_variances(wanted)
    return [sqrt(spreads[part]) * wanted.cells(part) for part in wanted.residuals]


def residual_strategy(
    wanted: MarginalWorkload,
    shape: IntegerNoise,
    budget: Budget,
    neighbours: str = "add-remove",
    certify: bool = True,
) -> Strategy | None:
    """Return the residuals with noise of a shape, as exact as the budget allows; None where it does not.

    Without `certify`, the scale comes from the normal law that so many cells tend to, and may be too small by
    a few parts in a thousand.
    """
    deviations = residual_widths(wanted)

    def at(scale: float) -> Strategy:
        widths = [deviation * scale / sqrt(variance(shape)) for deviation in deviations]
        return Strategy("residuals", wanted, tuple(scaled(shape, width) for width in widths))

    scale = _first_scale(wanted, shape, deviations, budget, neighbours)
    if scale is None or not certify:
        return None if scale is None else at(scale)
    if len(deviations) > _MANY:
        scale *= 1.0015  # Half a minute is saved where the first try would just fail.
    for attempt in range(_TRIES):
        strategy = at(scale)
        if keeps(price(strategy, neighbours), budget):
            return strategy
        scale *= 1.002 * 1.3**attempt if attempt > 2 else 1.002
    return None


def _first_scale(
    wanted: MarginalWorkload,
    shape: IntegerNoise,
    deviations: Sequence[float],
    budget: Budget,
    neighbours: str,
) -> float | None:
    """Return about the scale that keeps the budget: normal, or the sum of all worst losses."""
    residual: Kind = "residuals"
    patterns = (
        replacement_patterns(residual, wanted)
        if neighbours == "replace"
        else (row_pattern(residual, wanted),)
    )
    if budget.currency == "approximate":
        squares = max(sum(n * (by / deviations[at]) ** 2 for at, by, n in each) for each in patterns)
        needed = normal_sigma(float(budget.epsilon_limit), float(budget.delta_limit), 1)
        return sqrt(squares * information(shape)) * needed
    if not isinstance(shape, PiecewiseGeometric):
        return None
    steepest = float(max(shape.rates)) * sqrt(variance(shape))
    sums = max(sum(n * by / deviations[at] for at, by, n in each) for each in patterns)
    return steepest * sums / float(budget.epsilon_limit) * (1 + 1e-3)


def information(noise: IntegerNoise) -> float:
    """Return the Fisher information of a wide noise in units of one over its variance; 1 for a Gaussian.

    Many small shifts together have the privacy loss of a Gaussian with so much less variance.
    """
    if isinstance(noise, DiscreteGaussian):
        return 1.0
    if not isinstance(noise, PiecewiseGeometric):
        raise InvalidParameter("noise", noise, "piecewise geometric or discrete Gaussian noise")
    beyond = [1.0, *(2 * float(noise.sf(point)) for point in noise.breaks), 0.0]
    squares = (float(rate) ** 2 * (beyond[i] - beyond[i + 1]) for i, rate in enumerate(noise.rates))
    return sum(squares) * variance(noise)


def plan(
    wanted: MarginalWorkload,
    budget: Budget,
    calibrate: Calibrate,
    shapes: Mapping[str, IntegerNoise],
    *,
    neighbours: str = "add-remove",
    progress: Callable[[str], None] = lambda step: None,
    kinds: Sequence[Kind] = KINDS,
) -> list[Candidate]:
    """Rank the ways to measure by the error of the worst table, the best first; its price is certain.

    `shapes` names the noises to try, each as a wide noise whose scale does not matter. `calibrate` gives the
    noise of plain and joint tables, as the caller prices them; residuals are priced here, and with
    neighbours="persons" left out. The candidates after the first serve as a comparison. Only ways of
    `kinds` are looked at.
    """
    candidates = []
    for name, shape in shapes.items():
        noise = calibrate(name, len(wanted.tables))
        if noise is not None:
            candidates += [
                _candidate(Strategy.alike(kind, wanted, noise), name) for kind in TABLES if kind in kinds
            ]
        if "residuals" in kinds and can_be_residuals(wanted, neighbours):
            strategy = residual_strategy(wanted, shape, budget, neighbours, certify=False)
            candidates += [] if strategy is None else [_candidate(strategy, name, certified=False)]
    candidates.sort(key=_rank)
    while candidates and not candidates[0].certified:
        first = candidates.pop(0)
        progress(f"certifying residuals with {first.noise} noise")
        strategy = residual_strategy(wanted, shapes[first.noise], budget, neighbours)
        candidates += [] if strategy is None else [_candidate(strategy, first.noise)]
        candidates.sort(key=_rank)
    return candidates


def can_be_residuals(wanted: MarginalWorkload, neighbours: str) -> bool:
    """Say whether residuals can be priced, and within half a minute."""
    if sum(2 ** len(part) for part in wanted.residuals) > _MOST_SHIFTS:
        return False
    used = {i for table in wanted.tables for i in table}
    return neighbours == "add-remove" or (neighbours == "replace" and len(used) <= MOST_REPLACED)


def _rank(candidate: Candidate) -> float:
    endless = isinstance(candidate.strategy.noises[0], DiscreteGaussian)
    return candidate.worst * (_WORTH if endless else 1.0)


def _candidate(strategy: Strategy, name: str, certified: bool = True) -> Candidate:
    errors = tuple(sqrt(strategy.variance(table)) for table in strategy.wanted.tables)
    return Candidate(strategy, name, errors, certified)
