"""The law of a weighted sum of independent noises: rigorous error bars for whatever is computed linearly.

Every measured integer carries symmetric noise Y_j of a known law, so a linear estimate errs by the sum X of
a_j·Y_j, which is symmetric too. Its law is computed on a grid of step h:

- noises of equal weight are added first, on the integers, without rounding;
- a_j·S_j of each of the J groups is rounded to the grid by an odd rule, so that its rounding error has mean
  0 and lies within h/2 of it. By Hoeffding's inequality all rounding errors together exceed r with a chance
  of at most exp(-2·r²/(J·h²)): the bar is widened by r, and that chance comes off the one that is allowed;
- one Fourier transform convolves the groups; what it wraps around and rounds off comes off too.

Chernoff's bound needs no grid. It decides how far the grid reaches, and stands in where a chance is so small
that rounding would drown it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, gcd, inf, lcm, log, log2, nextafter, sqrt

import numpy as np
from numpy.typing import NDArray

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.exact import float_down, float_up
from dovetail.noise import IntegerNoise

from .cutoff import CutNoise, Floats, cut, variance

# Shares of the allowed chance: for rounding to the grid, for what lies beyond its ends, for tiny terms.
_FOR_ROUNDING, _FOR_WRAPPING, _FOR_SMALL = 0.01, 1e-4, 1e-3
_FEW_TERMS = 8
_BEYOND = 1e-18
# Weights that differ by less, relative to the largest, count as equal; the bar is widened for it.
_EQUAL = 1e-12
_MOST_POINTS = 1 << 20
_LARGEST_DENOMINATOR = 4096
_UNIT_ROUNDOFF = 2.0**-53
# A frequency whose size is below exp of this, raised to its power, adds nothing.
_NOTHING = -100.0
_ORDERS = np.geomspace(0.05, 4.0, 80)
# Noise that is nearly always 0 is bounded best at other orders.
_TINY, _TINY_ORDERS = 0.5, np.geomspace(0.1, 500.0, 60)
_CHANCE = "Give the probability of a miss, for example 0.05."


@dataclass(frozen=True, slots=True)
class Term:
    """`count` independent noises, each with the same weight."""

    weight: float
    noise: IntegerNoise
    count: int = 1


@dataclass(frozen=True, slots=True)
class NoiseSum:
    """X = sum of weight·Y over all terms; equal terms are joined and signs dropped, as noise is symmetric.

    >>> from dovetail.noise import Geometric
    >>> NoiseSum([Term(1, Geometric(1))]).two_sided(0.05)
    3.0
    >>> both = NoiseSum([Term(1, Geometric(1)), Term(-0.3, Geometric("0.5"), 2)])
    >>> 3 < both.two_sided(0.05) < 4.5
    True
    """

    terms: tuple[Term, ...]
    moved: float  # how far X can lie from the sum that was given, where weights were made equal

    def __init__(self, terms: Iterable[Term]) -> None:
        joined, moved = _joined(terms)
        object.__setattr__(self, "terms", joined)
        object.__setattr__(self, "moved", moved)

    def variance(self) -> float:
        """Return E X²."""
        return self.std() ** 2

    def std(self) -> float:
        """Return the standard deviation of X."""
        top = max((term.weight for term in self.terms), default=1.0)
        scaled = (term.count * (term.weight / top) ** 2 * variance(term.noise) for term in self.terms)
        return top * sqrt(sum(scaled))

    def two_sided(self, chance: Real, *, widening: float = 0.003) -> float:
        """Return a t with P(|X| > t) <= chance; see `one_sided`."""
        return self.one_sided(check.probability("chance", chance, _CHANCE) / 2, widening=widening)

    def one_sided(self, chance: Real, *, widening: float = 0.003) -> float:
        """Return a t with P(X > t) <= chance: about the least, and never too small.

        Rounding to the grid may widen the bar by about the share `widening`; a smaller one takes longer.
        Weights that are short fractions of one unit need no rounding.
        """
        allowed = check.probability("chance", chance, _CHANCE)
        share = float_down(allowed)
        if not self.terms or share >= 0.5:
            return 0.0
        safe = self.chernoff(share)
        if safe == inf:
            return self._union(allowed)
        # Of what is kept below, the same share must do for the ends.
        ends, widen = self.chernoff(share * (1 - _FOR_SMALL) * _FOR_WRAPPING), safe * widening
        main, apart = _set_apart(self.terms, share * _FOR_SMALL, widen / 3)
        kept = share * (1 - _FOR_SMALL) if apart else share
        found, more = _on_grid(main, kept, ends, widen - apart), apart + self.moved
        return min(safe, nextafter(found + more, inf) if more else found)

    def _union(self, chance: Fraction) -> float:
        """Return a t with P(X > t) <= chance, however small: each noise within a bar of its own."""
        each = chance / sum(term.count for term in self.terms)
        return sum(t.count * t.weight * float(t.noise.error_bound(each)) for t in self.terms) * (1 + 1e-12)

    def chernoff(self, chance: float) -> float:
        """Return a t with P(X > t) <= chance by Chernoff's bound: quick, and up to twice too large."""
        if not self.terms:
            return 0.0
        parts = [(cut(term.noise), term) for term in self.terms]
        missing = sum(noise.missing * term.count for noise, term in parts)
        if missing >= chance:
            return inf
        goal, spread = -log(chance - missing), self.std()
        # That of very narrow noise is below every float.
        orders = _ORDERS * sqrt(2 * goal) / spread if spread else np.empty(0)
        if spread < _TINY * self.terms[0].weight:
            orders = np.append(orders, _TINY_ORDERS / self.terms[0].weight)
        total = np.zeros(len(orders))
        for noise, term in parts:
            total += term.count * noise.cumulant(term.weight * orders)
        return float(np.min((total + goal) / orders)) * (1 + 1e-12) + self.moved


def _joined(terms: Iterable[Term]) -> tuple[tuple[Term, ...], float]:
    """Join terms of the same noise whose weights are equal but for rounding and sign; say how far X moved."""
    given = [term for term in terms if term.count and term.weight]
    for term in given:
        if not (isinstance(term.noise, IntegerNoise) and 1e-100 < abs(term.weight) < 1e100):
            raise InvalidParameter("terms", term, "weights from 1e-100 to 1e100 of noise on the integers")
        check.integer("count", term.count, low=1)
    by_noise: dict[IntegerNoise, list[Term]] = {}
    for term in given:
        by_noise.setdefault(term.noise, []).append(term)
    top = max((abs(term.weight) for term in given), default=0.0)
    joined, moved = [], 0.0
    for noise, group in by_noise.items():
        weight, count = 0.0, 0
        for term in sorted(group, key=lambda term: -abs(term.weight)):
            size = abs(float(term.weight))
            if count and weight - size > _EQUAL * top:
                joined.append(Term(weight, noise, count))
                count = 0
            weight = weight if count else size
            moved += term.count * (weight - size) * cut(noise).reach if weight > size else 0.0
            count += term.count
        joined.append(Term(weight, noise, count))
    return tuple(joined), moved


def _set_apart(terms: tuple[Term, ...], chance: float, room: float) -> tuple[tuple[Term, ...], float]:
    """Split off the least terms, whose sum exceeds `room` with a chance of at most `chance`; return its bar.

    They are many noises of tiny weight, as a rule, which would take the longest to convolve.
    """
    ranked = sorted(terms, key=lambda term: term.count * term.weight**2 * variance(term.noise))
    while len(ranked) >= _FEW_TERMS:
        small, total = [], 0.0
        for term in ranked:
            total += term.count * term.weight**2 * variance(term.noise)
            if sqrt(-2 * log(chance) * total) > room:
                break
            small.append(term)
        bar = NoiseSum(small).chernoff(chance)
        if bar <= room:
            return tuple(ranked[len(small) :]), bar
        room /= 2
    return terms, 0.0


def _on_grid(terms: Sequence[Term], chance: float, ends: float, widen: float) -> float:
    """Return the bar from the law on a grid, inf where rounding leaves too little of the chance."""
    if not 0 < ends < inf:
        return inf
    groups = [_Group(term) for term in terms]
    missing = chance * _FOR_WRAPPING + sum(group.missing for group in groups)
    unit, rounded = _common_unit([term.weight for term in terms]), 0
    step = 0.0 if unit is None else float(unit)
    if unit is None or 2 * ends / step > _MOST_POINTS // 4:
        rounded = sum(group.copies for group in groups)
        step = widen / sqrt(rounded * log(1 / (_FOR_ROUNDING * chance)) / 2)
        missing += _FOR_ROUNDING * chance
    points = _smooth(2 * ends / step + rounded + 3)
    if points > _MOST_POINTS:
        return inf
    law = np.ones(points // 2 + 1)
    for group in groups:
        law *= np.fft.rfft(group.on_grid(step, points)).real ** group.copies
    half = points // 2
    masses = np.maximum(np.fft.irfft(law, points)[half:0:-1], 0.0)
    tails = np.cumsum(masses)[::-1]  # of (i + 1)·step and more
    factors = 2 * sum(group.copies for group in groups) + 2
    roundoff = 4 * _UNIT_ROUNDOFF * log2(points) * factors * sqrt(points) + points * 2.0**-52
    enough = np.flatnonzero(tails + missing + roundoff <= chance)
    if not len(enough):
        return inf
    if rounded or unit is None:
        return float(enough[0]) * step + widen
    # Many errors are as large as the bar itself, so it must not be rounded down.
    return float_up(int(enough[0]) * unit)


class _Group:
    """The sum of the noises of one term; `copies` of it are rounded, one by one, where it is too wide."""

    def __init__(self, term: Term) -> None:
        self.weight, self.noise = term.weight, cut(term.noise)
        self.missing, self.copies = self.noise.missing * term.count, 1
        summed = summed_masses(self.noise, term.count) if term.count > 1 else None
        self._masses = None if summed is None else summed[0]
        if summed is None:
            self.copies = term.count
        else:
            self.missing += summed[1]

    def on_grid(self, step: float, points: int) -> Floats:
        """Return the masses of the sum rounded to the grid, wrapped around, 0 first."""
        width = self.weight / step
        if self._masses is None and width < 1:
            masses = self.noise.rounded(width)
            places = np.arange(len(masses))
        else:
            masses = self.noise.masses() if self._masses is None else self._masses
            # Half to even is odd, too: rint(-x) = -rint(x).
            places = np.rint(np.arange(len(masses)) * width).astype(np.int64)
        right = np.bincount(places % points, masses, points)
        return np.asarray(right + np.bincount(-places[1:] % points, masses[1:], points), np.float64)


def summed_masses(noise: CutNoise, count: int) -> tuple[Floats, float] | None:
    """Return the masses from 0 on of the sum of `count` noises, and a bound on their error in all.

    None where the sum has too many values.
    """
    whole = NoiseSum([Term(1.0, noise.noise, count)]).chernoff(_BEYOND)
    reach = int(min(noise.reach * count, whole))  # whole numbers beyond it are larger than `whole`
    points = _smooth(2 * reach + 3)
    if points > _MOST_POINTS:
        return None
    law, each = _transformed(noise, points), 4 * _UNIT_ROUNDOFF * log2(points)
    # An error e of one factor becomes count·e·|law|^(count - 1); Cauchy and Schwarz turn its mean square over
    # frequencies into a bound on the total error of the masses.
    sizes = np.minimum(np.abs(law) + each, 1.0)
    seen = sizes > exp(_NOTHING / count)
    errors = (count + 2) * each * sizes[seen] ** (count - 1)
    raised = np.zeros(len(law))
    raised[seen] = law[seen] ** count
    masses = np.maximum(np.fft.irfft(raised, points)[: reach + 1], 0.0)
    error = sqrt(2 * float(np.sum(errors**2))) + sqrt(points) * each * sqrt(float(np.sum(masses**2))) * 2
    return masses, error + 4 * _BEYOND


@lru_cache(maxsize=16)
def _transformed(noise: CutNoise, points: int) -> Floats:
    """Return the Fourier transform of a noise's masses, which is real."""
    masses = noise.masses()[: points // 2]
    single = np.zeros(points)
    single[: len(masses)] = masses
    single[1 - len(masses) :] += masses[:0:-1]
    return np.asarray(np.fft.rfft(single).real)


def _common_unit(weights: Sequence[float]) -> Fraction | None:
    """Return the unit of which all weights are multiples, where they are short fractions but for rounding."""
    exact = [Fraction(weight).limit_denominator(_LARGEST_DENOMINATOR) for weight in weights]
    if any(float(short) != weight for short, weight in zip(exact, weights, strict=True)):
        return None
    below = lcm(*(number.denominator for number in exact))
    return Fraction(gcd(*(int(number * below) for number in exact)), below)


def outward(estimates: Floats, half: float, lost: float = 2.0**-50) -> tuple[Floats, Floats]:
    """Return estimates less and plus a bar, moved outward by the share that floats may have lost of them.

    Whole numbers lose nothing, and neither do those of few binary digits.

    >>> low, high = outward(np.array([2.25, 7 / 3]), 2.0)
    >>> low.tolist()[0], high.tolist()[0], bool(low[1] < 1 / 3), bool(high[1] > 13 / 3)
    (0.25, 4.25, True, True)
    """
    room = np.where(_added_exactly(estimates, half), 0.0, (np.abs(estimates) + half) * lost)
    return estimates - half - room, estimates + half + room


def _added_exactly(numbers: Floats, half: float) -> NDArray[np.bool_]:
    """Tell which numbers a float holds with so many digits to spare that a bar is added without rounding."""
    found = np.zeros(np.shape(numbers), np.bool_)
    for unit, most in ((1.0, 2.0**51), (2.0**-20, 2.0**31)):
        alike = (np.rint(numbers / unit) == numbers / unit) & (np.rint(half / unit) == half / unit)
        found |= alike & (np.abs(numbers) < most) & (half < most)
    return found


def _smooth(least: float) -> int:
    """Return a length of at least `least` that is quick to transform: 4, 5 or 6 times a power of two."""
    power_of_two = 1
    while 6 * power_of_two < least:
        power_of_two *= 2
    return next(factor * power_of_two for factor in (4, 5, 6) if factor * power_of_two >= least)
