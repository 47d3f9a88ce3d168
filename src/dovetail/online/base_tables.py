"""The base of a run: tables that are measured once, what they say of a count, and the joint fitted to them.

Two answers come from it. The fitted joint errs least, but it is biased, and an interval of the noise about it
would be false. The linear estimate by least squares is unbiased, and its error has an exact law: intervals
stand about that one, and a fitted value is shown clipped into them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise
from dovetail.pricing.stretching import stretched
from dovetail.privacy.atoms import Floats
from dovetail.workloads import MarginalWorkload, NoiseSum, Strategy, Term
from dovetail.workloads.cutoff import variance
from dovetail.workloads.fitting import fit_joint
from dovetail.workloads.noise_sums import outward

from .forecast import ForecastCount, product_variance
from .hypothesis import Hypothesis
from .region import Mask, Region

BaseKind: TypeAlias = Literal["histogram"] | int
Columns: TypeAlias = tuple[int, ...]

_INSIDE = 1.6


def base_strategy(shape: Sequence[int], kind: BaseKind, noise: IntegerNoise) -> Strategy:
    """Return how a base is measured: all tables of `kind` columns, or the whole histogram, with this noise.

    >>> from dovetail.noise import Geometric
    >>> base_strategy((2, 3, 4), 2, Geometric(1)).measured
    ((0, 1), (0, 2), (1, 2))
    """
    sizes = tuple(shape)
    if kind == "histogram" or kind == len(sizes):
        return Strategy.alike("plain", MarginalWorkload(sizes, (tuple(range(len(sizes))),)), noise)
    return Strategy.alike("joint", MarginalWorkload.of_ways(sizes, check.integer("base", kind, 1)), noise)


def measured_by(shape: Sequence[int], kind: BaseKind, noise: IntegerNoise, rows: int) -> Strategy:
    """Return how a base is measured where `rows` rows of one person count: its noise is stretched to them."""
    return base_strategy(shape, kind, stretched(noise, rows))


@dataclass(frozen=True, eq=False)
class CountEstimate:
    """An unbiased estimate of a count, its standard deviation, and the exact law of its error.

    The law is computed when it is first asked for: that takes far longer than the rest.
    """

    value: float
    deviation: float
    law: Callable[[], NoiseSum]

    @cached_property
    def error(self) -> NoiseSum:
        """The law of the error."""
        return self.law()

    def interval(self, level: Real = "0.95") -> tuple[float, float]:
        """Return an interval that holds the true count with probability `level` or more."""
        chance = 1 - check.error_bar_level("level", level, "Give the level, for example 0.95.")
        # The value is a sum of very many floats.
        low, high = outward(np.array(self.value), _reach(self.error, chance), lost=1e-9)
        return float(low), float(high)

    def clipped(self, fitted: float) -> int:
        """Return a fitted value moved to within 1.6 standard deviations of the unbiased one.

        That is inside the 95 % interval of every noise whose density falls from its centre as ours do.
        """
        half = _INSIDE * self.deviation
        return round(min(max(fitted, self.value - half), self.value + half))


@dataclass(frozen=True, eq=False)
class Base:
    """The released integers of a base, and the strategy by which they were measured."""

    strategy: Strategy
    released: Mapping[Columns, NDArray[Any]]

    def __post_init__(self) -> None:
        wanted = self.strategy.wanted
        shapes = {columns: wanted.shape(columns) for columns in self.strategy.measured}
        if {columns: np.shape(values) for columns, values in self.released.items()} != shapes:
            raise InvalidParameter("released", sorted(self.released), f"tables of the shapes {shapes}")

    @cached_property
    def tables(self) -> dict[Columns, Floats]:
        """The unbiased estimates of the measured tables, which agree with each other."""
        return self.strategy.estimate(self.released)

    def hypothesis(self) -> Hypothesis:
        """Return the joint that is fitted to the released integers; biased, and the best single answer."""
        noises = zip(self.strategy.measured, self.strategy.noises, strict=True)
        variances = {columns: variance(noise) for columns, noise in noises}
        joint = fit_joint(self.strategy.wanted.sizes, self.released, variances)
        total = float(joint.sum(dtype=np.float64))
        return Hypothesis(np.ascontiguousarray(joint, np.float64), total)

    def estimate(self, region: Region) -> CountEstimate | None:
        """Return what the tables say of a count without bias; None if no table has all of its columns."""
        around = [columns for columns in self.strategy.wanted.tables if set(region.axes) <= set(columns)]
        if not around:
            return None
        table = min(around, key=lambda columns: self.strategy.wanted.cells(columns))
        value = float(np.sum(self.tables[table], where=_mask(region, table)))

        def law() -> NoiseSum:
            # An answer of many cells keeps this for each of them, so it holds no mask over all.
            mask = _mask(region, table)
            if self.strategy.kind == "plain":
                noise = self.strategy.noises[self.strategy.measured.index(table)]
                return NoiseSum([Term(1.0, noise, int(mask.sum()))])
            return self.strategy.error(table, mask.astype(np.float64))

        return CountEstimate(value, self._deviation(region, law), law)

    def _deviation(self, region: Region, law: Callable[[], NoiseSum]) -> float:
        """Return the standard deviation of an estimate: in closed form where it can be had."""
        noises = set(self.strategy.noises)
        if len(noises) > 1 or any(len(axes) > 1 for axes, _ in region.factors):
            return law().std()
        counts = tuple(int(mask.sum()) for _, mask in region.factors)
        share = product_variance(self.strategy.wanted, ForecastCount(region.axes, counts))
        return sqrt(share) * self._noise_deviation

    @cached_property
    def _noise_deviation(self) -> float:
        return self.strategy.noises[0].std()


def _mask(region: Region, table: Columns) -> Mask:
    mask = region.mask(table)
    assert mask is not None
    return mask


@lru_cache(maxsize=256)
def _reach(error: NoiseSum, chance: Fraction) -> float:
    """Return the bar of an error; the cells of a histogram all have the same."""
    return error.two_sided(chance)
