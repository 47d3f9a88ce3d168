"""Queries about how the values of a column are distributed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from dovetail.check import choice, rational
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.noise import Geometric

from .checked_query import CheckedQuery
from .condition import Condition
from .lattice import Lattice
from .measures import Dispersion, QuantileValues, RankCounts
from .measures.quantile_values import Kind
from .partitions import Steps, axes_of, public_cells
from .queries import RANKED, OfColumn, condition, lattice, limited
from .schema import Table
from .times import TIMES, kind_of_time, marked, time_lattice

MOST_POINTS = 10**7
MOST_QUANTILES = 1000
_QS = "Give numbers from 0 (the smallest value) to 1 (the largest), such as 0.25, 0.5 and 0.75."


@dataclass(frozen=True, slots=True)
class Variance(OfColumn):
    """The variance of a column: each row is clamped to [low, high] and rounded to a multiple of step.

    It is that of these rows; `sample` divides by n - 1 instead of n. Rows without a number are left out.
    Bounds and a step that you leave out come from the schema.

    >>> Variance("age", low=0, high=100, step=1).sample
    False
    """

    sample: bool = False

    root: ClassVar[bool] = False

    def checked(self, table: Table) -> CheckedQuery:
        if not isinstance(self.sample, bool):
            raise InvalidParameter("sample", self.sample, "True (divide by n - 1) or False (by n)")
        values = lattice(self.column, self.low, self.high, self.step, table)
        _check_range(values)
        axes = limited(axes_of(self.by, self.keys, self.bins, table))
        return CheckedQuery(Dispersion(values, self.sample, self.root), axes, condition(self.where, table))


@dataclass(frozen=True, slots=True)
class Std(Variance):
    """The standard deviation of a column: the square root of its variance, with the same options.

    >>> Std("age", low=0, high=100, step=1).column
    'age'
    """

    root = True


@dataclass(frozen=True, slots=True)
class Ranges(OfColumn):
    """How many rows lie in every range of values of a column: one noisy tree answers them all.

    Each row is clamped to [low, high] and rounded to a multiple of step; rows without a value are left out.
    The column may hold numbers, days (a step counts days, 1 if left out) or times (a step counts seconds);
    days and times are rounded to steps from low on. Bounds and a step that you leave out come from the
    schema. The levels of the tree are chosen from the number of values and the price, where one is named;
    else they are those that are best at a worst-case epsilon of 1.

    >>> Ranges("age", low=0, high=100, step=1).column
    'age'
    """

    def checked(self, table: Table) -> CheckedQuery:
        steps, widths, axes = _tree(self, table)
        return CheckedQuery(RankCounts(steps, widths), axes, condition(self.where, table))


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of a column: 0.5 is the median, 0 the smallest value, 1 the largest.

    One row decides the smallest and the largest value; 0.01 and 0.99 are much more accurate. `kind` "disc" is
    the smallest value with at least q of the rows up to it; "cont" interpolates between two rows. Bounds and
    step are those of `Ranges`.

    >>> Quantiles("age", (0.25, 0.5, 0.75), low=0, high=100, step=1).qs
    (0.25, 0.5, 0.75)
    """

    column: str
    qs: Any  # one number or several; kept as a tuple
    low: Any = None
    high: Any = None
    step: Any = None
    where: str | Condition | None = None
    by: tuple[str, ...] = ()
    keys: Any = None
    bins: Any = None
    kind: Kind = "disc"

    def __post_init__(self) -> None:
        one = isinstance(self.qs, str) or not isinstance(self.qs, Iterable)
        object.__setattr__(self, "qs", (self.qs,) if one else tuple(self.qs))

    def checked(self, table: Table) -> CheckedQuery:
        choice("kind", self.kind, ("disc", "cont"))
        qs = tuple(rational("qs", q, _QS) for q in self.qs)
        if not 0 < len(qs) <= MOST_QUANTILES or len(set(qs)) < len(qs) or not all(0 <= q <= 1 for q in qs):
            allowed = f"1 to {MOST_QUANTILES} different numbers from 0 to 1"
            raise InvalidParameter("qs", self.qs, allowed, _QS)
        steps, widths, axes = _tree(self, table)
        if self.kind == "cont" and steps.field.kind == "date":
            raise InvalidQuery(
                f"{steps.field.name} holds days, and nothing lies between two of them.",
                "Ask for the discrete quantile: a day that a row has.",
            )
        if len(qs) > 1 and any(axis.field.name == "q" for axis in axes):
            raise InvalidQuery("A column called q would appear twice in the answer.", "Ask for one quantile.")
        measure = QuantileValues(steps, widths, qs, self.kind)
        return CheckedQuery(measure, axes, condition(self.where, table))


class _Quantile(OfColumn):
    __slots__ = ()

    q: ClassVar[Fraction]

    def checked(self, table: Table) -> CheckedQuery:
        return self._asked("disc").checked(table)

    def _asked(self, kind: Kind) -> Quantiles:
        bounds, cells = (self.low, self.high, self.step), (self.by, self.keys, self.bins)
        return Quantiles(self.column, (self.q,), *bounds, self.where, *cells, kind)


@dataclass(frozen=True, slots=True)
class Median(_Quantile):
    """The median of a column: the quantile 0.5, with the same options.

    >>> Median("age", low=0, high=100, step=1).kind
    'disc'
    """

    kind: Kind = "disc"

    q = Fraction(1, 2)

    def checked(self, table: Table) -> CheckedQuery:
        return self._asked(self.kind).checked(table)


@dataclass(frozen=True, slots=True)
class Minimum(_Quantile):
    """The smallest value of a column, which one row decides; the quantile 0.01 is much more accurate.

    >>> Minimum("age", low=0, high=100, step=1).column
    'age'
    """

    q = Fraction(0)


@dataclass(frozen=True, slots=True)
class Maximum(_Quantile):
    """The largest value of a column, which one row decides; the quantile 0.99 is much more accurate.

    >>> Maximum("age", low=0, high=100, step=1).column
    'age'
    """

    q = Fraction(1)


def _check_range(values: Lattice) -> None:
    from dovetail.workloads.dispersion import LARGEST_RANGE

    steps = values.high - values.low
    if steps > LARGEST_RANGE:
        raise InvalidParameter(
            "step",
            values.step,
            f"at least 2^-26 of the range from low to high, which has {steps} steps",
            "Use a larger step or narrower bounds.",
        )


def _tree(query: Ranges | Quantiles, table: Table) -> tuple[Steps, tuple[int, ...], tuple[Any, ...]]:
    """Return the points, the levels of the tree over them, and the axes of the answer."""
    values = _points(query.column, query.low, query.high, query.step, table)
    axes = limited(axes_of(query.by, query.keys, query.bins, table))
    steps, groups = Steps(values), public_cells(axes) if axes else 1
    if steps.cells * groups > MOST_POINTS:
        raise InvalidParameter(
            "step",
            values.step,
            f"large enough for at most {MOST_POINTS} values in all groups; there are {steps.cells * groups}",
            "Use a larger step, narrower bounds or fewer groups.",
        )
    return steps, _widths(steps.cells), axes


def _points(column: str, low: object, high: object, step: object, table: Table) -> Lattice:
    """Return the points of a column of numbers, days or times."""
    # What the bounds are tells what a column without a declared type holds.
    field = table.field(column, asked=next(filter(None, map(kind_of_time, (low, high))), "number"))
    if field.kind in TIMES:
        made = time_lattice(field, table.schema.get(field.name), low, high, step)
        return marked(made, table.labels(field))
    return lattice(column, low, high, step, table, RANKED)


@lru_cache(maxsize=100)
def _widths(cells: int) -> tuple[int, ...]:
    """Return the levels with the least mean variance of a range; at equal price, noise grows with levels."""
    from dovetail.workloads.tree_shapes import best_tree

    return best_tree(cells, lambda levels: Geometric(Fraction(1, levels)).variance()).tree.widths
