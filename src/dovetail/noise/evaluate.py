"""Evaluate stretches of decay on arrays of floats, without overflow and without cancellation.

Inside a stretch the tail is  weight(x) · (q/unit + (1 - q)·beyond)  with q = 1 - exp(-rate·(end - x)). It is
computed as  beyond + q·(1/unit - beyond)  where the decay outside is steeper than inside, and as
1/unit + exp(-rate·(end - x))·(beyond - 1/unit)  where it is gentler: both terms are then positive.
Where no constant is large and little cancels, the same tail is  exp(lift - rate·x) + rest,  which is quicker.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail.exact import Decay, ball, nearest

Floats: TypeAlias = NDArray[np.float64]

# A block and its few working arrays stay in the processor's cache, and below the size at which the
# allocator would fetch fresh pages from the system for each of them.
_BLOCK = 1 << 12
# The quick forms lose at most this factor of the last place.
_TAME = 256.0
_LARGEST = np.finfo(np.float64).max


def blockwise(function: Callable[[Floats], Floats], x: ArrayLike) -> float | Floats:
    """Apply `function` block by block; a scalar gives a float, an array an array of its shape."""
    values = np.asarray(x)
    if values.dtype.kind not in "fiub":
        values = values.astype(np.float64)
    if values.ndim == 0:
        return float(function(values.astype(np.float64).reshape(1))[0])
    flat = values.reshape(-1)
    out = np.empty(flat.shape, np.float64)
    for start in range(0, flat.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        out[block] = function(flat[block].astype(np.float64))
    return out.reshape(values.shape)


def lookup(function: Callable[[Floats], Floats], k: ArrayLike) -> float | Floats:
    """Apply `function` like `blockwise`; many integers from a small range are looked up in a table of it."""
    values = np.asarray(k)
    if values.dtype.kind != "i" or values.size < 16 * _BLOCK:
        return blockwise(function, values)
    low, high = int(values.min()), int(values.max())
    if max(high, -low) > min(values.size // 8, 1 << 18):
        return blockwise(function, values)
    # A negative index counts from the end of the table, so each k is its own index.
    table = blockwise(function, np.concatenate([np.arange(0, max(high, 0) + 1), np.arange(min(low, 0), 0)]))
    flat = values.reshape(-1)
    out = np.empty(flat.shape, np.float64)
    for start in range(0, flat.size, 16 * _BLOCK):
        block = slice(start, start + 16 * _BLOCK)
        np.take(table, flat[block], out=out[block], mode="wrap")
    return out.reshape(values.shape)


def one_minus(tail: Floats, where: NDArray[np.bool_]) -> Floats:
    """Return 1 - tail where told, and the tail itself elsewhere, without a branch."""
    result = where.astype(np.float64)
    np.multiply(tail, 1 - 2 * result, out=tail)
    result += tail
    return result


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
        self.sum = np.array([self._sum(decay, number) for number in numbers])
        self.beyond = np.array([self._beyond(decay, number) for number in numbers])
        self.more = np.array([self._more(decay, number) for number in numbers])
        self.steeper = self.more >= 0
        self.inside = np.array([self._inside(decay, stretch.start) for stretch in stretches])
        self.tails = np.array([self._tail_at(decay, stretch.start) for stretch in stretches])
        self.whole = decay.whole
        self.finite = stretches[-1].length is not None
        self._prepare_quick_forms()

    def _prepare_quick_forms(self) -> None:
        """Fold the constants into `lift` and `rest`, and say whether that keeps the accuracy."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.lift = self.log_weight + self.rate * self.start
            self.tail_lift = self.lift + np.log(self.sum)
            length = np.where(np.isinf(self.end), 0, self.end - self.start)
            at_end = np.exp(self.log_weight - self.rate * length)
            self.rest = np.where(np.isinf(self.end), 0, -self.more * at_end)
            lost = np.where(np.isinf(self.end), 0, self.more / self.beyond)
        self.tame = not self.finite and bool(np.all(np.abs(self.lift) < _TAME))
        self.tame_tail = self.tame and bool(np.all(np.abs(self.tail_lift) < _TAME) and np.all(lost < _TAME))

    @staticmethod
    def _points(values: list[Fraction | None]) -> tuple[Floats, Floats]:
        pairs = [(np.inf, 0.0) if value is None else _split(value) for value in values]
        return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])

    @staticmethod
    def _log_weight(decay: Decay, number: int) -> float:
        stretch = decay.stretches[number]
        return nearest(lambda: stretch.factor().log() - ball(stretch.level) - decay.total().log())

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
        return nearest(lambda: decay.tail(start)) if start or not decay.whole else 1.0

    def find(self, x: Floats) -> NDArray[np.intp] | int:
        """Return the number of the stretch of each x >= 0 (0 for all, where there is one)."""
        if len(self.rate) == 1:
            return 0
        number = np.zeros(x.shape, np.uint8)
        for i in range(1, len(self.rate)):
            number += self._at_least(x, i).view(np.uint8)
        return number.astype(np.intp)

    def _at_least(self, x: Floats, i: int) -> NDArray[np.bool_]:
        start = float(self.start[i])
        return x > start if self.start_rest[i] > 0 else x >= start

    def log_density(self, x: Floats) -> Floats:
        """Return the log of the probability or density at x >= 0."""
        number = self.find(x)
        if self.tame:
            return self._line(self.lift, x, number)
        result: Floats = self.log_weight[number] - self.rate[number] * self._after_start(x, number)
        if self.finite:
            result[x >= self.end[-1]] = -np.inf
        return result

    def _line(self, lift: Floats, x: Floats, number: NDArray[np.intp] | int) -> Floats:
        """Return lift - rate·x."""
        result: Floats = x * -self.rate[number]
        result += lift[number]
        return result

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
        fall = self.end[number] - x
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
        x = np.minimum(x, _LARGEST)
        number = self.find(x)
        if self.tame_tail:
            quick = self._line(self.tail_lift, x, number)
            np.exp(quick, out=quick)
            quick += self.rest[number]
            return quick
        density = self.log_weight[number] - self.rate[number] * self._after_start(x, number)
        np.exp(density, out=density)
        density *= self._scaled(x, number)
        return density

    def log_tail(self, x: Floats) -> Floats:
        """Return ln P(Y >= x) for x >= 0, far beyond where the tail itself underflows."""
        x = np.minimum(x, _LARGEST)
        number = self.find(x)
        with np.errstate(divide="ignore"):
            scaled = np.log(self._scaled(x, number))
        result: Floats = self.log_weight[number] - self.rate[number] * self._after_start(x, number) + scaled
        return result

    def inner(self, x: Floats) -> Floats:
        """Return P(|Y| <= x) on the reals, P(|Y| < x) on the integers, as a sum of positive parts."""
        x = np.minimum(x, _LARGEST if not self.finite else self.end[-1])
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
        rate = self.rate[number]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_tail = np.log(tail)
            endless = (
                self.start[number] + (self.log_weight[number] + np.log(self.sum[number]) - log_tail) / rate
            )
            length = self.end[number] - self.start[number]
            log_end = self.log_weight[number] - rate * np.where(np.isinf(length), 0, length)
            excess = log_tail - log_end
            near = np.log1p((np.exp(excess) - self.beyond[number]) / self.sum[number])
            far = excess - np.log(self.sum[number])
            far += np.log1p(np.exp(-far) * (1 - self.beyond[number] / self.sum[number]))
            fall = np.where(excess < 30, near, far)
            result: Floats = np.where(np.isinf(length), endless, self.end[number] - fall / rate)
        return np.maximum(result, 0)
