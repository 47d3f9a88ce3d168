"""Evaluate stretches of decay on arrays of floats, without overflow and without cancellation.

Inside a stretch the tail is  weight(x) · (q/unit + (1 - q)·beyond)  with q = 1 - exp(-rate·(end - x)). It is
computed as  beyond + q·(1/unit - beyond)  where the decay outside is steeper than inside, and as
1/unit + exp(-rate·(end - x))·(beyond - 1/unit)  where it is gentler: both terms are then positive.
Where no constant is large and little cancels, the same tail is  exp(lift - rate·x) + rest,  which is quicker.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dovetail.exact import Decay, ball, nearest

from .arrays import Floats, room

# The quick forms lose about this factor of the last place at most: 2e-13.
_TAME = 1024.0
_FEW = 4
_LARGEST = np.finfo(np.float64).max


def _split(value: Fraction) -> tuple[float, float]:
    """Return a rational as the sum of two floats: differences from nearby points stay exact."""
    high = float(value)
    return high, float(value - Fraction(high))


class DecayTable:
    """The constants of a `Decay` as floats, each rounded once from an exact value."""

    def __init__(self, decay: Decay) -> None:
        stretches = decay.stretches
        numbers = range(len(stretches))
        self.rate = np.array([float(stretch.rate) for stretch in stretches])
        self.start, self.start_rest = self._points([stretch.start for stretch in stretches])
        self.end, self.end_rest = self._points([stretch.end for stretch in stretches])
        self.log_weight = np.array([self._log_weight(decay, number) for number in numbers])
        self.log_endless = np.array([self._log_endless(decay, number) for number in numbers])
        self.sum = np.array([self._sum(decay, number) for number in numbers])
        self.beyond = np.array([self._beyond(decay, number) for number in numbers])
        self.more = np.array([self._more(decay, number) for number in numbers])
        self.steeper = self.more >= 0
        self.inside = np.array([self._inside(decay, stretch.start) for stretch in stretches])
        self.tails = np.array([self._tail_at(decay, stretch.start) for stretch in stretches])
        self.whole = decay.whole
        self.finite = stretches[-1].length is not None
        self.envelope = self._envelope(decay)
        self._prepare_quick_forms()

    def _prepare_quick_forms(self) -> None:
        """Fold the constants into `lift` and `rest`, and say whether that keeps the accuracy."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.lift = self.log_weight + self.rate * self.start
            self.tail_lift = self.log_endless + self.rate * self.start
            length = np.where(np.isinf(self.end), 0, self.end - self.start)
            at_end = np.exp(self.log_weight - self.rate * length)
            self.rest = np.where(np.isinf(self.end), 0, -self.more * at_end)
            lost = np.where(np.isinf(self.end), 0, self.more / self.beyond)
            farthest = np.where(np.isinf(self.end), 0, self.rate * self.end)
            error = (np.abs(self.tail_lift) + farthest) * (1 + np.maximum(lost, 0))
        self.tame = not self.finite and bool(np.all(np.abs(self.lift) < _TAME))
        self.tame_tail = self.tame and bool(np.all(error < _TAME))

    @staticmethod
    def _points(values: list[Fraction | None]) -> tuple[Floats, Floats]:
        pairs = [(np.inf, 0.0) if value is None else _split(value) for value in values]
        return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])

    @staticmethod
    def _log_weight(decay: Decay, number: int) -> float:
        stretch = decay.stretches[number]
        return nearest(lambda: stretch.factor().log() - ball(stretch.level) - decay.total().log())

    @staticmethod
    def _log_endless(decay: Decay, number: int) -> float:
        """Return the log of the probability from the start on, if the decay went on for ever."""
        stretch = decay.stretches[number]
        return nearest(
            lambda: (stretch.factor() / decay.unit(stretch.rate) / decay.total()).log() - ball(stretch.level)
        )

    @staticmethod
    def _sum(decay: Decay, number: int) -> float:
        return nearest(lambda: 1 / decay.unit(decay.stretches[number].rate))

    @staticmethod
    def _beyond(decay: Decay, number: int) -> float:
        return nearest(lambda: decay.beyond()[number])

    @staticmethod
    def _more(decay: Decay, number: int) -> float:
        """Return how much more weight the decay would have if it went on for ever."""
        return nearest(lambda: 1 / decay.unit(decay.stretches[number].rate) - decay.beyond()[number])

    @staticmethod
    def _inside(decay: Decay, start: Fraction) -> float:
        """Return what `inner` adds to a stretch's own part: P(|Y| < start), or minus P(Y = 0) at 0."""
        if start == 0:
            return -nearest(lambda: decay.density(0)) if decay.whole else 0.0
        return nearest(lambda: 1 - 2 * decay.tail(start))

    @staticmethod
    def _tail_at(decay: Decay, start: Fraction) -> float:
        return nearest(lambda: decay.tail(start))

    @staticmethod
    def _envelope(decay: Decay) -> np.ufunc | None:
        """Return what makes the whole of few joined pieces from their lines, so that no search is needed."""
        rates = [stretch.rate for stretch in decay.stretches]
        joined = all(
            stretch.length is None or stretch.level + stretch.rate * stretch.length == after.level
            for stretch, after in itertools.pairwise(decay.stretches)
        )
        if len(rates) > _FEW or not joined or any(stretch.slabs for stretch in decay.stretches):
            return None
        if rates == sorted(rates):
            return np.minimum
        return np.maximum if rates == sorted(rates, reverse=True) else None

    def find(self, x: Floats) -> NDArray[np.intp] | int:
        """Return the number of the stretch of each x >= 0 (0 for all, where there is one)."""
        if len(self.rate) == 1:
            return 0
        number = room.number(x)
        passed = self._at_least(x, 1).view(np.uint8)
        flag = room.flag(x)
        for i in range(2, len(self.rate)):
            passed += self._at_least(x, i, flag).view(np.uint8)
        np.copyto(number, passed)
        return number

    def _at_least(self, x: Floats, i: int, out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        compare = np.greater if self.start_rest[i] > 0 else np.greater_equal
        flags: NDArray[np.bool_] = compare(x, self.start[i], out=out)
        return flags

    def log_density(self, x: Floats) -> Floats:
        """Return the log of the probability or density at x >= 0."""
        if self.tame and self.envelope is not None:
            result = self._line(self.lift, x, 0)
            other = room.term(x)
            for i in range(1, len(self.rate)):
                np.multiply(x, -self.rate[i], out=other)
                other += self.lift[i]
                self.envelope(result, other, out=result)
            return result
        number = self.find(x)
        if self.tame:
            return self._line(self.lift, x, number)
        result = self.log_weight[number] - self.rate[number] * self._after_start(x, number)
        if self.finite:
            result[x >= self.end[-1]] = -np.inf
        return result

    def _line(self, lift: Floats, x: Floats, number: NDArray[np.intp] | int) -> Floats:
        """Return lift - rate·x."""
        if isinstance(number, int):
            result: Floats = x * -self.rate[number]
            result += lift[number]
            return result
        result = self.rate.take(number)
        result *= x
        return np.subtract(lift.take(number, out=room.term(x), mode="clip"), result, out=result)

    def _after_start(self, x: Floats, number: NDArray[np.intp] | int) -> Floats:
        """Return x - start; the rest of an inexact start is taken off after the exact difference."""
        result: Floats = x - self.start[number]
        if self.start_rest.any():
            result -= self.start_rest[number]
            np.maximum(result, 0, out=result)
        return result

    def _scaled(self, x: Floats, number: NDArray[np.intp] | int) -> Floats | float:
        """Return the tail from x on, in units of the weight at x."""
        if isinstance(number, int) and not self.finite:
            return float(self.sum[0])
        fall = self.end[number] - np.minimum(x, _LARGEST)
        if self.end_rest.any():
            fall += self.end_rest[number]
        fall *= -self.rate[number]
        np.minimum(fall, 0, out=fall)
        if self.steeper.all():
            result: Floats = self.beyond[number] - np.expm1(fall, out=fall) * self.more[number]
            return result
        gentle: Floats = self.sum[number] - np.exp(fall) * self.more[number]
        if not self.steeper.any():
            return gentle
        steep = self.beyond[number] - np.expm1(fall) * self.more[number]
        result = np.where(self.steeper[number], steep, gentle)
        return result

    def tail(self, x: Floats) -> Floats:
        """Return P(Y >= x) for x >= 0."""
        if not self.tame_tail:
            return np.exp(self.log_tail(x))
        number = self.find(x)
        quick = self._line(self.tail_lift, x, number)
        np.exp(quick, out=quick)
        if not isinstance(number, int):
            quick += self.rest.take(number, out=room.term(x), mode="clip")
        return quick

    def log_tail(self, x: Floats) -> Floats:
        """Return ln P(Y >= x) for x >= 0, far beyond where the tail itself underflows."""
        number = self.find(x)
        with np.errstate(divide="ignore"):
            scaled = np.log(self._scaled(x, number))
        result: Floats = self.log_weight[number] - self.rate[number] * self._after_start(x, number) + scaled
        return result

    def inner(self, x: Floats) -> Floats:
        """Return P(|Y| <= x) on the reals, P(|Y| < x) on the integers, as a sum of positive parts."""
        if self.finite:
            x = np.minimum(x, self.end[-1])
        number = self.find(x)
        part = np.expm1(-self.rate[number] * self._after_start(x, number))
        part *= -2 * np.exp(self.log_weight[number]) * self.sum[number]
        result: Floats = np.minimum(self.inside[number] + part, 1.0)
        return result

    def within_whole(self, t: Floats) -> Floats:
        """Return P(|Y| <= t) on the integers."""
        return np.where(t < 0, 0.0, self.inner(np.maximum(np.floor(t), 0) + 1))

    def inverse_tail(self, tail: Floats) -> Floats:
        """Return the x with P(Y >= x) = tail, on the line through the integers where Y is one."""
        number = np.zeros(tail.shape, np.intp)
        for i in range(1, len(self.rate)):
            number += tail <= self.tails[i]
        # Solve  tail = endless·exp(-fall) + rest  for the fall since the start. Where little has fallen, what
        # the tail has lost says so more precisely than its log.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            lost = (self.tails[number] - tail) / np.exp(self.log_endless[number])
            far = self.log_endless[number] - np.log(np.maximum(tail - self.rest[number], 0))
            fall = np.where(lost < 0.5, -np.log1p(-np.minimum(lost, 0.5)), far)
            result: Floats = np.clip(self.start[number] + fall / self.rate[number], 0, self.end[number])
        return result
