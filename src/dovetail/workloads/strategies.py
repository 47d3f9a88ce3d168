"""Three ways to measure marginal tables: what is released, what it costs, what it says, how it errs.

- plain: every table with noise of its own; tables disagree.
- joint: the same counts, combined by least squares, so that all tables agree. With measured tables B of
  variance s_B, the residual of C is the mean of what the B around it say, with weights 1/(s_B·cells of B per
  cell of C).
- residuals: each residual is released once, in whole numbers: n·table - sum along every axis. One row then
  moves every cell of it.

A row's move is the same for every row, so a price is an exact composition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import lcm, prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise

from .cutoff import LEAST_VARIANCE, Floats, variance
from .marginals import Columns, MarginalWorkload, centred, subsets, whole_residual
from .noise_sums import NoiseSum, Term

Kind: TypeAlias = Literal["plain", "joint", "residuals"]
KINDS: tuple[Kind, ...] = ("plain", "joint", "residuals")


@dataclass(frozen=True)
class Strategy:
    """A way to measure marginals with noises for each of its `measured` tables or residuals."""

    kind: Kind
    wanted: MarginalWorkload
    noises: tuple[IntegerNoise, ...]

    def __post_init__(self) -> None:
        check.choice("kind", self.kind, KINDS)
        if len(self.noises) != len(self.measured):
            raise InvalidParameter(
                "noises", len(self.noises), f"{len(self.measured)} noises, one for each table"
            )

    @classmethod
    def alike(cls, kind: Kind, wanted: MarginalWorkload, noise: IntegerNoise) -> Strategy:
        """Measure every table with the same noise (of residuals: stretched by the number of their cells)."""
        if kind != "residuals":
            return cls(kind, wanted, (noise,) * len(wanted.tables))
        wide = [noise.stretched(wanted.cells(part)) for part in wanted.residuals]
        return cls(kind, wanted, tuple(each for each in wide if isinstance(each, IntegerNoise)))

    @property
    def measured(self) -> tuple[Columns, ...]:
        """The sets of columns of what is released, in order."""
        return self.wanted.residuals if self.kind == "residuals" else self.wanted.tables

    @cached_property
    def _variances(self) -> dict[Columns, float]:
        """Of each measured table, or of each residual in units of its table's counts."""
        variances = {}
        for columns, noise in zip(self.measured, self.noises, strict=True):
            scale = self.wanted.cells(columns) if self.kind == "residuals" else 1
            # That of very narrow noise is below every float, and tables are weighed by its inverse.
            variances[columns] = max(variance(noise) / scale**2, LEAST_VARIANCE)
        return variances

    @cached_property
    def _sources(self) -> dict[Columns, list[tuple[Columns, float]]]:
        """For each residual, the measured tables that know of it, and their weights, which sum to 1."""
        sources = {}
        for part in self.wanted.residuals:
            if self.kind == "residuals":
                sources[part] = [(part, 1.0)]
                continue
            around = [table for table in self.measured if set(part) <= set(table)]
            raw = [self.wanted.share(table, part) / self._variances[table] for table in around]
            sources[part] = [(table, weight / sum(raw)) for table, weight in zip(around, raw, strict=True)]
        return sources

    def numbers(self, tables: Mapping[Columns, NDArray[Any]]) -> dict[Columns, NDArray[Any]]:
        """Return the whole numbers to which noise is added, from the true tables that are wanted."""
        if self.kind != "residuals":
            return {columns: np.asarray(tables[columns]) for columns in self.measured}
        residuals = {}
        for part in self.measured:
            source = next(table for table in self.wanted.tables if set(part) <= set(table))
            residuals[part] = whole_residual(self.wanted.margin(np.asarray(tables[source]), source, part))
        return residuals

    def estimate(self, released: Mapping[Columns, NDArray[Any]]) -> dict[Columns, Floats]:
        """Return unbiased estimates of the wanted tables from the released numbers."""
        if self.kind == "plain":
            return {columns: np.array(released[columns], np.float64) for columns in self.wanted.tables}
        residuals = self.estimated_residuals(released)
        return {columns: self.wanted.table(columns, residuals) for columns in self.wanted.tables}

    def exact_table(
        self, released: Mapping[Columns, NDArray[Any]], columns: Columns
    ) -> tuple[NDArray[Any], int]:
        """Return the unbiased estimate of any table within a wanted one: whole numbers over one denominator.

        Unless the strategy is plain, tables agree to the last digit on all that they share.
        """
        wanted = self.wanted
        if self.kind == "plain":
            around = self._around(columns)
            return wanted.margin(np.asarray(released[around], object), around, columns), 1
        parts = {part: self._exact_residual(released, part) for part in subsets(columns)}
        per_cell = {
            part: below * wanted.cells(wanted.others(columns, part)) for part, (_, below) in parts.items()
        }
        common = lcm(*per_cell.values())
        total = np.zeros(wanted.shape(columns), object)
        for part, (whole, _) in parts.items():
            # Of no columns it is one number, which NumPy would take out of its array.
            times = np.asarray(whole * (common // per_cell[part]), object)
            total = total + wanted.spread(times, part, columns)
        return total, common

    def _exact_residual(
        self, released: Mapping[Columns, NDArray[Any]], part: Columns
    ) -> tuple[NDArray[Any], int]:
        """Return the residual that least squares gives, as whole numbers over one denominator."""
        wanted = self.wanted
        if self.kind == "residuals":
            return whole_residual(np.asarray(released[part], object)), wanted.cells(part) ** 2
        around = [table for table in self.measured if set(part) <= set(table)]
        scale = Fraction(self._variances[around[0]])
        weights = [
            scale / Fraction(self._variances[table]) / wanted.cells(wanted.others(table, part))
            for table in around
        ]
        common = lcm(*(weight.denominator for weight in weights))
        total = np.zeros(wanted.shape(part), object)
        for table, weight in zip(around, weights, strict=True):
            margin = wanted.margin(np.asarray(released[table], object), table, part)
            total = total + np.asarray(margin, object) * int(weight * common)
        # Of no columns, NumPy takes the sum out of its array, and 64 bits would not hold its multiples.
        whole = whole_residual(np.asarray(total, object))
        return whole, wanted.cells(part) * int(sum(weights) * common)

    def cell_error(self, columns: Columns) -> NoiseSum:
        """Return the law of the error of a cell of any table within a wanted one."""
        if self.kind != "plain":
            return self.error(columns)
        around = self._around(columns)
        query = np.zeros(self.wanted.shape(around))
        query[tuple(0 if column in columns else slice(None) for column in around)] = 1.0
        return self.error(around, query)

    def _around(self, columns: Columns) -> Columns:
        """Return the smallest wanted table that holds some columns."""
        holding = (table for table in self.wanted.tables if set(columns) <= set(table))
        return min(holding, key=self.wanted.cells)

    def estimated_residuals(self, released: Mapping[Columns, NDArray[Any]]) -> dict[Columns, Floats]:
        """Return the residuals by least squares; any table within a wanted one is a sum of them."""
        if self.kind == "residuals":
            return {part: centred(released[part]) / self.wanted.cells(part) for part in self.measured}
        residuals: dict[Columns, Floats] = {}
        for part, sources in self._sources.items():
            total = np.zeros(self.wanted.shape(part))
            for table, weight in sources:
                total += weight * self.wanted.margin(np.asarray(released[table]), table, part)
            residuals[part] = centred(total)
        return residuals

    def variance(self, table: Columns) -> float:
        """Return the variance of every cell of a table's estimate, in closed form."""
        wanted = self.wanted
        if self.kind == "plain":
            return self._variances[table]
        total = 0.0
        for part in subsets(table):
            # What the sources of a residual know of it, added up: the inverse of its variance.
            if self.kind == "residuals":
                own = self._variances[part]
            else:
                around = (each for each in self.measured if set(part) <= set(each))
                own = 1 / sum(wanted.share(each, part) / self._variances[each] for each in around)
            freedom = prod(wanted.sizes[i] - 1 for i in part)
            total += own * freedom / wanted.cells(part) * wanted.share(table, part) ** 2
        return total

    def error(self, table: Columns, query: NDArray[Any] | None = None) -> NoiseSum:
        """Return the law of the error of the sum of query·cells of a table; without a query, of any cell."""
        weights = self._weights(table, query)
        return NoiseSum(
            Term(float(weight), noise, int(count))
            for columns, noise in zip(self.measured, self.noises, strict=True)
            for weight, count in zip(*_distinct(weights.get(columns)), strict=True)
        )

    def bars(self, chance: Real, *, simultaneous: bool = False) -> dict[Columns, float]:
        """Return for each wanted table a t that every cell's estimate is within, but for `chance`.

        `simultaneous`: all cells of all tables at once, each with its share of the chance.
        """
        allowed = check.probability("chance", chance, "Give the probability of a miss, for example 0.05.")
        each = allowed / sum(map(self.wanted.cells, self.wanted.tables)) if simultaneous else allowed
        return {table: self.error(table).two_sided(each) for table in self.wanted.tables}

    def _weights(self, table: Columns, query: NDArray[Any] | None) -> dict[Columns, Floats]:
        """Return the weight of every released number in the estimate of a query."""
        if query is None:
            query = np.zeros(self.wanted.shape(table))
            query.flat[0] = 1.0
        if np.shape(query) != self.wanted.shape(table):
            raise InvalidParameter("query", np.shape(query), f"an array of shape {self.wanted.shape(table)}")
        if self.kind == "plain":
            return {table: np.asarray(query, np.float64)}
        weights: dict[Columns, Floats] = {}
        for part in subsets(table):
            onto = centred(self.wanted.margin(np.asarray(query, np.float64), table, part))
            onto *= self.wanted.share(table, part)
            for source, weight in self._sources[part]:
                scale = 1 / self.wanted.cells(part) if self.kind == "residuals" else weight
                spread = self.wanted.spread(onto * scale, part, source)
                weights[source] = weights[source] + spread if source in weights else spread
        return {source: np.broadcast_to(each, self.wanted.shape(source)) for source, each in weights.items()}


def _distinct(weights: Floats | None) -> tuple[Floats, NDArray[np.int64]]:
    """Return the different weights other than 0 and how often each occurs; rounding counts as equal.

    Of nearly equal ones the largest stands for all.
    """
    if weights is None:
        return np.empty(0), np.empty(0, np.int64)
    flat = np.abs(weights).ravel()
    top = float(flat.max(initial=0.0))
    flat = np.sort(flat[flat > 1e-12 * top])[::-1]
    _, first, counts = np.unique(np.round(flat / (top or 1.0), 11), return_index=True, return_counts=True)
    return flat[first], counts


Pattern: TypeAlias = tuple[tuple[int, int, int], ...]
"""(which measured table or residual, how far a cell moves, how many cells move so far)"""


def row_pattern(strategy_kind: Kind, wanted: MarginalWorkload) -> Pattern:
    """Return what one row added or removed moves.

    >>> row_pattern("residuals", MarginalWorkload((3,), ((0,),)))
    ((0, 1, 1), (1, 2, 1), (1, 1, 2))
    """
    if strategy_kind != "residuals":
        return tuple((place, 1, 1) for place in range(len(wanted.tables)))
    patterns = []
    for place, part in enumerate(wanted.residuals):
        # At its own value a column counts n - 1, at each of the n - 1 others -1.
        for at in product((True, False), repeat=len(part)):
            sides = [(wanted.sizes[i] - 1, own) for i, own in zip(part, at, strict=True)]
            shift = prod(size for size, own in sides if own)
            patterns.append((place, shift, prod(size for size, own in sides if not own)))
    return _merged(patterns)


def replacement_patterns(strategy_kind: Kind, wanted: MarginalWorkload) -> tuple[Pattern, ...]:
    """Return what one row replaced by another, or by one that is not counted, can move; none covers all."""
    removed = row_pattern(strategy_kind, wanted)
    if strategy_kind != "residuals":
        # A row that differs in every column moves two cells of each table, and covers the rest.
        return (tuple((place, 1, 2 * count) for place, _, count in removed),)
    columns = tuple(i for i, size in enumerate(wanted.sizes) if size > 1)
    used = tuple(i for i in columns if any(i in table for table in wanted.tables))
    differing = (set(each) for each in subsets(used) if each)
    return (removed, *dict.fromkeys(_replaced(wanted, columns) for columns in differing))


def _replaced(wanted: MarginalWorkload, differing: set[int]) -> Pattern:
    """Return what a replaced row moves whose old and new values differ in these columns."""
    patterns = []
    for place, part in enumerate(wanted.residuals):
        options = []
        for i in part:
            n = wanted.sizes[i]
            if i in differing:  # the old value, the new one, any other: (old factor, new factor, how many)
                options.append([(n - 1, -1, 1), (-1, n - 1, 1), (-1, -1, n - 2)])
            else:
                options.append([(n - 1, n - 1, 1), (-1, -1, n - 1)])
        for choice in product(*options):
            shift = abs(prod(old for old, _, _ in choice) - prod(new for _, new, _ in choice))
            patterns.append((place, shift, prod(count for _, _, count in choice)))
    return _merged(patterns)


def _merged(found: list[tuple[int, int, int]]) -> Pattern:
    """Add up equal shifts; those of 0 cost nothing."""
    counts: Counter[tuple[int, int]] = Counter()
    for place, shift, count in found:
        if shift and count:
            counts[place, shift] += count
    return tuple((place, shift, count) for (place, shift), count in counts.items())
