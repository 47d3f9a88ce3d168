"""Exact sums over stretches of exponential decay on the half line 0, 1, 2, ... or [0, infinity).

Every noise here is symmetric, and its weight falls by a constant rate inside each of a few stretches. Tails,
moments and entropy are then finite sums of geometric series (integers) or of exponential integrals (reals).
All of them are Arb balls: what cancels inside a formula costs precision, never truth.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from flint import arb, ctx, fmpq

from .balls import ball, precision


class Slab(NamedTuple):
    """The weight exp(-level) · integral of exp(-rate·x) over [0, width]."""

    level: Fraction
    rate: Fraction
    width: Fraction

    def enclose(self) -> arb:
        """Return the weight as a ball."""
        return -(-ball(self.rate * self.width)).expm1() / ball(self.rate) * (-ball(self.level)).exp()


class Stretch(NamedTuple):
    """A stretch [start, start + length) of constant decay; `length` None is infinite.

    Its weight at the start is exp(-level) · factor; the factor is the sum of the slabs, or 1 without any.
    """

    start: Fraction
    length: Fraction | None
    rate: Fraction
    level: Fraction
    slabs: tuple[Slab, ...] = ()

    @property
    def end(self) -> Fraction | None:
        """The first point after the stretch."""
        return None if self.length is None else self.start + self.length

    def factor(self) -> arb:
        """Return what multiplies exp(-level)."""
        return sum((slab.enclose() for slab in self.slabs), arb(0)) if self.slabs else arb(1)

    def weight(self) -> arb:
        """Return the unnormalised weight at the start."""
        return (-ball(self.level)).exp() * self.factor()


class Constants(NamedTuple):
    """What the tails of a `Decay` share at one precision; lists hold one entry for each stretch."""

    beyond: list[arb]
    total: arb
    units: list[arb]
    factors: list[arb]
    # Start, end, rate and level once more, as rationals that are far faster than Python's.
    rationals: list[tuple[fmpq, fmpq | None, fmpq, fmpq]]


class Decay:
    """A symmetric distribution as stretches of decay of |Y|, on the integers or on the reals."""

    def __init__(self, stretches: tuple[Stretch, ...], whole: bool) -> None:
        self.stretches, self.whole = stretches, whole

    @cached_property
    def starts(self) -> tuple[Fraction, ...]:
        """Where the stretches start."""
        return tuple(stretch.start for stretch in self.stretches)

    def find(self, x: Fraction | int) -> int:
        """Return the number of the stretch that holds x >= 0."""
        return bisect_right(self.starts, x) - 1

    def unit(self, rate: Fraction) -> arb:
        """Return 1 / (sum of an endless stretch): 1 - exp(-rate) on the integers, rate on the reals."""
        return -(-ball(rate)).expm1() if self.whole else ball(rate)

    @cached_property
    def _constants(self) -> dict[int, Constants]:
        """What does not depend on x, by the precision: a sampler asks for many tails at one."""
        return {}

    def _constants_here(self) -> Constants:
        known = self._constants.get(ctx.prec)
        if known is None:
            beyond = self._beyond()
            units = [self.unit(stretch.rate) for stretch in self.stretches]
            factors = [stretch.factor() for stretch in self.stretches]
            rationals = [
                (
                    _rational(s.start),
                    None if s.end is None else _rational(s.end),
                    _rational(s.rate),
                    _rational(s.level),
                )
                for s in self.stretches
            ]
            known = Constants(beyond, self._total(beyond[0]), units, factors, rationals)
            self._constants[ctx.prec] = known
        return known

    def beyond(self) -> list[arb]:
        """Return, for each stretch, the weight after it in units of the decay continued to its end."""
        return self._constants_here().beyond

    def total(self) -> arb:
        """Return the sum of all weights, both signs."""
        return self._constants_here().total

    def _beyond(self) -> list[arb]:
        """Form the ratios from differences of exact levels, so that nothing underflows."""
        result = [arb(0)] * len(self.stretches)
        for i in range(len(self.stretches) - 2, -1, -1):
            stretch, after = self.stretches[i], self.stretches[i + 1]
            assert stretch.length is not None
            drop = stretch.level + stretch.rate * stretch.length - after.level
            jump = ball(drop).exp() * after.factor() / stretch.factor()
            result[i] = jump * self._scaled_tail(after, result[i + 1])
        return result

    def _scaled_tail(self, stretch: Stretch, beyond: arb) -> arb:
        """Return the weight from the stretch's start on, in units of its weight there."""
        if stretch.length is None:
            return 1 / self.unit(stretch.rate)
        fall = ball(stretch.rate * stretch.length)
        return -(-fall).expm1() / self.unit(stretch.rate) + (-fall).exp() * beyond

    def _total(self, beyond: arb) -> arb:
        first = self.stretches[0]
        half = first.weight() * self._scaled_tail(first, beyond)
        return 2 * half - first.weight() if self.whole else 2 * half

    def tail(self, x: Fraction | int) -> arb:
        """Return P(Y >= x) for x >= 0 (on the integers: a whole x >= 1)."""
        return self._tail(x, self._constants_here())

    def tails(self, points: Iterable[int]) -> list[arb]:
        """Return P(Y >= x) for many x >= 1."""
        known = self._constants_here()
        return [self._tail(x, known) for x in points]

    def _tail(self, x: Fraction | int, known: Constants) -> arb:
        number = bisect_right(self.starts, x) - 1  # `find`, without a call: a sampler asks for many tails
        start, end, rate, level = known.rationals[number]
        unit, point = known.units[number], fmpq(x.numerator, x.denominator)
        here = (-arb(level + rate * (point - start))).exp() * known.factors[number]
        if end is None:
            scaled = 1 / unit
        elif point >= end:
            scaled = arb(0)
        else:
            fall = arb(rate * (end - point))
            scaled = -(-fall).expm1() / unit + (-fall).exp() * known.beyond[number]
        return here * scaled / known.total

    def density(self, x: Fraction | int) -> arb:
        """Return the probability (integers) or density (reals) at x >= 0."""
        stretch = self.stretches[self.find(x)]
        if stretch.end is not None and x >= stretch.end:
            return arb(0)
        fall = stretch.level + stretch.rate * (x - stretch.start)
        return (-ball(fall)).exp() * stretch.factor() / self.total()

    def moment(self, order: int) -> arb:
        """Return E|Y| (order 1) or E Y² (order 2)."""
        total = arb(0)
        for stretch, weight, sums in self._sums():
            start = ball(stretch.start)
            if order == 1:
                inside = start * sums[0] + sums[1]
            else:
                inside = start * start * sums[0] + 2 * start * sums[1] + sums[2]
            total += weight * inside
        return 2 * total / self.total()

    def entropy(self) -> arb:
        """Return -E ln p(Y), in nats (on the reals: the differential entropy)."""
        total = self.total()
        mean_log = arb(0)
        for stretch, weight, sums in self._sums():
            log_weight = stretch.factor().log() - ball(stretch.level)
            mean_log += 2 * weight * (log_weight * sums[0] - ball(stretch.rate) * sums[1])
        if self.whole:
            first = self.stretches[0]
            mean_log -= first.weight() * (first.factor().log() - ball(first.level))
        return total.log() - mean_log / total

    def _sums(self) -> Iterator[tuple[Stretch, arb, tuple[arb, arb, arb]]]:
        """Give each stretch with its weight and the sums of 1, j and j² times exp(-rate·j) over it."""
        for stretch in self.stretches:
            rate = ball(stretch.rate)
            unit = self.unit(stretch.rate)
            if self.whole:
                ratio = (-rate).exp()
                endless = (1 / unit, ratio / unit**2, ratio * (1 + ratio) / unit**3)
            else:
                endless = (1 / unit, 1 / unit**2, 2 / unit**3)
            if stretch.length is not None:
                zero, one, two = endless
                length = ball(stretch.length)
                rest = (-ball(stretch.rate * stretch.length)).exp()
                endless = (
                    zero - rest * zero,
                    one - rest * (length * zero + one),
                    two - rest * (length * length * zero + 2 * length * one + two),
                )
            yield stretch, stretch.weight(), endless

    def tail_ball(self, x: Fraction | int, bits: int) -> arb:
        """Return P(Y >= x) as a ball of about `bits` relative bits."""
        with precision(bits + 32):
            return self.tail(x)


def _rational(value: Fraction | int) -> fmpq:
    return fmpq(value.numerator, value.denominator)
