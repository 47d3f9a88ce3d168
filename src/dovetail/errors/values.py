"""Show values: exactly, and within a line."""

from __future__ import annotations

from fractions import Fraction

_LONGEST_SHOWN = 80
_LARGEST = 10**300


def shown(value: object) -> str:
    """Return `repr(value)`, cut where a hostile value would fill the screen."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"an integer of about {value.bit_length() * 30103 // 100000} digits"
    try:
        text = exact_text(value, exponent=True) if isinstance(value, Fraction) else repr(value)
    except ValueError:  # Python refuses to write out integers of thousands of digits
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def probability_text(chance: Fraction) -> str:
    """Return a probability in a few digits; one that is neither 0 nor 1 is not rounded to them.

    >>> probability_text(Fraction(19, 20)), probability_text(1 - Fraction(1, 10**30))
    ('0.95', 'more than 0.999999')
    """
    return _few_digits(chance, 1)


def percent(chance: Fraction) -> str:
    """Return a probability in percent, as `probability_text` does.

    >>> percent(Fraction(19, 20)), percent(1 - Fraction(1, 10**30)), percent(Fraction(1, 10**400))
    ('95 %', 'more than 99.9999 %', 'less than 1e-300 %')
    """
    return f"{_few_digits(chance, 100)} %"


def _few_digits(chance: Fraction, whole: int) -> str:
    text = f"{float(chance * whole):.6g}"
    if text == str(whole) and chance < 1:
        return f"more than {0.999999 * whole:.6g}"
    return "less than 1e-300" if text == "0" and chance > 0 else text


def exact_text(value: Fraction, *, exponent: bool = False) -> str:
    """Return an exact number as a person writes it: a short decimal where that is exact, else a ratio.

    Very small and large decimals need an exponent, which not every reader of them takes.

    >>> exact_text(Fraction(84, 25)), exact_text(Fraction(1, 3)), exact_text(Fraction(7))
    ('3.36', '1/3', '7')
    >>> exact_text(Fraction(1, 10**8)), exact_text(Fraction(1, 10**8), exponent=True)
    ('1/100000000', '1e-08')
    """
    short = repr(float(value)) if abs(value) < _LARGEST else "e"
    if ("e" in short and not exponent) or short == "e" or Fraction(short) != value:
        return str(value)
    return short.removesuffix(".0")
