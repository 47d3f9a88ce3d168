"""The guard of a run: what its tests are, what they promise and what the whole run costs.

e = f(D) - guess is what a test looks at, the guess being public. The upper test fires with chance
S(T + rho_above - e), the lower one with S(T + rho_below + e), where both thresholds are drawn once a run.

Why one threshold is enough in each direction: let D' be D and one row more, so that every e grows by 0 or 1.
For D against D' read rho_above + 1 in D' for rho_above in D, and the same rho_below in both. Then each test
has t' = t or t + 1, so it fires with chance S(t) in D, and S(t) or S(t + 1) in D'. For D' against D move
rho_below instead. So a run costs one threshold, and for every firing one step of the curve and one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, Literal, TypeAlias

import numpy as np

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.exact.bisection import least_whole
from dovetail.noise import IntegerNoise, from_dict
from dovetail.pricing.stretching import stretched
from dovetail.privacy import PrivacyLoss, privacy_loss

from .response_curve import ResponseCurve

Neighbours: TypeAlias = Literal["add-remove", "replace"]

_MOST_UPDATES = 10**6
_MOST_ROWS = 10**6
_FAR = Fraction(1, 10**12)


@dataclass(frozen=True)
class Guard:
    """The public parameters of a run: everything that its price and its promise depend on.

    `threshold` and `answers` are noises for counts that move by 1, `curve` one for steps of 1. What is drawn
    is `threshold_noise`, `tests` and `answer_noise`: the same, stretched to what one neighbour can move. Only
    they are priced, so what is priced is what is drawn. `distance` is the T of the tests.
    `counts_rows`: one more answer tells how many rows there are.
    """

    threshold: IntegerNoise
    curve: ResponseCurve
    answers: IntegerNoise | None
    updates: int
    distance: int = 0
    neighbours: Neighbours = "add-remove"
    rows: int = 1
    counts_rows: bool = True

    def __post_init__(self) -> None:
        for name, noise in (("threshold", self.threshold), ("answers", self.answers)):
            if not (isinstance(noise, IntegerNoise) or (name == "answers" and noise is None)):
                raise InvalidParameter(name, noise, "a noise on the integers", "Use geometric noise.")
            if noise is not None and not noise.releasable:
                raise InvalidParameter(name, noise, "a noise without an end", "Use geometric noise.")
        if not isinstance(self.curve, ResponseCurve) or self.curve.width != 1:
            fix = "Give a response curve for counts that move by 1; for persons it is widened."
            raise InvalidParameter("curve", self.curve, "a response curve of width 1", fix)
        check.integer("updates", self.updates, 1, _MOST_UPDATES)
        check.integer("distance", self.distance, 0, 2**40)
        check.choice("neighbours", self.neighbours, ("add-remove", "replace"))
        check.integer("rows", self.rows, 1, _MOST_ROWS)

    @cached_property
    def threshold_noise(self) -> IntegerNoise:
        """The noise of both thresholds, as it is drawn."""
        return stretched(self.threshold, self.rows)

    @cached_property
    def answer_noise(self) -> IntegerNoise | None:
        """The noise of a measured answer, as it is drawn; None where a firing tells its sign only."""
        return None if self.answers is None else stretched(self.answers, self.rows)

    @cached_property
    def tests(self) -> ResponseCurve:
        """The curve of the tests, as it is used; a replaced person moves an answer both ways."""
        return self.curve.widened(self.rows * (1 if self.neighbours == "add-remove" else 2))

    def loss(self, base: PrivacyLoss | None = None) -> PrivacyLoss:
        """Return the privacy loss of the whole run after `base`, for any number of questions.

        An upper bound; one-way, so it is never reversed. Unused updates are paid for, too.
        """
        thresholds = 1 if self.neighbours == "add-remove" else 2
        whole = privacy_loss(self.threshold_noise, sensitivity=self.rows).compose(thresholds)
        whole = whole.then(self.curve.loss().compose(self.updates))
        if self.answer_noise is not None:
            answers = self.updates + (1 if self.counts_rows else 0)
            whole = whole.then(privacy_loss(self.answer_noise, sensitivity=self.rows).compose(answers))
        return whole if base is None else whole.then(base)

    def alpha(self, level: Real = "0.95") -> int:
        """Return how far a passed answer may be from the truth: for all of a run's answers at once.

        A test that passes has T + rho -+ e above `tests.certain`. So except with probability 1 - level over
        the two thresholds, |f(D) - guess| <= alpha for every question that passes, however many there are.
        """
        wanted = check.within("level", level, "0.5", "0.999999999", "Give the level, for example 0.95.")
        # P(rho <= q)² >= level where P(|rho| > q) <= 2·(1 - sqrt(level)), the root rounded up.
        scale = 10**24
        root = Fraction(isqrt(int(wanted * scale * scale)) + 1, scale)
        reach = int(self.threshold_noise.quantile_abs(2 * root - 1))
        return self.distance - 1 - self.tests.certain + reach

    def false_alarm(self, distance: int | None = None) -> float:
        """Return the chance that one of the two tests fires though the guess is right, nearly."""
        reach = int(self.threshold_noise.quantile_abs(1 - _FAR))
        rho = np.arange(-reach, reach + 1)
        masses = np.asarray(self.threshold_noise.pmf(rho))
        place = self.distance if distance is None else distance
        return float(masses @ self.tests.probabilities(place + rho))

    def placed(self, chance: Real) -> Guard:
        """Return the guard with the least distance at which a test gives a false alarm with this chance."""
        wanted = float(check.probability("chance", chance, "Give a small chance, for example 1e-4."))
        if self.false_alarm(2**40) > wanted:
            raise InvalidParameter("chance", chance, "above 2^-40, the least chance of a firing")
        return replace(self, distance=least_whole(0, lambda place: self.false_alarm(place) <= wanted))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` makes the same guard.

        >>> from dovetail.noise import Geometric
        >>> guard = Guard(Geometric(1), ResponseCurve.pure(1), Geometric("0.5"), updates=3, distance=9)
        >>> Guard.from_dict(guard.to_dict()) == guard
        True
        """
        return {
            "threshold": self.threshold.to_dict(),
            "curve": self.curve.to_dict(),
            "answers": None if self.answers is None else self.answers.to_dict(),
            "updates": self.updates,
            "distance": self.distance,
            "neighbours": self.neighbours,
            "rows": self.rows,
            "counts_rows": self.counts_rows,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guard:
        """Read what `to_dict` wrote."""
        answers = None if data["answers"] is None else from_dict(data["answers"])
        noises = {"threshold": from_dict(data["threshold"]), "answers": answers}
        return cls(**{**data, **noises, "curve": ResponseCurve.from_dict(data["curve"])})


def run_loss(
    threshold: IntegerNoise,
    curve: ResponseCurve,
    answers: IntegerNoise | None,
    updates: int,
    neighbours: Neighbours = "add-remove",
    rows: int = 1,
    base: PrivacyLoss | None = None,
) -> PrivacyLoss:
    """Return the loss of a run of unlimited adaptive questions and `updates` firings, rounded up.

    `rows` is how many rows of one person count. Without answers a firing tells its sign only. Without a base
    one answer more pays for the number of rows.

    >>> from dovetail.noise import Geometric
    >>> run_loss(Geometric("0.1"), ResponseCurve.pure("0.04"), None, 10).epsilon
    0.5
    """
    counts = answers is not None and base is None
    return Guard(threshold, curve, answers, updates, 0, neighbours, rows, counts).loss(base)
