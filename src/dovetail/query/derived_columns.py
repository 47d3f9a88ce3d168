"""Columns that are made of others: parts of dates, bins of equal width, cases, and values of a public lookup.

Each is a total function of one row. It never fails, whatever the row holds, it looks at no other row, and all
its values are known before any row is read. A row that gets none of them has no value: where cells are
counted it falls into `other`, and `IS NULL` is true of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import floor
from typing import Any

from .condition import Condition, condition_size
from .field import OTHER, Constant, Field, written

# From low to high, where no column has to say so.
PARTS: dict[str, tuple[int, int] | None] = {
    "year": None,
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (1, 7),
    "hour": (0, 23),
}
# How many hours each lasts at least.
_HOURS = {"year": 8760, "quarter": 2160, "month": 672, "week": 168, "day": 24, "hour": 1}
STARTS = tuple(_HOURS)


@dataclass(frozen=True, slots=True)
class DatePart:
    """One part of a day or a time: the month from 1 to 12, the weekday from 1 (Monday) to 7.

    >>> DatePart(Field("seen", "date"), "quarter", 1, 4).labels()
    (1, 2, 3, 4)
    """

    field: Field
    part: str
    low: int
    high: int

    kind = "integer"
    other = OTHER
    size = 4

    @property
    def title(self) -> str:
        return f"{self.field.name}.{self.part}"

    def labels(self) -> tuple[int, ...]:
        return tuple(range(self.low, self.high + 1))

    def span(self) -> tuple[datetime, datetime]:
        """Return the first and the last moment between which a day or a time has one of the labels."""
        if self.part != "year":
            return datetime.min, datetime.max
        return datetime(self.low, 1, 1), datetime.max.replace(year=self.high)

    def to_dict(self) -> dict[str, Any]:
        return {"part": self.part, "of": self.field.written()}


@dataclass(frozen=True, slots=True)
class DateStart:
    """When the year, quarter, month, week, day or hour of a day or a time begins.

    >>> DateStart(Field("seen", "date"), "quarter", date(2024, 2, 9), date(2024, 8, 1)).labels()[1]
    datetime.date(2024, 4, 1)
    """

    field: Field
    unit: str
    low: Any
    high: Any

    other = OTHER
    size = 4

    @property
    def kind(self) -> str:
        return "timestamp" if self.unit == "hour" else "date"

    @property
    def title(self) -> str:
        return f"{self.field.name}.{self.unit}_start"

    def labels(self) -> tuple[Constant, ...]:
        start, last = started(self.unit, self.low), started(self.unit, self.high)
        starts = [start]
        while start < last:
            start = _next(self.unit, start)
            starts.append(start)
        return tuple(starts) if self.unit == "hour" else tuple(each.date() for each in starts)

    def span(self) -> tuple[datetime, datetime]:
        """Return the first and the last moment that have one of the labels."""
        last = started(self.unit, self.high)
        try:
            return started(self.unit, self.low), _next(self.unit, last) - timedelta(microseconds=1)
        except OverflowError:
            return started(self.unit, self.low), datetime.max

    def count(self) -> int:
        """Return at most how many labels there are, without listing them."""
        hours: int = (self.high - self.low).days * 24 + 24
        return hours // _HOURS[self.unit] + 2

    def to_dict(self) -> dict[str, Any]:
        return {"start": self.unit, "of": self.field.written()}


def started(unit: str, moment: date) -> datetime:
    """Return the start of the year, quarter, month, week, day or hour that a moment lies in.

    >>> started("week", date(2024, 2, 29))
    datetime.datetime(2024, 2, 26, 0, 0)
    """
    hour = moment.hour if isinstance(moment, datetime) and unit == "hour" else 0
    day = datetime(moment.year, moment.month, moment.day, hour)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "year":
        return day.replace(month=1, day=1)
    if unit == "quarter":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return day.replace(day=1) if unit == "month" else day


def _next(unit: str, start: datetime) -> datetime:
    """Return the start that follows: that of any moment well inside of the next unit."""
    return started(unit, start + timedelta(hours=_HOURS[unit] * 5 // 4))


@dataclass(frozen=True, slots=True)
class Binned:
    """The lower edge of the bin that a number lies in: multiples of `width`, from `first` times it on.

    >>> Binned(Field("age", "integer"), Fraction(10), 0, 3).labels()
    (0, 10, 20)
    """

    field: Field
    width: Fraction
    first: int
    count: int

    other = OTHER
    size = 8

    @property
    def kind(self) -> str:
        whole = self.field.kind == "integer" and self.width.denominator == 1
        return "integer" if whole else "number"

    @property
    def title(self) -> str:
        return f"FLOOR({self.field.name} / {self.width}) * {self.width}"

    def edges(self) -> tuple[Constant, ...]:
        """Return the edges, the upper one of the last bin included."""
        whole = self.kind == "integer"
        edges = ((self.first + number) * self.width for number in range(self.count + 1))
        return tuple(int(edge) if whole else edge for edge in edges)

    def labels(self) -> tuple[Constant, ...]:
        return self.edges()[:-1]

    def to_dict(self) -> dict[str, Any]:
        return {"width": str(self.width), "first": self.first, "bins": self.count, "of": self.field.written()}


def binned(field: Field, width: Fraction, low: Any, high: Any) -> Binned:
    """Return the bins that hold every value from low to high."""
    first, last = floor(Fraction(low) / width), floor(Fraction(high) / width)
    return Binned(field, width, first, last - first + 1)


@dataclass(frozen=True, slots=True)
class Cases:
    """The constant of the first condition that is true; `otherwise` that of rows for which none is.

    >>> Cases("text", (), "all").labels()
    ('all',)
    """

    kind: str
    branches: tuple[tuple[Condition, Constant], ...]
    otherwise: Constant | None = None

    title = "case"

    @property
    def other(self) -> str | None:
        return OTHER if self.otherwise is None else None

    @property
    def size(self) -> int:
        return sum(1 + condition_size(condition) for condition, _ in self.branches)

    def labels(self) -> tuple[Constant, ...]:
        ends = () if self.otherwise is None else (self.otherwise,)
        return tuple(dict.fromkeys((*(value for _, value in self.branches), *ends)))

    def to_dict(self) -> dict[str, Any]:
        branches = [[condition.to_dict(), written(value)] for condition, value in self.branches]
        return {"case": branches, "otherwise": written(self.otherwise)}
