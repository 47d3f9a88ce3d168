"""Rates and breaks: read, checked and brought to one form, for both piecewise noises."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Set
from fractions import Fraction

from dovetail import check
from dovetail.errors import InvalidParameter
from dovetail.errors.values import exact_text

MOST_PIECES = 64
_SMALLEST = Fraction(1, 10**100)
_LARGEST = Fraction(10**100)
_SIZE = "a number from 1e-100 to 1e100"


def read(rates: object, breaks: object, *, whole: bool) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return rates and breaks as exact rationals; neighbouring pieces of one rate become one piece."""
    slopes = _numbers("rates", rates, "Give one rate for each piece, for example (0.2, 1).")
    points = _numbers("breaks", breaks, "Give the points where the rate changes, for example (5,).")
    if not 1 <= len(slopes) <= MOST_PIECES:
        raise InvalidParameter("rates", rates, f"1 to {MOST_PIECES} numbers", "Give one rate for each piece.")
    if len(points) != len(slopes) - 1:
        raise InvalidParameter(
            "breaks",
            breaks,
            f"{len(slopes) - 1} numbers for {len(slopes)} rates",
            "One lies between two pieces.",
        )
    if any(low >= high for low, high in itertools.pairwise(points)):
        raise InvalidParameter("breaks", breaks, "strictly increasing", "Sort them and drop repeats.")
    if whole:
        for point in points:
            if point.denominator != 1:
                raise InvalidParameter(
                    "breaks", breaks, "whole numbers, for noise on the integers", "Round the break-point."
                )
    return _merged(slopes, points)


def _numbers(name: str, values: object, fix: str) -> tuple[Fraction, ...]:
    if isinstance(values, str | bytes | Set | Mapping) or not isinstance(values, Iterable):
        raise InvalidParameter(name, values, "a sequence of numbers", fix)
    listed: list[Fraction] = []
    for value in values:
        if len(listed) > MOST_PIECES:
            raise InvalidParameter(name, values, f"at most {MOST_PIECES} numbers", fix)
        listed.append(check.positive(name, value, fix))
        if not _SMALLEST <= listed[-1] <= _LARGEST:
            raise InvalidParameter(name, value, _SIZE, fix)
    return tuple(listed)


def _merged(
    rates: tuple[Fraction, ...], breaks: tuple[Fraction, ...]
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    kept_rates, kept_breaks = [rates[0]], []
    for rate, point in zip(rates[1:], breaks, strict=True):
        if rate != kept_rates[-1]:
            kept_rates.append(rate)
            kept_breaks.append(point)
    return tuple(kept_rates), tuple(kept_breaks)


def literal(value: Fraction) -> str:
    """Return a rational so that it can be pasted back: 5, '0.2' or '1/3'."""
    if value.denominator == 1:
        return str(value.numerator)
    return repr(exact_text(value))


def literals(values: tuple[Fraction, ...]) -> str:
    """Return a tuple of rationals as Python would write it."""
    inner = ", ".join(literal(value) for value in values)
    return f"({inner},)" if len(values) == 1 else f"({inner})"
