"""The privacy profile of a composition: delta(epsilon) from a ladder of tilts.

One tilt sees a region of the loss clearly and the rest dimly. The rungs are tilts whose regions overlap. The
curve of a rung is an upper bound from the start of its region on, and falls. So the least of all curves that
start below epsilon is an upper bound, and because a larger epsilon has more curves to choose from, it never
grows: the profile and its inverse are monotone by construction.

A curve takes a transform, so far from its region it is left out. Each rung has a `least` delta, a constant,
and its curve is not let below it: that is monotone still, and a rung need not be looked at where another
gives less than its least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from math import exp, inf, log, sqrt

from dovetail.exact.bisection import bracket

from .atoms import ROUNDING
from .curve import Curve
from .fourier import LossLattice, Placed, tilted

# Neighbouring rungs differ by this Kullback-Leibler divergence, in which what a rung sees dimly is dimmed.
_APART = 4.0
_CLOSE = 0.05
_CLEARLY = 4.0
_LARGEST_POWER = 1500.0  # of tilt times the range of one loss
NOTHING = 1e-300  # nothing smaller is told apart
_LESS, _MORE = 2.0**-34, 2.0**-30  # of logarithms, for rounding; from a bound and back, the second makes good


@dataclass(frozen=True, eq=False)
class Rung:
    """A tilt and where it is used from; the next rung and the curve are made when first asked for."""

    losses: Placed
    infinite: float
    tilt: float = 0.0
    start: float = -inf

    @property
    def curve(self) -> Curve:
        """The bound that holds from the start on; without a tilt it holds everywhere."""
        return self._seen[0]

    @cached_property
    def at_start(self) -> float:
        """What the curve says where it starts, or 0 if that is little more than errors."""
        curve, unseen = self._seen
        found = curve.delta(self.start)
        return found if found > _CLEARLY * unseen else 0.0

    @cached_property
    def _seen(self) -> tuple[Curve, float]:
        found = tilted(self.losses, self.tilt)
        return found.curve(self.infinite, self.start), found.unseen(self.start) + self.infinite

    @cached_property
    def reach(self) -> float:
        """About the delta where the rung after the next one starts: a saddle point from moments alone."""
        further = self.next and self.next.next
        if self.next is None or further is None:
            return 0.0
        tilt = (self.next.tilt + further.tilt) / 2
        log_total, _, variance = self.losses.finest.moments(tilt)
        size = (1 + tilt) * (1 + tilt * sqrt(variance))
        return exp(min(log_total - tilt * further.start - log(size), 0.0))

    @cached_property
    def least(self) -> float:
        """The delta that this rung is not used below: its reach, or less where the next rung says less.

        The next one does, or sees nothing, where losses leave a gap that its region lies in.
        """
        if self.next is None or not self.reach:
            return 0.0
        above = self.next.at_start
        if above < self.next.reach:
            above = max(above, self.next.least)
        return min(self.reach, above)

    def holds(self, delta: float) -> bool:
        """Tell whether `delta` is at least `least`, from as few curves as that takes."""
        if delta >= self.reach:
            return True
        above = self.next
        return above is not None and above.holds(delta) and delta >= above.at_start

    @cached_property
    def next(self) -> Rung | None:
        """The next rung, or None where what it would see is nothing."""
        on = self.losses.finest
        largest = _LARGEST_POWER / max(on.widest, on.step)
        if self.tilt >= largest:
            return None
        tilt = self._next_tilt(on, largest)
        start = on.moments((self.tilt + tilt) / 2)[1]
        if not self.start < start < self.outside_from(NOTHING):
            return None
        return Rung(self.losses, self.infinite, tilt, start)

    def outside(self, epsilon: float) -> float:
        """Return Chernoff's bound on delta at `epsilon`, infinite losses aside: no curve is needed for it."""
        if not self.tilt:
            return 1.0
        power, total = self.tilt * epsilon, self._log_total
        return exp(min(total - power + (abs(total) + abs(power)) * _LESS, 0.0))

    def outside_from(self, delta: float) -> float:
        """Return from where on Chernoff's bound is at most `delta`, rounded such that it is there."""
        if not self.tilt:
            return inf
        total, power = self._log_total, self._log_total - log(delta)
        return max((power + (abs(total) + abs(power)) * _MORE) / self.tilt, self.start, 0.0)

    @cached_property
    def _log_total(self) -> float:
        """An upper bound on ln E exp(tilt·sum), of the lattice's sum, which dominates the true one."""
        on = self.losses.finest
        total, uses = on.log_moment(self.tilt), sum(factor.uses for factor in on.factors)
        return total + (abs(total) + 16 * uses + 64) * 16 * ROUNDING

    def _next_tilt(self, on: LossLattice, largest: float) -> float:
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
        self._infinite = infinite * (1 + 2.0**-50)
        self._floor = min(NOTHING + self._infinite, 1.0)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at `epsilon`; a larger epsilon never has a larger one."""
        return self._least(epsilon, lambda curve: curve.delta(epsilon))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the least epsilon of `delta`; a larger delta never has a larger one."""
        best = inf
        if delta < self._floor:
            return best
        finite = max((delta - self._infinite) * (1 - 2.0**-40), NOTHING)
        for rung in self._rungs():
            if rung.start >= best:
                break
            best = min(best, rung.outside_from(finite))
            if rung.holds(delta):
                best = min(best, rung.curve.epsilon(delta))
        return best

    def above(self, limit: float) -> float:
        """Return an upper bound on the chance of a sum above `limit`."""
        return self._least(limit, lambda curve: curve.above(limit))

    def tilt_at(self, limit: float) -> float:
        """Return about the tilt that sees the losses around `limit` best."""
        return self._below(limit)[-1].tilt

    def _least(self, limit: float, value: Callable[[Curve], float]) -> float:
        """Return the least value of all curves that start below a limit; far out that is next to nothing."""
        rungs = self._below(limit)
        best = min(min(rung.outside(limit) for rung in rungs) + self._infinite, 1.0)
        for rung in reversed(rungs):
            if rung.holds(best):
                found = value(rung.curve)
                best = min(best, found if rung.holds(found) else rung.least)
        return max(best, self._floor)

    def _below(self, limit: float) -> list[Rung]:
        return list(takewhile(lambda rung: rung.start <= limit, self._rungs()))

    def _rungs(self) -> Iterator[Rung]:
        rung: Rung | None = self._lowest
        while rung is not None:
            yield rung
            rung = rung.next
