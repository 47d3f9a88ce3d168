"""The answer of `ranges`: counts of any range, the distribution function, any quantile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dovetail.check import Real, error_bar_level
from dovetail.errors import InvalidParameter
from dovetail.errors.values import probability_text
from dovetail.query.lattice import Lattice
from dovetail.query.measures import Bar
from dovetail.query.partitions import Steps, listed_axes
from dovetail.query.times import constant_of, place_of, value_at

from .answer import Answer
from .chart import Line
from .number_formats import label, plain_value

if TYPE_CHECKING:
    import pyarrow

    from dovetail.workloads.ranges import RangeEstimates


@dataclass(frozen=True, slots=True)
class RangeEstimate:
    """A noisy value and an interval that holds the true one with probability `level`."""

    value: Any
    low: Any
    high: Any
    level: Fraction

    def __str__(self) -> str:
        ends = (self.value, self.low, self.high)
        value, low, high = map(str, ends) if isinstance(self.value, date) else Line("", *ends).figures()
        return f"{value} ({low} to {high} at {probability_text(self.level)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RangeAnswer(Answer):
    """A noisy tree over the values of a column; asking it for more is post-processing and costs nothing.

    The rows of its table count how many rows have at most each value; their error bars hold for all values of
    a group at once. `group` names the cell of the columns of `by`, as a tuple of keys.
    """

    def range(
        self,
        a: Real | date | None = None,
        b: Real | date | None = None,
        *,
        group: Sequence[Any] = (),
        level: Real = 0.95,
    ) -> RangeEstimate:
        """Return how many rows have a <= value <= b, of values as they were clamped and rounded to steps."""
        at = error_bar_level("level", level, "Give a number such as 0.95.")
        ranges, last = self._tree(group), self._measure.steps.cells - 1
        first = 0 if a is None else min(max(ceil(self._place("a", a)), 0), last + 1)
        end = last if b is None else max(min(floor(self._place("b", b)), last), -1)
        if first > end:
            if a is not None and b is not None and self._place("a", a) > self._place("b", b):
                raise InvalidParameter("b", b, f"at least a, which is {a}", "Are they the wrong way round?")
            return RangeEstimate(0, 0, 0, at)
        low, high = ranges.interval(first, end, 1 - at)
        return RangeEstimate(ranges.count(first, end), max(low, 0), max(high, 0), at)

    def quantile(
        self,
        q: Real,
        *,
        group: Sequence[Any] = (),
        kind: Literal["disc", "cont"] = "disc",
        level: Real = 0.95,
    ) -> RangeEstimate:
        """Return a quantile of these rows; with probability `level` the true one lies within its interval.

        q = 0 is the smallest value and q = 1 the largest; 0.01 and 0.99 are much more accurate.
        """
        at = error_bar_level("level", level, "Give a number such as 0.95.")
        estimate = self._tree(group).quantile(q, 1 - at, kind)
        point, low, high = map(self._value, (estimate.point, estimate.low, estimate.high))
        return RangeEstimate(point, low, high, at)

    def cdf(self, *, group: Sequence[Any] = (), shares: bool = False, level: Real = 0.95) -> pyarrow.Table:
        """Return the rows up to each value with a band that holds for all values at once.

        With `shares`, return shares of all rows; the band then also allows for the error in their number.
        """
        import pyarrow

        at = error_bar_level("level", level, "Give a number such as 0.95.")
        ranges, steps = self._tree(group), self._measure.steps
        values, (low, high) = ranges.cumulative, ranges.band(1 - at)
        if shares:
            values, low, high = _shares(ranges.monotone, low, high)
        return pyarrow.table({steps.field.name: _points(steps), "value": values, "low": low, "high": high})

    def excerpt(self, most: int | None = None) -> list[tuple[tuple[Any, ...], Fraction, Bar]]:
        """Return the rows up to some values, evenly spaced in each group, where all would be too many."""
        if most is None or self.size <= most:
            return Answer.excerpt(self, most)
        groups = self._groups()[: max(most // 2, 1)]
        steps, rows = self._measure.steps, []
        last = steps.cells - 1
        shown = np.linspace(0, last, max(most // len(groups), 2)).round().astype(np.int64)
        for keys, cell in zip(groups, self.cells, strict=False):
            ranges = self._measure.ranges(cell, self.noises)
            low, high = ranges.band(1 - self.level)
            for place in np.unique(shown).tolist():
                value = Fraction(max(ranges.cumulative[place], 0.0 if self.clamp else -np.inf))
                bar = Bar(min(Fraction(int(low[place])), value), max(Fraction(int(high[place])), value))
                rows.append(((*keys, steps.label(place)), value, bar))
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the distribution function of every group with its band and return Matplotlib's axes."""
        from dovetail.errors.values import percent
        from dovetail.plots.bands import BandCurve, draw_bands

        from .display import axis_words, heading

        curves = []
        for keys in self._groups():
            table = self.cdf(group=keys, level=self.level)
            places = table.column(0).to_pylist()
            ends = (table.column(name).to_numpy() for name in ("value", "low", "high"))
            curves.append(BandCurve(", ".join(map(label, keys)), *ends))
        return draw_bands(
            places,
            curves,
            title=heading(self, self.query.axes),
            across=self._measure.steps.field.name,
            scale=axis_words(self, f"rows up to each value, band at {percent(self.level)}"),
            ax=ax,
        )

    @property
    def _measure(self) -> Any:
        return self.query.measure

    def _groups(self) -> list[tuple[Any, ...]]:
        return list(product(*(axis.labels for axis in listed_axes(self.query.axes))))

    def _tree(self, group: Sequence[Any]) -> RangeEstimates:
        """Return the tree of a group."""
        keys = self._groups()
        wanted = tuple(group) if not isinstance(group, str) else (group,)
        if wanted not in keys:
            known = ", ".join(map(str, keys[:4])) if self.query.axes else "left out: there are no groups"
            raise InvalidParameter("group", group, f"one of the groups, such as {known}")
        ranges: RangeEstimates = self._measure.ranges(self.cells[keys.index(wanted)], self.noises)
        return ranges

    def _place(self, name: str, value: Real | date) -> Fraction:
        lattice: Lattice = self._measure.steps.lattice
        return place_of(lattice, name, value)

    def _value(self, place: float) -> int | float | date:
        lattice: Lattice = self._measure.steps.lattice
        return plain_value(constant_of(lattice, value_at(lattice, place)))


def _points(steps: Steps) -> Any:
    """Return the points of a column as an array or a list of plain values."""
    lattice = steps.lattice
    if lattice.origin is not None:
        return list(steps.labels)
    numbers = np.arange(lattice.low, lattice.high + 1) * lattice.step.numerator
    return numbers if lattice.step.denominator == 1 else numbers / lattice.step.denominator


def _shares(counts: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Return counts up to each value and their band as shares of all rows, which lie in the band's end."""
    least, most = max(int(low[-1]), 1), max(int(high[-1]), 1)
    values = np.minimum(counts / max(float(counts[-1]), 1.0), 1.0)
    lows, highs = np.clip(low, 0, None) / most, np.minimum(np.clip(high, 0, None) / least, 1.0)
    return values, np.minimum(lows, values), np.maximum(highs, values)
