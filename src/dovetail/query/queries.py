"""The queries, as an analyst writes them: frozen values that are checked when they are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm
from typing import Any, ClassVar, Protocol

from dovetail.check import positive, rational
from dovetail.errors import InvalidParameter, InvalidQuery

from .checked_query import CheckedQuery
from .column import Column, public_values
from .condition import Condition, checked
from .field import MOST_CELLS, Field, kind_of
from .lattice import Lattice
from .measures import Average, Distinct, Rows, Total, Weighted
from .neighbours import Persons
from .partitions import Keys, axes_of, public_cells
from .schema import Table
from .times import marked

# Beyond this, lattice points are no longer exact in the engines' double arithmetic.
LARGEST_LATTICE = 2**52
# What columns can be asked about, in sentences that refuse others.
SUMMED, RANKED = "only numbers can be summed", "only numbers, days and times can be ranked"


class Query(Protocol):
    """Anything that can be checked against a table's public columns."""

    def checked(self, table: Table) -> CheckedQuery:
        """Return the question in canonical form, or say what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows satisfy `where`.

    >>> Count(where="age >= 40")
    Count(where='age >= 40')
    """

    where: str | Condition | None = None

    def checked(self, table: Table) -> CheckedQuery:
        return row_counts((), condition(self.where, table))


@dataclass(frozen=True, slots=True, init=False)
class Histogram:
    """How many rows fall in each cell of one or more columns, whose cells are public.

    `keys` lists the values of a column and `bins` its edges: a list for a single column, a mapping by name
    for several. Without them the schema's values are used. keys="discover" finds the frequent values in the
    rows instead, and pays a delta for it.

    >>> Histogram("sex", "age", bins={"age": [0, 18, 65, 120]}).columns
    ('sex', 'age')
    """

    columns: tuple[str, ...]
    keys: Any
    bins: Any
    where: str | Condition | None

    def __init__(
        self, *columns: str, keys: Any = None, bins: Any = None, where: str | Condition | None = None
    ) -> None:
        for name, value in (("columns", columns), ("keys", keys), ("bins", bins), ("where", where)):
            object.__setattr__(self, name, value)

    def checked(self, table: Table) -> CheckedQuery:
        if not self.columns:
            raise InvalidQuery("A histogram needs at least one column.")
        axes = limited(axes_of(self.columns, self.keys, self.bins, table))
        return row_counts(axes, condition(self.where, table))


class CountDistinct(Histogram):
    """How many persons have a row that satisfies `where`, in all or in each cell of public columns.

    Needs a session that knows whose rows they are: Session(..., unit="person").

    >>> CountDistinct("sex", keys=["F", "M"]).columns
    ('sex',)
    """

    __slots__ = ()

    def checked(self, table: Table) -> CheckedQuery:
        axes = limited(axes_of(self.columns, self.keys, self.bins, table))
        return CheckedQuery(Distinct(), axes, condition(self.where, table))


@dataclass(frozen=True, slots=True)
class OfColumn:
    """What is said of a question about the values of one column, in all or in each cell of columns `by`."""

    column: str
    low: Any = None
    high: Any = None
    step: Any = None
    where: str | Condition | None = None
    by: tuple[str, ...] = ()
    keys: Any = None
    bins: Any = None


class _Summed(OfColumn):
    __slots__ = ()

    measure: ClassVar[type[Total] | type[Average]]

    def checked(self, table: Table) -> CheckedQuery:
        measure = self.measure(lattice(self.column, self.low, self.high, self.step, table))
        axes = limited(axes_of(self.by, self.keys, self.bins, table))
        return CheckedQuery(measure, axes, condition(self.where, table))


@dataclass(frozen=True, slots=True)
class Sum(_Summed):
    """The sum of a column: each row is clamped to [low, high], rounded to a multiple of step, then added.

    Rows without a number (NULL, NaN, infinite, text) add 0. Bounds and a step that you leave out come from
    the schema.

    >>> Sum("age", low=0, high=100, step=1).high
    100
    """

    measure = Total


@dataclass(frozen=True, slots=True)
class Mean(_Summed):
    """The mean of a column over the rows that have a number: one batch of a sum and a count.

    >>> Mean("age", low=0, high=100, step=1).column
    'age'
    """

    measure = Average


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum over rows of a public weight, |weight| <= 1, looked up by the row's value; others weigh 0.

    >>> Linear("sex", {"Female": 1, "Male": "-1/2"}, step="1/4").step
    '1/4'
    """

    column: str
    weights: Any
    step: Any
    where: str | Condition | None = None

    def checked(self, table: Table) -> CheckedQuery:
        if not isinstance(self.weights, Mapping) or not self.weights:
            raise InvalidParameter(
                "weights", self.weights, "a mapping from values of the column to weights from -1 to 1"
            )
        if len(self.weights) > MOST_CELLS:
            raise InvalidQuery(f"At most {MOST_CELLS} weights can be given.")
        step = positive("step", self.step, "Weights are rounded to multiples of it, for example 0.01.")
        field = table.field(self.column, asked=kind_of(next(iter(self.weights))))
        if field.kind in ("number", "timestamp"):
            raise InvalidQuery(
                f"The type of {field.name} is {field.kind}; weights need whole numbers, texts or days."
            )
        weights, rounded = {}, False
        for key, value in self.weights.items():
            weight = rational(f"weights[{key!r}]", value)
            if abs(weight) > 1:
                raise InvalidParameter(
                    f"weights[{key!r}]", value, "a number from -1 to 1", "Divide them all."
                )
            steps = weights[public_values(field, [key])[0]] = floor(weight / step + Fraction(1, 2))
            rounded |= steps * step != weight
        kept = sorted(((k, w) for k, w in weights.items() if w), key=lambda pair: (str(pair[0]), pair[1]))
        if not kept or max(abs(w) for _, w in kept) > LARGEST_LATTICE:
            raise InvalidParameter("step", self.step, "small enough for a weight that is not 0, above 2^-52")
        keys = Keys(field, tuple(key for key, _ in kept))
        measure = Weighted(keys, tuple(weight for _, weight in kept), step, rounded)
        return CheckedQuery(measure, (), condition(self.where, table))


def row_counts(
    axes: tuple[Any, ...], where: Condition | None = None, persons: Persons | None = None
) -> CheckedQuery:
    """Return the question of how many rows are in each cell."""
    return CheckedQuery(Rows(), axes, where, persons)


def condition(where: str | Condition | None, table: Table) -> Condition | None:
    """Return the condition that `where` spells or holds, checked against the table."""
    if where is None:
        return None
    if not isinstance(where, str):
        return checked(where, table)
    from .sql.where import read_where

    return read_where(where, table)


def limited(axes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse more cells than an answer can hold, before anything runs."""
    cells = public_cells(axes)
    if cells > MOST_CELLS:
        raise InvalidQuery(f"{cells} cells are more than {MOST_CELLS}.", "Use fewer keys or wider bins.")
    return axes


def declared_bounds(column: Column | None) -> dict[str, Any]:
    """Return what the schema says of the sums or ranks of a column; whole numbers and days are rounded to 1.

    >>> declared_bounds(Column("age", "integer", low=0, high=120))
    {'low': 0, 'high': 120, 'step': 1}
    """
    bounds = {name: getattr(column, name, None) for name in ("low", "high", "step")}
    if bounds["step"] is None and column is not None and column.type in ("integer", "date"):
        bounds["step"] = 1
    return bounds


def public_bounds(field: Field, table: Table) -> dict[str, Any]:
    """Return what is known of the sums of a column: declared, or following from how it is derived."""
    if labels := table.labels(field):
        # The edges of bins may be of any width; whatever else is derived is whole.
        edges = [Fraction(value) for value in labels] if field.kind == "number" else []  # type: ignore[arg-type]
        parts = lcm(*(edge.denominator for edge in edges))
        return {"low": min(labels), "high": max(labels), "step": Fraction(1, parts) if edges else 1}
    return declared_bounds(table.schema.get(field.name))


def lattice(column: str, low: object, high: object, step: object, table: Table, can: str = SUMMED) -> Lattice:
    """Check the bounds of a sum: public, apart, and whole multiples of the step."""
    field = table.field(column, asked="number")
    if field.kind not in ("integer", "number"):
        raise InvalidQuery(f"The type of {field.name} is {field.kind}; {can}.", "Name another column.")
    given = {"low": low, "high": high, "step": step}
    declared = public_bounds(field, table)
    low, high, step = (declared[name] if value is None else value for name, value in given.items())
    missing = [name for name, value in (("low", low), ("high", high), ("step", step)) if value is None]
    if missing:
        raise InvalidQuery(
            f"The bounds of {field.name} are not public: each row is clamped to [low, high] and rounded to a "
            "multiple of step.",
            f"Give {', '.join(missing)}, or declare them in the schema.",
        )
    unit = positive("step", step, "Values are rounded to multiples of it, for example 1 or 0.01.")
    points = []
    for name, value in (("low", low), ("high", high)):
        bound = rational(name, value, "Give the smallest and largest value a row may add.") / unit
        if bound.denominator != 1:
            below = floor(bound) * unit
            raise InvalidParameter(
                name, value, f"a multiple of step, which is {unit}", f"For example {below} or {below + unit}."
            )
        if abs(bound) > LARGEST_LATTICE:
            raise InvalidParameter(name, value, "at most 2^52 steps away from 0", "Use a wider step.")
        points.append(int(bound))
    if not points[0] < points[1]:
        raise InvalidParameter(
            "high", high, f"above low, which is {low}", "Are the bounds the wrong way round?"
        )
    return marked(Lattice(field, points[0], points[1], unit), table.labels(field))
