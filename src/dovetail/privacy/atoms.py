"""The privacy loss of one use, in one direction: finitely many values, each with its probability.

L = ln(P/Q) at an outcome drawn from P. Figures computed from atoms err upwards: a value and the log of a mass
are upper bounds, off by a few units in the last place. Logs are kept so that nothing under- or overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import exp, gcd, inf, lcm, log, log1p, nextafter
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

# A few roundings of numbers of size s err by at most s times this.
ROUNDING = 2.0**-50
BLUR = 2.0**-48
# The least mass that a float holds: what is smaller still is not nothing.
LEAST_MASS = 5e-324
_LARGEST_STEP = 2**52


class Moments(Protocol):
    """Closed forms for a loss that no finite list holds; both are upper bounds."""

    def log_moment(self, order: float) -> float:
        """Return ln E exp(order·L)."""
        ...

    def log_mean_exp_size(self) -> float:
        """Return ln E exp|L|."""
        ...

    def mean(self) -> float:
        """Return E L."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LossRanges:
    """Where losses lie for certain: between `low` and `high`, with the logs of the masses of each range.

    Atoms that stand for a range of losses keep every divergence from above, but not the chance of a loss
    above a limit: part of their mass was moved down. That chance is bounded from these ranges.
    """

    low: Floats
    high: Floats
    log_masses: Floats

    def mirrored(self) -> LossRanges:
        """Return the ranges of -L."""
        return LossRanges(-self.high[::-1], -self.low[::-1], self.log_masses[::-1])

    def joined(self, other: LossRanges) -> LossRanges:
        """Return these ranges and those of another."""
        pairs = ((self.low, other.low), (self.high, other.high), (self.log_masses, other.log_masses))
        return LossRanges(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Values of the loss (ascending) with the logs of their masses.

    A value exceeds the true loss by at most `slack`. `infinite` is the mass of outcomes that Q cannot give.
    Where every loss is a multiple of one rational `unit`, `steps` holds the multiples exactly.
    `worst` is the supremum of the loss, exact where it is rational. `moments` stand in where losses without
    an upper end have finite moments; `infinite` then holds the mass of the losses that are not listed. They
    also stand in where the list dominates more than it must (`tighter`). `ranges` are given where atoms stand
    for ranges of losses. `unmatched` is the mass that Q gives to outcomes that P cannot give: it counts for
    zeta only, and such a pair must never be reversed.
    """

    values: Floats
    log_masses: Floats
    worst: Fraction | float
    infinite: float = 0.0
    slack: float = 0.0
    unit: Fraction | None = None
    steps: Ints | None = None
    moments: Moments | None = None
    ranges: LossRanges | None = None
    unmatched: float = 0.0

    @property
    def nbytes(self) -> int:
        """The size of its arrays."""
        ranges = () if self.ranges is None else (self.ranges.low, self.ranges.high, self.ranges.log_masses)
        steps = () if self.steps is None else (self.steps,)
        return sum(array.nbytes for array in (self.values, self.log_masses, *steps, *ranges))

    @property
    def tighter(self) -> bool:
        """Whether moments are known better than the list tells them: those of a bounded loss."""
        return self.moments is not None and self.worst < inf

    def all_ranges(self) -> LossRanges:
        """Return where the losses lie; an atom that stands for itself is off by rounding only."""
        return self.ranges or LossRanges(self.values - self.slack, self.values, self.log_masses)

    def log_moment(self, order: float) -> float:
        """Return an upper bound on ln E exp(order·L), order > 0; infinite losses are left out.

        >>> response = on_steps(np.array([-1, 1]), np.log([0.25, 0.75]), Fraction(1))
        >>> round(response.log_moment(1), 12) == round(log(0.25 / np.e + 0.75 * np.e), 12)
        True
        """
        if self.moments is not None:
            return self.moments.log_moment(order)
        powers = order * self.values
        if self.infinite == 0 and float(np.max(np.abs(powers), initial=0.0)) < 1:
            return _log1p_up(*_mean_of(np.expm1(powers), self.log_masses))
        return log_sum_up(self.log_masses, powers)

    def log_mean_exp_size(self) -> float:
        """Return an upper bound on ln(E exp|L| + unmatched), which is zeta."""
        if self.moments is not None:
            return self.moments.log_mean_exp_size()
        if self.infinite:
            return inf
        sizes = np.abs(self.values)
        if float(np.max(sizes, initial=0.0)) < 1:
            mean, error = _mean_of(np.expm1(sizes), self.log_masses)
            return _log1p_up(mean + self.unmatched, error) + self.slack
        total = log_sum_up(self.log_masses, sizes) + self.slack
        return total + log1p(self.unmatched * exp(-total)) if self.unmatched else total

    def mean(self) -> float:
        """Return an upper bound on E L."""
        if self.moments is not None:
            return self.moments.mean()
        if self.infinite:
            return inf
        total, error = _mean_of(self.values, self.log_masses)
        return nextafter(total + error, inf)

    def tilted(self, order: float) -> tuple[float, float, float]:
        """Return about ln E exp(order·L), and mean and variance of L under weights exp(order·L)."""
        exponents = self.log_masses + order * self.values
        total = log_sum(exponents)
        weights = np.exp(exponents - total)
        mean = float(np.sum(weights * self.values))
        return total, mean, float(np.sum(weights * (self.values - mean) ** 2))


def _mean_of(values: Floats, log_masses: Floats) -> tuple[float, float]:
    """Return the mass-weighted sum of `values` and a bound on its error; masses may be too large by a bit."""
    terms = np.exp(log_masses) * values
    sizes = np.abs(terms)
    error = float(np.sum(sizes * (np.abs(np.maximum(log_masses, -800)) + 64))) * 16 * ROUNDING
    return float(np.sum(terms)), error + len(values) * ROUNDING * float(np.sum(sizes))


def _log1p_up(value: float, error: float) -> float:
    return nextafter(log1p(value + error) * (1 + ROUNDING if value > 0 else 1), inf)


def log_sum(exponents: Floats) -> float:
    """Return ln of a sum of exponentials."""
    if not len(exponents):
        return -inf
    peak = float(exponents.max())
    return peak if peak == -inf else peak + log(np.exp(exponents - peak).sum())


def log_sum_up(left: Floats, right: Floats) -> float:
    """Return an upper bound on ln of the sum of exp(left + right)."""
    total = log_sum(left + right + (np.abs(left) + np.abs(right) + 16) * ROUNDING)
    return total + (abs(total) + 16) * ROUNDING


def log_expm1(x: Floats) -> Floats:
    """Return ln(exp(x) - 1), -inf at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(x > 40, x, np.log(np.expm1(np.minimum(x, 40.0)))))


def on_steps(steps: Ints, log_masses: Floats, unit: Fraction, infinite: float = 0.0) -> Atoms:
    """Return atoms at multiples of `unit`; equal steps become one atom."""
    steps, log_masses = _joined(steps, log_masses)
    values = steps * float(unit)
    values = values + np.abs(values) * ROUNDING
    worst: Fraction | float = inf if infinite else int(steps[-1]) * unit
    return Atoms(values, log_masses, worst, infinite, 0.0, unit, steps)


def on_values(
    values: Floats, log_masses: Floats, worst: Fraction | float, *, infinite: float = 0.0, slack: float = 0.0
) -> Atoms:
    """Return atoms at any values; equal values become one atom."""
    if not len(values):
        return Atoms(values, log_masses, inf, infinite, slack)
    values, log_masses = _joined(values, log_masses)
    return Atoms(values, log_masses, inf if infinite else worst, infinite, slack)


def _joined(places: NDArray[Any], log_masses: Floats) -> tuple[NDArray[Any], Floats]:
    """Return the places in order, each once, and the logs of their masses together, rounded up."""
    order = np.argsort(places, kind="stable")
    places, log_masses = places[order], log_masses[order]
    starts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
    totals = np.logaddexp.reduceat(log_masses, starts)
    added = np.diff(starts, append=len(places)) - 1
    # A sum of logs rounds at its own size, each time that one is added.
    return places[starts], totals + added * (np.abs(np.maximum(totals, -800.0)) / 8 + 1) * ROUNDING


def common_unit(numbers: list[Fraction]) -> Fraction | None:
    """Return the largest rational of which all `numbers` are multiples, or None if that is too fine.

    >>> common_unit([Fraction(1, 5), Fraction(1)]), common_unit([Fraction(2, 3), Fraction(1, 2)])
    (Fraction(1, 5), Fraction(1, 6))
    """
    below = reduce(lcm, (number.denominator for number in numbers), 1)
    above = reduce(gcd, (int(number * below) for number in numbers), 0)
    if above == 0:
        return None
    unit = Fraction(above, below)
    return unit if max(abs(number) for number in numbers) / unit < _LARGEST_STEP else None


def spread(atoms: Atoms, step: float) -> tuple[Ints, Floats]:
    """Move each atom to its two neighbours on a grid, keeping its mass under P and under Q.

    A mean-preserving spread of the likelihood ratio, so the result dominates: every f-divergence, hence
    delta, zeta and Rényi of any composition, can only grow. The growth is of second order in `step`
    (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "connect the dots").
    """
    above = np.ceil(atoms.values / step)
    gap = np.maximum(above * step - atoms.values, 0.0)
    # Distances come from products that round; a little mass is moved up for it.
    blur = (np.abs(atoms.values) + 1) * BLUR
    share = log_expm1(np.maximum(gap - blur, 0.0)) - log_expm1(np.array([step]))
    low = atoms.log_masses + np.minimum(share, 0.0)
    with np.errstate(divide="ignore"):
        high = atoms.log_masses + np.log(-np.expm1(np.minimum(share, 0.0)))
    places = above.astype(np.int64)
    both, masses = np.concatenate([places - 1, places]), np.concatenate([low, high])
    kept = masses > -inf
    merged = on_steps(both[kept], masses[kept] + 2 * ROUNDING, Fraction(1))
    assert merged.steps is not None
    return merged.steps, merged.log_masses
