"""Hypothesis strategies that several packages share: numbers as users write them, and noises."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import log10
from typing import Any

from hypothesis import strategies as st

from dovetail.noise import IntegerNoise, Noise, PiecewiseGeometric, PiecewiseLaplace, RoundedLaplace

MOST_PIECES = 8


def magnitudes(low: float, high: float) -> st.SearchStrategy[Fraction]:
    """Numbers of up to six digits, spread evenly over the decades between `low` and `high`."""
    bottom, top = Fraction(str(low)), Fraction(str(high))
    return st.floats(log10(low), log10(high)).map(
        lambda decade: min(max(Fraction(f"{10**decade:.6g}"), bottom), top)
    )


def _spellings(value: Fraction) -> list[Any]:
    """The ways in which a user may write a number without changing it."""
    ways: list[Any] = [value, str(value)]
    if value.denominator == 1:
        ways.append(int(value))
    if Fraction(repr(float(value))) == value:
        ways += [float(value), repr(float(value)), Decimal(repr(float(value)))]
    return ways


def spelled(numbers: st.SearchStrategy[Fraction]) -> st.SearchStrategy[tuple[Fraction, Any]]:
    """A number together with one of its spellings."""
    return numbers.flatmap(lambda value: st.tuples(st.just(value), st.sampled_from(_spellings(value))))


# Rates from 1e-9 to 50, and the corners of that range.
rates = magnitudes(1e-9, 50) | st.sampled_from(
    [Fraction(1, 10**9), Fraction(50), Fraction(1), Fraction(1, 3), Fraction(1, 5)]
)
whole_breaks = st.integers(1, 40) | magnitudes(1, 1e9).map(round).map(Fraction) | st.just(Fraction(10**9))
real_breaks = magnitudes(1e-6, 1e9) | st.sampled_from(
    [Fraction(1, 3), Fraction(9, 2), Fraction(10**9) + Fraction(1, 3)]
)


@st.composite
def pieces(
    draw: st.DrawFn,
    rates: st.SearchStrategy[Fraction] = rates,
    breaks: st.SearchStrategy[Any] = whole_breaks,
    most: int = MOST_PIECES,
) -> tuple[list[Fraction], list[Fraction]]:
    """Rates and increasing breaks of 1 to `most` pieces."""
    points = sorted(draw(st.sets(breaks.map(Fraction), max_size=most - 1)))
    slopes = draw(st.lists(rates, min_size=len(points) + 1, max_size=len(points) + 1))
    return slopes, points


def geometrics(**limits: Any) -> st.SearchStrategy[PiecewiseGeometric]:
    """Piecewise noise on the integers."""
    return pieces(**limits).map(lambda both: PiecewiseGeometric(*both))


def laplaces(**limits: Any) -> st.SearchStrategy[PiecewiseLaplace]:
    """Piecewise noise on the reals."""
    return pieces(**{"breaks": real_breaks, **limits}).map(lambda both: PiecewiseLaplace(*both))


def roundeds(**limits: Any) -> st.SearchStrategy[RoundedLaplace]:
    """Noise on the reals, rounded to integers."""
    return laplaces(**limits).map(lambda noise: noise.rounded())


# Noise that can be enumerated: nearly all of it lies within a few hundred integers.
_NARROW_RATES = magnitudes(0.1, 5)
_NARROW_WHOLE = st.integers(1, 30)
_NARROW_REAL = magnitudes(0.05, 30) | st.integers(1, 59).map(lambda halves: Fraction(halves, 2))
narrow_geometrics = geometrics(rates=_NARROW_RATES, breaks=_NARROW_WHOLE, most=5)
narrow_laplaces = laplaces(rates=_NARROW_RATES, breaks=_NARROW_REAL, most=5)
narrow_roundeds = roundeds(rates=_NARROW_RATES, breaks=_NARROW_REAL, most=5)
narrow_integers: st.SearchStrategy[IntegerNoise] = narrow_geometrics | narrow_roundeds

integer_noises: st.SearchStrategy[IntegerNoise] = geometrics() | roundeds()
noises: st.SearchStrategy[Noise] = geometrics() | laplaces() | roundeds()
