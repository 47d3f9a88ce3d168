"""Private multiplicative weights: how the hypothesis learns from a measured answer.

Only released numbers come in here, so learning costs nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from .hypothesis import Hypothesis
from .region import Region

# How many of the latest measurements are imposed again after each one.
LATEST = 60
# A count is not pressed closer to none or to all than this many rows.
_LEAST = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A released count of a region; `deviation` is the standard deviation of its noise."""

    region: Region
    value: int
    deviation: float


def shrunken(measured: float, believed: float, deviation: float) -> float:
    """Return where to move a belief: towards the measured value, less where noise explains the gap.

    >>> shrunken(150, 100, 30), shrunken(120, 100, 30)
    (132.0, 100)
    """
    gap = measured - believed
    if abs(gap) <= deviation:
        return believed
    return believed + gap * (1 - (deviation / gap) ** 2)


def impose(hypothesis: Hypothesis, measurement: Measurement) -> None:
    """Move the belief about one region to its shrunken measurement; all other proportions stay.

    To multiply the region by m·(N - s)/((N - m)·s) makes its count m: the step of multiplicative weights that
    ends on the target. A region that is believed empty, or to be everything, cannot be moved.
    """
    total, believed = hypothesis.total, hypothesis.count(measurement.region)
    least, rest = min(_LEAST, total / 4), total - believed
    if not (believed > 0 and rest > 0):
        return
    target = shrunken(measurement.value, believed, measurement.deviation)
    target = min(max(target, min(least, believed)), total - min(least, rest))
    if target != believed:
        hypothesis.multiply(measurement.region, target * rest / ((total - target) * believed))


@dataclass(slots=True)
class Learner:
    """A hypothesis and the latest measurements that it has learnt from.

    >>> learner = Learner(Hypothesis.uniform((4,), total=100))
    >>> first = Region.product((4,), {0: [True, False, False, False]})
    >>> learner.learn(Measurement(first, 70, deviation=0.0))
    >>> round(learner.hypothesis.count(first), 9)
    70.0
    """

    hypothesis: Hypothesis
    latest: deque[Measurement] = field(default_factory=lambda: deque(maxlen=LATEST))

    def guess(self, region: Region) -> int:
        """Return the public guess of a count: the nearest whole number."""
        return round(self.hypothesis.count(region))

    def learn(self, measurement: Measurement) -> None:
        """Impose a new measurement, then all of the latest once more, the new one last."""
        impose(self.hypothesis, measurement)
        self.latest.append(measurement)
        for each in self.latest:
            impose(self.hypothesis, each)
