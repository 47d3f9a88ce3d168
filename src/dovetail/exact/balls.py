"""Rigorous real numbers: Arb balls, and floats that are certain to lie on the side they claim."""

from __future__ import annotations

# What `threading` calls RLock (see forks.py).
from _thread import RLock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import inf, nextafter

from flint import arb, ctx, fmpq

from .forks import ForkGuard

_FIRST_BITS = 128
_LAST_BITS = 1 << 16
_FLOAT_BITS = 64
# Whatever is smaller than 2 to this power is 0 as a float.
_UNDERFLOW = -1100

_guard = ForkGuard(RLock)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with `bits` bits inside; flint's precision is shared by all threads, so others wait.

    >>> with precision(80):
    ...     print(ball(Fraction(1, 3)).rel_accuracy_bits() >= 78)
    True
    """
    with _guard.lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def ball(value: Fraction | int) -> arb:
    """Return a rational number as a ball at the working precision."""
    if isinstance(value, int):
        return arb(value)
    return arb(fmpq(value.numerator, value.denominator))


def refined(formula: Callable[[], arb], bits: int = _FLOAT_BITS, negligible: int | None = None) -> arb:
    """Evaluate `formula` at growing precision until its ball has `bits` relative bits.

    The result is exact enough for its caller, whatever cancels inside the formula. A ball that lies within
    2 to the power `negligible` of 0 is exact enough, too.
    """
    working = max(_FIRST_BITS, bits + 32)
    while True:
        with precision(working):
            value = formula()
            small = negligible is not None and bool(abs(value) < arb(2) ** negligible)
        if small or value.rel_accuracy_bits() >= bits or (not value.is_finite() and not value.is_nan()):
            return value
        if working >= max(_LAST_BITS, 4 * bits):
            raise ArithmeticError("a formula did not converge; please report the parameters that led here")
        working *= 2


def nearest(formula: Callable[[], arb]) -> float:
    """Return the float nearest to the value, within one unit in the last place.

    >>> nearest(lambda: ball(1).exp())
    2.718281828459045
    """
    value = refined(formula, negligible=_UNDERFLOW)
    return float(value.mid()) if value.rel_accuracy_bits() >= _FLOAT_BITS or not value.is_finite() else 0.0


def upper(formula: Callable[[], arb]) -> float:
    """Return a float that is certainly not below the value, and at most two units above it.

    >>> upper(lambda: ball(Fraction(1, 10)))
    0.1
    """
    return above(refined(formula, negligible=_UNDERFLOW))


def lower(formula: Callable[[], arb]) -> float:
    """Return a float that is certainly not above the value, and at most two units below it.

    >>> lower(lambda: ball(Fraction(1, 10)))
    0.09999999999999999
    """
    return 0.0 - above(refined(lambda: -formula(), negligible=_UNDERFLOW))


def float_up(value: Fraction | float) -> float:
    """Return the least float that is not below the value.

    >>> float_up(Fraction(1, 10)), float_up(Fraction(3, 10))
    (0.1, 0.30000000000000004)
    """
    number = float(value)
    return nextafter(number, inf) if number < value else number


def times_up(bound: float, uses: int) -> float:
    """Return so many times an upper bound, rounded up.

    >>> times_up(0.1, 3), times_up(inf, 2)
    (0.30000000000000004, inf)
    """
    return bound if bound == inf else float_up(uses * Fraction(bound))


def float_down(value: Fraction | float) -> float:
    """Return the largest float that is not above the value.

    >>> float_down(Fraction(1, 10)), float_down(Fraction(3, 10))
    (0.09999999999999999, 0.3)
    """
    return -float_up(-value)


def above(value: arb) -> float:
    """Return a float that no point of the ball exceeds."""
    if value.is_nan():
        return inf
    with precision(_FIRST_BITS):
        edge = value.upper()
        number = float(edge)
        while number < inf and edge.is_finite() and not arb(number) >= edge:
            number = nextafter(number, inf)
    return number
