"""The privacy profile of a composition: delta(epsilon) from a ladder of tilts.

One tilt sees a region of the loss clearly and the rest dimly. The rungs are tilts whose regions overlap. The
curve of a rung is an upper bound from the start of its region on, and falls. So the least of all curves that
start below epsilon is an upper bound, and because a larger epsilon has more curves to choose from, it never
grows: the profile and its inverse are monotone by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from math import inf, log, sqrt

from dovetail.exact.bisection import bracket

from .curve import Curve
from .fourier import Lattice, Placed, tilted

# Neighbouring rungs differ by this Kullback-Leibler divergence, in which what a rung sees dimly is dimmed.
_APART = 4.0
_CLOSE = 0.05
_LARGEST_POWER = 1500.0  # of tilt times the range of one loss
NOTHING = 1e-300  # nothing smaller is told apart


@dataclass(frozen=True, eq=False)
class Rung:
    """A tilt and where it is used from; the next rung and the curve are made when first asked for."""

    losses: Placed
    infinite: float
    tilt: float = 0.0
    start: float = -inf

    @cached_property
    def curve(self) -> Curve:
        """The bound that holds from the start on; without a tilt it holds everywhere."""
        return tilted(self.losses, self.tilt).curve(self.infinite, self.start)

    @cached_property
    def next(self) -> Rung | None:
        """The next rung, or None where what it would see is nothing."""
        on = self.losses.finest
        largest = _LARGEST_POWER / max(on.widest, on.step)
        if self.tilt >= largest:
            return None
        tilt = self._next_tilt(on, largest)
        start = on.moments((self.tilt + tilt) / 2)[1]
        if not self.start < start < self.nothing_from:
            return None
        return Rung(self.losses, self.infinite, tilt, start)

    @cached_property
    def nothing_from(self) -> float:
        """From where on Chernoff's bound at this tilt leaves less than `NOTHING` above, infinity aside."""
        if not self.tilt:
            return inf
        log_total = self.losses.finest.log_moment(self.tilt)
        # The sum that the lattice holds is at least the true one; a little more makes up for rounding.
        return ((log_total - log(NOTHING)) / self.tilt) * (1 + 2.0**-30) + abs(log_total) * 2.0**-30

    def _next_tilt(self, on: Lattice, largest: float) -> float:
        """Return about the tilt at which the divergence from this one is `_APART`, or the largest."""
        log_total, _, variance = on.moments(self.tilt)

        def divergence(other: float) -> float:
            log_other, mean, _ = on.moments(other)
            return (other - self.tilt) * mean - log_other + log_total

        low, high = self.tilt, min(self.tilt + sqrt(2 * _APART / max(variance, 1e-300)), largest)
        while divergence(high) < _APART:
            if high >= largest:
                return largest
            low, high = high, min(self.tilt + 2 * (high - self.tilt), largest)
        gap = bracket(
            low - self.tilt, high - self.tilt, lambda gap: divergence(self.tilt + gap) >= _APART, close=_CLOSE
        )
        return self.tilt + gap[1]


class Profile:
    """delta(epsilon) of independent losses together, or the chance that their sum is above a limit.

    How the losses were placed says which of the two is bounded: by `dominating` the first, by `rounded_up`
    the second.
    """

    def __init__(self, losses: Placed, infinite: float) -> None:
        self._lowest = Rung(losses, infinite)
        self._floor = min(NOTHING + infinite * (1 + 2.0**-50), 1.0)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at `epsilon`; a larger epsilon never has a larger one."""
        return self._least(epsilon, lambda curve: curve.delta(epsilon))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the least epsilon of `delta`; a larger delta never has a larger one."""
        best = inf
        if delta < self._floor:
            return best
        for rung in self._rungs():
            if rung.start >= best:
                break
            best = min(best, max(rung.nothing_from, 0.0), rung.curve.epsilon(delta))
        return best

    def above(self, limit: float) -> float:
        """Return an upper bound on the chance of a sum above `limit`."""
        return self._least(limit, lambda curve: curve.above(limit))

    def _least(self, limit: float, value: Callable[[Curve], float]) -> float:
        """Return the least value of all curves that start below a limit; far out that is next to nothing."""
        rungs = list(takewhile(lambda rung: rung.start <= limit, self._rungs()))
        if any(rung.nothing_from <= limit for rung in rungs):
            return self._floor
        return max(min(value(rung.curve) for rung in rungs), self._floor)

    def _rungs(self) -> Iterator[Rung]:
        rung: Rung | None = self._lowest
        while rung is not None:
            yield rung
            rung = rung.next
