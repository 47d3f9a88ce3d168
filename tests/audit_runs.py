"""What audits share: an account without a disk, and lower bounds of what two samples prove to be lost.

Bounds are those of Clopper and Pearson over many events, both ways round; together they are too high with
probability `FALSE_ALARM` at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import exp, inf, log

import numpy as np
from scipy.stats import beta

from dovetail.answers.quote import Standing
from dovetail.errors import LedgerError
from dovetail.privacy import Budget, Charge
from dovetail.release.account import PlanState, Request, Reservation, StoredAnswer

FALSE_ALARM = 1e-9
_EVENTS = 3  # at most a point, at least it, equal to it


@dataclass
class InMemory:
    """An account without a disk, whose budget does not end."""

    budget: Budget = field(default_factory=lambda: Budget.pure(10**6))
    settles: bool = True
    secret: bytes = b"the key of this dataset"
    charges: list[Charge] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def standing(self, plans_of: str | None = None) -> Standing:
        return Standing(self.budget)

    def reserve(self, request: Request) -> Reservation | StoredAnswer:
        self.charges.append(request.charge)
        return Reservation(len(self.charges))

    def stored(self, request: Request) -> StoredAnswer | None:
        return None

    def settle_with_standing(
        self, reservation: Reservation, answer: str, plans_of: str | None = None
    ) -> tuple[datetime, Standing]:
        if not self.settles:
            raise LedgerError("the disk is full")
        self.kept.append(answer)
        return datetime.now(UTC), self.standing()

    def fail(self, reservation: Reservation, reason: str) -> None: ...

    def open_plan(self, body: str, charge: Charge, slots: int, analyst: str, **_: object) -> PlanState:
        raise NotImplementedError


def least_epsilon(one: np.ndarray, other: np.ndarray) -> float:
    """Return the epsilon that two samples prove, whichever table was the true one."""
    return max(log(low / high) if low > 0 else -inf for low, high in _chances(one, other))


def least_delta(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """Return the delta at an epsilon that two samples prove."""
    return max(low - exp(epsilon) * high for low, high in _chances(one, other))


def _chances(one: np.ndarray, other: np.ndarray) -> Iterator[tuple[float, float]]:
    """Yield the least chance of an event here and the largest there."""
    both = np.concatenate((one, other))
    # Just above the least lies what splits a lump at the end (nothing shown) from all else.
    points = np.unique([*np.quantile(both, np.linspace(0.001, 0.999, 60)).astype(int), both.min() + 1])
    level = FALSE_ALARM / (4 * _EVENTS * len(points))
    for first, second in ((one, other), (other, one)):
        hits, others = _counts(first, points), _counts(second, points)
        low = np.where(hits > 0, beta.ppf(level, hits, first.size - hits + 1), 0.0)
        high = np.where(others < second.size, beta.ppf(1 - level, others + 1, second.size - others), 1.0)
        yield from zip(low.tolist(), high.tolist(), strict=True)


def _counts(sample: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return how many numbers are at most each point, at least it, and equal to it."""
    ordered = np.sort(sample)
    below, up_to = np.searchsorted(ordered, points), np.searchsorted(ordered, points, side="right")
    return np.concatenate((up_to, sample.size - below, up_to - below))
