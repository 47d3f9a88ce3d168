"""Turn exact values into the numbers and labels of Python, Arrow and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from dovetail.exact.decimals import decimal_text
from dovetail.noise import IntegerNoise
from dovetail.query.field import Constant, written
from dovetail.query.measures import Bar, Measure
from dovetail.query.partitions import Axis
from dovetail.query.times import number_of

ENDS = ("value", "low", "high")
"""What is told of every noisy number."""


def label(key: Constant | None) -> str:
    """Return a cell's key as it is shown."""
    if key is None:
        return "(missing)"
    return decimal_text(key) if isinstance(key, Fraction) else str(key)


def plain_key(key: Constant | None) -> Constant | float | None:
    """Return a cell's key as a column holds it."""
    return float(key) if isinstance(key, Fraction) else key


def written_key(key: Constant | None) -> bool | int | str | None:
    """Return a cell's key as JSON and CSV hold it; a number that is not whole as a decimal."""
    return decimal_text(key) if isinstance(key, Fraction) else written(key)


def column_keys(axis: Axis, keys: Iterable[Constant | None]) -> list[Any]:
    """Return the keys of cells on an axis as a column holds them, which has one type."""
    mixed = axis.other is not None and axis.field.kind != "text"
    return [label(key) if mixed else plain_key(key) for key in keys]


def counted(number: int, word: str) -> str:
    """Return a number of things.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {word}{'s' * (number != 1)}"


def told(measure: Measure, value: Fraction, bar: Bar) -> dict[str, str]:
    """Return a value of a measure and its interval as texts: decimals, or days and times."""
    numbers = (value, bar.low, bar.high)
    moments = [each.isoformat() for each in map(measure.constant, numbers) if isinstance(each, date)]
    if moments:
        return dict(zip(ENDS, moments, strict=True))
    return written_numbers(value, bar, exact=measure.exact_numbers)


def told_if_known(measure: Measure | None, value: Fraction | None, bar: Bar | None) -> dict[str, str | None]:
    """Return a number that may have no value or no interval as texts; without a measure, it was computed."""
    if value is None:
        return dict.fromkeys(ENDS)
    if bar is None:
        return {**dict.fromkeys(ENDS), "value": _short(value)}
    if measure is None:
        return {**written_numbers(value, bar, exact=False)}
    return {**told(measure, value, bar)}


def written_numbers(value: Fraction, bar: Bar, *, exact: bool) -> dict[str, str]:
    """Return a value and its interval as decimals.

    A mean or a quantile is computed in floating point: the shortest decimal of that float stands for it,
    and the interval is never narrower than computed.

    >>> written_numbers(Fraction(5), Bar(Fraction(9, 2), Fraction(11, 2)), exact=True)
    {'value': '5', 'low': '4.5', 'high': '5.5'}
    >>> written_numbers(Fraction(1, 3), Bar(Fraction(0), Fraction(2, 3)), exact=False)
    {'value': '0.3333333333333333', 'low': '0', 'high': '0.6666666666666667'}
    """
    if exact:
        texts = tuple(map(decimal_text, (value, bar.low, bar.high)))
    else:
        texts = _short(value), _short(bar.low, -inf), _short(bar.high, inf)
    return dict(zip(ENDS, texts, strict=True))


def _short(value: Fraction, towards: float | None = None) -> str:
    """Return the shortest decimal of a float at the value, or on one side of it."""
    near = float(value)
    while towards is not None and (Fraction(repr(near)) - value) * (1 if towards > 0 else -1) < 0:
        near = nextafter(near, towards)
    return decimal_text(Fraction(repr(near)))


def noise_in_decimals(noise: IntegerNoise) -> dict[str, Any]:
    """Return a noise as JSON: what a ledger keeps, with decimals for ratios wherever they are exact."""
    return {name: _in_decimals(value) for name, value in noise.to_dict().items()}


def _in_decimals(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_in_decimals, value))
    return decimal_text(Fraction(value)) if isinstance(value, str) and "/" in value else value


def plain_number(value: Fraction) -> int | float:
    """Return a whole number as such, any other as a float."""
    return int(value) if value.denominator == 1 else float(value)


def plain_value(value: Fraction | date) -> int | float | date:
    """Return a day or a time as it is, a number as a plain one."""
    return value if isinstance(value, date) else plain_number(value)


def column_of(values: Sequence[Fraction | date | None]) -> list[Any]:
    """Return the values of a column, which has one type: floats where not all are integers of 64 bits.

    None stays what it is.

    >>> column_of([Fraction(1), Fraction(2)]), column_of([Fraction(1), Fraction(2**63)])
    ([1, 2], [1.0, 9.223372036854776e+18])
    """
    if any(isinstance(value, date) for value in values):
        return list(values)
    numbers = [value for value in values if isinstance(value, Fraction | int)]
    whole = all(number.denominator == 1 and -(2**63) <= number < 2**63 for number in numbers)
    made: Any = int if whole else float
    return [None if value is None else made(value) for value in values]


def drawn_at(value: Fraction | date) -> float:
    """Return where a picture draws a value: a day or a time in days since the start of 1970.

    >>> drawn_at(date(1970, 1, 3)), drawn_at(Fraction(1, 2))
    (2.0, 0.5)
    """
    if isinstance(value, date):
        return float(number_of(value)) / (86400 if isinstance(value, datetime) else 1)
    return float(value)
