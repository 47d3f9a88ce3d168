"""What the sampler needs to know of a noise, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class GeometricRun:
    """Consecutive integers from `start` on, whose probabilities fall as exp(-rate·(k - start)).

    `count` is how many there are; None means that the run never ends.

    >>> GeometricRun(start=5, count=None, rate=Fraction(1, 2)).rate
    Fraction(1, 2)
    """

    start: int
    count: int | None
    rate: Fraction


@runtime_checkable
class Law(Protocol):
    """A probability law on the integers, symmetric about 0; hashable, so that its tables can be kept."""

    @property
    def runs(self) -> tuple[GeometricRun, ...] | None:
        """Return runs that cover 0, 1, 2, … in order, or None where the law has no such structure."""
        ...

    def tail_ball(self, k: int, bits: int) -> Any:
        """Return an Arb ball around P(Y >= k), for k >= 1, good to about `bits` relative bits."""
        ...

    def __hash__(self) -> int: ...
