"""The exponential mechanism for one quantile, drawn exactly: for small tables, where a tree errs too much.

A cell's score counts how far it is from being the quantile, in rows: with q = a/b and F(t) the rows up to
cell t, G(t) = b·F(t) - a·n is a whole number, and score(t) = max(0, G(t - 1), -G(t)). One row added or
removed moves every score by at most max(a, b - a), one row replaced by at most b. A cell is drawn with chance
proportional to exp(-epsilon·score / (2·that)), which is epsilon-differentially private.

The result is a cell and nothing else: it has no interval, only a bound on its rank that holds beforehand.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dovetail import check
from dovetail.check import Real
from dovetail.exact import ball, precision
from dovetail.sampling import BitSource, System
from dovetail.sampling.uniform import Enclosure, Uniform

_Q = "Give a number between 0 and 1; 0.01 and 0.99 stand for the least and the largest value."
# With a longer denominator, the scores of many rows would not fit 64 bits.
_LONGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class QuantileChoice:
    """A quantile by the exponential mechanism, at a pure epsilon.

    >>> choice = QuantileChoice(Fraction(1, 2), Fraction(1))
    >>> choice.scores(np.array([1, 0, 2])).tolist()
    [1, 1, 0]
    """

    q: Fraction
    epsilon: Fraction
    replaced: bool = False

    def __init__(self, q: Real, epsilon: Real, *, replaced: bool = False) -> None:
        object.__setattr__(self, "q", check.probability("q", q, _Q))
        object.__setattr__(self, "epsilon", check.positive("epsilon", epsilon))
        object.__setattr__(self, "replaced", replaced)

    @property
    def sensitivity(self) -> int:
        """How far a neighbour moves a score at most."""
        above, below = self.q.numerator, self.q.denominator
        return below if self.replaced else max(above, below - above)

    @property
    def rate(self) -> Fraction:
        """By how much the log of a cell's chance falls with its score."""
        return self.epsilon / (2 * self.sensitivity)

    def scores(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return how far each cell is from being the quantile, in units of 1/denominator rows."""
        kind = np.int64 if self.q.denominator <= _LONGEST else object
        upto = np.cumsum(np.asarray(cells, np.int64)).astype(kind)
        g = self.q.denominator * upto - self.q.numerator * upto[-1]
        before = np.concatenate([[-self.q.numerator * upto[-1]], g[:-1]])
        return np.asarray(np.maximum(np.maximum(before, -g), 0), kind)

    def draw(self, cells: NDArray[Any], source: BitSource | None = None) -> int:
        """Draw a cell, exactly, given the true count of every cell."""
        bits = System() if source is None else source
        values, place, counts = np.unique(self.scores(cells), return_inverse=True, return_counts=True)
        number = Uniform(bits.word(), bits)
        law = _Law(self.rate, values.tolist(), counts.tolist())
        last = len(values) - 1
        drawn = bisect_left(range(last), True, key=lambda score: number.below(law.upto(score)))
        return int(np.flatnonzero(place == drawn)[_below(int(counts[drawn]), bits)])

    def rank_bound(self, cells: int, chance: Real) -> float:
        """Return how many rows the drawn cell may be off, but for `chance`, whatever the data are."""
        allowed = check.probability("chance", chance)
        # Of whole numbers: no float holds a chance such as 1e-400.
        share = log(cells * allowed.denominator) - log(allowed.numerator)
        return share / float(self.rate * self.q.denominator) * (1 + 1e-12)


class _Law:
    """The cumulated chances of scores, as balls at any precision."""

    def __init__(self, rate: Fraction, values: list[int], counts: list[int]) -> None:
        self._rate, self._values, self._counts = rate, values, counts
        self._known: dict[int, list[arb]] = {}

    def _sums(self, bits: int) -> list[arb]:
        if bits not in self._known:
            with precision(bits + 64):
                total, sums = arb(0), []
                for value, count in zip(self._values, self._counts, strict=True):
                    total += count * (-ball(self._rate * value)).exp()
                    sums.append(total)
                self._known[bits] = [each / total for each in sums]
        return self._known[bits]

    def upto(self, place: int) -> Enclosure:
        """Return the chance of a score up to this one."""
        return lambda bits: self._sums(bits)[place]


def _below(count: int, source: BitSource) -> int:
    """Return a uniform whole number below `count`: words beyond a multiple of it are drawn again."""
    usable = (1 << 64) // count * count
    while True:
        word = source.word()
        if word < usable:
            return word % count
