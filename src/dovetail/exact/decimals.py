"""Write exact numbers as the decimals that people and other programs read; ratios where there is none."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, log10


def exact_number(value: Fraction) -> Decimal | Fraction:
    """Return the number as a decimal, never rounded, or as it is where no finite decimal equals it.

    >>> exact_number(Fraction(29201, 50000)), exact_number(Fraction(1, 3))
    (Decimal('0.58402'), Fraction(1, 3))
    """
    if value.denominator == 1:
        return Decimal(value.numerator)
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        return value
    whole = value.numerator * 10**places // value.denominator
    digits = tuple(map(int, str(abs(whole))))
    return Decimal((int(whole < 0), digits, -places))


def decimal_text(value: Fraction) -> str:
    """Return the exact decimal without an exponent, or a ratio where no finite decimal equals it.

    >>> decimal_text(Fraction(54483, 250000)), decimal_text(Fraction(1, 10**8)), decimal_text(Fraction(-4, 3))
    ('0.217932', '0.00000001', '-4/3')
    """
    number = exact_number(value)
    return f"{number:f}" if isinstance(number, Decimal) else str(number)


def units_text(units: int, places: int) -> str:
    """Return so many units of 10^-places, from 0 up, as `decimal_text` does, several times as fast.

    >>> units_text(584020000, 9), units_text(0, 9), units_text(10**18, 18)
    ('0.58402', '0', '1')
    """
    digits = str(units).rjust(places + 1, "0")
    fraction = digits[-places:].rstrip("0")
    return f"{digits[:-places]}.{fraction}" if fraction else digits[:-places]


def short(value: Fraction | float, digits: int, *, up: bool = False) -> Fraction:
    """Return a positive number rounded down, or up, to so many significant digits.

    >>> short(Fraction(2, 3), 3), short(Fraction(2, 3), 3, up=True)
    (Fraction(333, 500), Fraction(667, 1000))
    """
    power = floor(log10(value))
    # Just below a power of ten the logarithm rounds up to it.
    power -= Fraction(10) ** power > value
    unit = Fraction(10) ** (power - digits + 1)
    return (ceil if up else floor)(Fraction(value) / unit) * unit


def finite(value: float) -> float | None:
    """Return a figure for JSON, which has no infinity: null means without bound.

    >>> finite(0.5), finite(float("inf"))
    (0.5, None)
    """
    return None if value == float("inf") else value
