"""Turn exact values into the numbers and labels of Python, Arrow and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction

from dovetail.query.field import Constant
from dovetail.query.times import number_of


def label(key: Constant | None) -> str:
    """Return a cell's key as it is shown."""
    return "(missing)" if key is None else str(key)


def plain_key(key: Constant | None) -> Constant | float | None:
    """Return a cell's key as a column holds it."""
    return float(key) if isinstance(key, Fraction) else key


def plain_number(value: Fraction) -> int | float:
    """Return a whole number as such, any other as a float."""
    return int(value) if value.denominator == 1 else float(value)


def plain_value(value: Fraction | date) -> int | float | date:
    """Return a day or a time as it is, a number as a plain one."""
    return value if isinstance(value, date) else plain_number(value)


def column_of(values: Sequence[Fraction | date]) -> list[int] | list[float] | list[date]:
    """Return the values of a column, which has one type: floats where not all are integers of 64 bits.

    >>> column_of([Fraction(1), Fraction(2)]), column_of([Fraction(1), Fraction(2**63)])
    ([1, 2], [1.0, 9.223372036854776e+18])
    """
    moments = [value for value in values if isinstance(value, date)]
    numbers = [value for value in values if not isinstance(value, date)]
    if moments:
        return moments
    if all(number.denominator == 1 and -(2**63) <= number < 2**63 for number in numbers):
        return [int(number) for number in numbers]
    return [float(number) for number in numbers]


def drawn_at(value: Fraction | date) -> float:
    """Return where a picture draws a value: a day or a time in days since the start of 1970.

    >>> drawn_at(date(1970, 1, 3)), drawn_at(Fraction(1, 2))
    (2.0, 0.5)
    """
    if isinstance(value, date):
        return float(number_of(value)) / (86400 if isinstance(value, datetime) else 1)
    return float(value)
