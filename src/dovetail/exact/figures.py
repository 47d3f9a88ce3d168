"""Write numbers for reading: a few digits, and where it matters rounded to the safe side."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, floor, isinf

from .decimals import exact_number

_TINY, _TINY_DIGITS = 1e-4, 3
_LAST_DIGITS = Fraction(1, 10**12)
# So small a share of an interval is not missed.
_NOTHING = Fraction(1, 10**9)


def figure(value: Fraction | float, digits: int = 6) -> str:
    """Return a number for reading: whole ones in full, others with so many digits.

    >>> figure(Fraction(12345)), figure(Fraction(3, 2)), figure(1234567.8), figure(float("inf"))
    ('12,345', '1.5', '1,234,568', 'infinite')
    >>> figure(0.32812, 4), figure(12345.6, 4), figure(3e-7)
    ('0.3281', '12,346', '3e-07')
    """
    if isinstance(value, float) and isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == int(value):
        return f"{int(value):,}"
    near = float(value)
    if abs(near) >= 10 ** (digits - 1):
        return f"{near:,.0f}"
    return f"{near:.{_TINY_DIGITS}g}" if abs(near) < _TINY else f"{near:,.{digits}g}"


def exact_figure(value: Fraction) -> str:
    """Return a public number for reading, with all of its digits.

    >>> exact_figure(Fraction("123456.78")), exact_figure(Fraction(1, 3)), exact_figure(Fraction(-5))
    ('123,456.78', '1/3', '-5')
    """
    number = exact_number(value)
    return f"{number:,f}" if isinstance(number, Decimal) else str(number)


def figure_up(value: Fraction | float, digits: int = 6) -> str:
    """Return the half-width of an error bar for reading, as `figure` does, but rounded up.

    What a float's last digits add is left out.

    >>> figure_up(Fraction(4, 3)), figure_up(12344.1, 4), figure_up(3.0000000000000004)
    ('1.33334', '12,345', '3')
    """
    return figure_end(value, digits, up=True, width=value)


def figure_end(value: Fraction | float, digits: int = 6, *, up: bool, width: Fraction | float) -> str:
    """Return an end of an interval for reading, as `figure` does, but rounded outward: `up` or down.

    What a float's last digits add is left out, unless that is much for an interval of this `width`.

    >>> figure_end(Fraction(4, 3), up=True, width=1), figure_end(Fraction(4, 3), up=False, width=1)
    ('1.33334', '1.33333')
    >>> figure_end(-12344.9, 4, up=True, width=9), figure_end(2.9999999999999996, up=False, width=1)
    ('-12,344', '3')
    """
    if isinstance(value, float) and isinf(value):
        return figure(value)
    if value == int(value):
        return figure(value, digits)
    exact = Fraction(value)
    added = abs(exact) * _LAST_DIGITS
    if not isinf(width):
        added = min(added, Fraction(width) * _NOTHING)
    exact += -added if up else added
    if abs(exact) >= 10 ** (digits - 1):
        return figure(Fraction(ceil(exact) if up else floor(exact)), digits)
    context = Context(
        prec=digits if abs(exact) >= _TINY else _TINY_DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR
    )
    return figure(Fraction(context.divide(Decimal(exact.numerator), Decimal(exact.denominator))), digits)


def upper_figure(bound: float, digits: int = 4) -> str:
    """Return an upper bound in a few digits, rounded up; what a float's last digits add is left out.

    >>> upper_figure(0.32811), upper_figure(1.0000000000000002), upper_figure(float("inf"))
    ('0.3282', '1', 'inf')
    """
    return "inf" if isinf(bound) else rounded(Fraction(bound) * (1 - _LAST_DIGITS), digits=digits)


def rounded(value: Fraction, *, down: bool = False, digits: int = 6) -> str:
    """Return so many significant digits, rounded up (what is spent) or down (what remains).

    >>> rounded(Fraction(1, 3)), rounded(Fraction(1, 3), down=True)
    ('0.333334', '0.333333')
    """
    context = Context(prec=digits, rounding=ROUND_FLOOR if down else ROUND_CEILING)
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return f"{number:f}" if number == 0 or -5 < number.adjusted() < 9 else f"{number:e}"
