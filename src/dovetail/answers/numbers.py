"""Turn exact values into the numbers and labels of Python, Arrow and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dovetail.query.field import Constant


def label(key: Constant | None) -> str:
    """Return a cell's key as it is shown."""
    return "(missing)" if key is None else str(key)


def plain_key(key: Constant | None) -> Constant | float | None:
    """Return a cell's key as a column holds it."""
    return float(key) if isinstance(key, Fraction) else key


def plain_number(value: Fraction) -> int | float:
    """Return a whole number as such, any other as a float."""
    return int(value) if value.denominator == 1 else float(value)


def column_of(numbers: Sequence[Fraction]) -> list[int] | list[float]:
    """Return the numbers of a column, which has one type: floats where not all are integers of 64 bits.

    >>> column_of([Fraction(1), Fraction(2)]), column_of([Fraction(1), Fraction(2**63)])
    ([1, 2], [1.0, 9.223372036854776e+18])
    """
    if all(number.denominator == 1 and -(2**63) <= number < 2**63 for number in numbers):
        return [int(number) for number in numbers]
    return [float(number) for number in numbers]
