"""The privacy profile of a composition: delta(epsilon) from a ladder of tilts.

One tilt sees a region of the loss clearly and the rest dimly. The rungs are tilts whose regions overlap. The
curve of a rung is an upper bound from the start of its region on, and falls. So the least of all curves that
start below epsilon is an upper bound, and because a larger epsilon has more curves to choose from, it never
grows: the profile and its inverse are monotone by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from math import inf, sqrt

from dovetail.exact.bisection import bracket

from .curve import Curve
from .fourier import Lattice, Placed, tilted

# Neighbouring rungs differ by this Kullback-Leibler divergence, in which what a rung sees dimly is dimmed.
_APART = 4.0
_CLOSE = 0.05
_LARGEST_POWER = 1500.0  # of tilt times the range of one loss
_LEAST = -760.0  # ln of a probability below every float


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
        """The next rung, or None where no float holds what it would see."""
        on = self.losses.finest
        largest = _LARGEST_POWER / max(on.widest, on.step)
        if self.tilt >= largest:
            return None
        tilt = self._next_tilt(on, largest)
        halfway = (self.tilt + tilt) / 2
        log_total, start, _ = on.moments(halfway)
        if start <= self.start or log_total - halfway * start < _LEAST:
            return None
        return Rung(self.losses, self.infinite, tilt, start)

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

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at `epsilon`; a larger epsilon never has a larger one."""
        return min(rung.curve.delta(epsilon) for rung in self._up_to(epsilon))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the least epsilon of `delta`; a larger delta never has a larger one."""
        best = inf
        for rung in self._rungs():
            if rung.start >= best:
                break
            best = min(best, rung.curve.epsilon(delta))
        return best

    def above(self, limit: float) -> float:
        """Return an upper bound on the chance of a sum above `limit`."""
        return min(rung.curve.above(limit) for rung in self._up_to(limit))

    def _up_to(self, limit: float) -> Iterator[Rung]:
        return takewhile(lambda rung: rung.start <= limit, self._rungs())

    def _rungs(self) -> Iterator[Rung]:
        rung: Rung | None = self._lowest
        while rung is not None:
            yield rung
            rung = rung.next
