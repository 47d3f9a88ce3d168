"""Check what comes in, once, stating what is allowed, so that NaN fails too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from math import ceil, isfinite
from typing import TYPE_CHECKING, TypeAlias

from .errors import InvalidParameter

if TYPE_CHECKING:
    from .errors.remedies import Remedy

Real: TypeAlias = int | float | str | Decimal | Fraction

# Numbers are kept exactly, so a short text such as "1e99999999" could fill the memory.
MOST_DIGITS = 400
LARGEST_EXPONENT = 400
_LARGEST = 10**MOST_DIGITS
# Error bars of several numbers share the chance of a miss, and each part is a number again.
LEVEL_DIGITS = 200
_FINEST_LEVEL = 10**LEVEL_DIGITS

# Compiled when the first text is read: most programs give numbers.
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,9}))?"
_RATIO = r"[+-]?[0-9]+/[0-9]+"
_READABLE = f"a finite number of at most {MOST_DIGITS} digits"


def rational(name: str, value: object, fix: Remedy | str = "") -> Fraction:
    """Return `value` exactly; a float means the decimal that it prints as.

    >>> rational("epsilon", 0.1)
    Fraction(1, 10)
    >>> rational("epsilon", "1/3")
    Fraction(1, 3)
    """
    number: Fraction | None
    if type(value) is Fraction:
        number = value
    elif isinstance(value, int | Fraction) and not isinstance(value, bool):
        number = Fraction(value)
    else:
        number = _parsed(value)
    if number is None or not max(abs(number.numerator), number.denominator) <= _LARGEST:
        # A word was typed where a number belongs: Python's types would not help its author.
        allowed = (
            _READABLE if isinstance(value, str) else f"{_READABLE} (int, float, str, Decimal or Fraction)"
        )
        raise InvalidParameter(name, value, allowed, fix)
    return number


def _parsed(value: object) -> Fraction | None:
    if isinstance(value, Decimal):
        return _from_text(str(value)) if value.is_finite() else None
    if isinstance(value, str):
        return _from_text(value.strip(" "))
    # NumPy's scalars print as decimals too: float32(0.1) means 0.1.
    dtype = getattr(value, "dtype", None) if getattr(value, "ndim", None) == 0 else None
    kind = getattr(dtype, "kind", None)
    if isinstance(value, float) or kind == "f":
        return _from_text(str(value)) if isfinite(value) else None  # type: ignore[arg-type]
    if kind in ("i", "u"):
        return Fraction(int(value))  # type: ignore[call-overload]
    return None


def _from_text(text: str) -> Fraction | None:
    """Read a plain ASCII number; the caps are looked at before anything is built."""
    if len(text) > 2 * MOST_DIGITS + 10:
        return None
    if re.fullmatch(_RATIO, text):
        above, below = text.split("/")
        return Fraction(int(above), int(below)) if int(below) else None
    match = re.fullmatch(_NUMBER, text)
    if match is None or abs(int(match[1] or 0)) > LARGEST_EXPONENT:
        return None
    return Fraction(text)


def positive(name: str, value: object, fix: Remedy | str = "") -> Fraction:
    """Return `value` exactly if it is a finite number above 0."""
    number = rational(name, value, fix)
    if not number > 0:
        raise InvalidParameter(name, value, "a finite number above 0", fix)
    return number


def within(name: str, value: object, low: Real, high: Real, fix: Remedy | str = "") -> Fraction:
    """Return `value` exactly if it lies in [low, high]."""
    number = rational(name, value, fix)
    if not rational("low", low) <= number <= rational("high", high):
        raise InvalidParameter(name, value, f"a number from {low} to {high}", fix)
    return number


def probability(name: str, value: object, fix: Remedy | str = "") -> Fraction:
    """Return `value` exactly if it lies strictly between 0 and 1."""
    number = rational(name, value, fix)
    if not 0 < number < 1:
        if 1 < number < 100:
            fix = f"{float(number):g} % is written {float(number / 100):g}."
        raise InvalidParameter(name, value, "a number between 0 and 1, both excluded", fix)
    return number


def error_bar_level(name: str, value: object, fix: Remedy | str = "") -> Fraction:
    """Return the level of an error bar, of at most 200 digits and rounded up where it has more.

    >>> error_bar_level("level", "0.95"), error_bar_level("level", "1e-300") == Fraction(1, 10**200)
    (Fraction(19, 20), True)
    """
    level = probability(name, value, fix)
    if level.denominator > _FINEST_LEVEL:
        level = Fraction(ceil(level * _FINEST_LEVEL), _FINEST_LEVEL)
        if level == 1:
            raise InvalidParameter(name, value, f"below 1 by at least 1e-{LEVEL_DIGITS}", fix)
    return level


def integer(
    name: str, value: object, low: int | None = None, high: int | None = None, fix: Remedy | str = ""
) -> int:
    """Return `value` if it is a whole number in [low, high]; 3.0 counts as whole, True does not."""
    number = rational(name, value, fix)
    if low is not None and high is not None:
        allowed = f"a whole number from {low} to {high}"
    elif low is not None:
        allowed = f"a whole number of at least {low}"
    elif high is not None:
        allowed = f"a whole number of at most {high}"
    else:
        allowed = "a whole number"
    too_low = low is not None and number < low
    too_high = high is not None and number > high
    if number.denominator != 1 or too_low or too_high:
        raise InvalidParameter(name, value, allowed, fix)
    return int(number)


def choice(name: str, value: object, allowed: Iterable[str], fix: Remedy | str = "") -> str:
    """Return `value` if it is one of the allowed words."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        listed = ", ".join(repr(word) for word in words)
        raise InvalidParameter(name, value, f"one of {listed}", fix)
    return value
