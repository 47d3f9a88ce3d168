"""A run: counts are guessed from the public hypothesis, checked by the guard, measured where it fires.

Nothing here is durable. Whoever keeps the record gives `record`, which stores what a firing measured before
anybody sees it and before the hypothesis learns from it; an exception there ends the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dovetail.check import Real
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.sampling import BitSource, System

from .base_tables import Base, CountEstimate
from .guard import Guard
from .hypothesis import Hypothesis
from .multiplicative_weights import Learner, Measurement
from .region import Region
from .sparse_vector import SparseVector

Origin: TypeAlias = Literal["base", "checked", "measured", "unchecked"]

_SYSTEM = System()


@dataclass(frozen=True, slots=True)
class OnlineAnswer:
    """A count and where it comes from, which decides what is known of its error.

    base: from measured tables; the fitted value, clipped into the interval of the unbiased estimate.
    checked: from the hypothesis, within ±alpha by the guard's promise for the whole run.
    measured: the true count with noise of its own. unchecked: from the hypothesis, and nothing is promised.
    """

    value: int
    origin: Origin
    estimate: CountEstimate | None = None
    guard: Guard | None = None

    def interval(self, level: Real = "0.95") -> tuple[float, float]:
        """Return an interval for the true count; an unchecked answer has none and refuses."""
        if self.origin == "checked" and self.guard is not None:
            half = self.guard.alpha(level)
            return self.value - half, self.value + half
        if self.origin == "measured" and self.guard is not None and self.guard.answer_noise is not None:
            reach = self.guard.answer_noise.quantile_abs(level)
            return self.value - reach, self.value + reach
        if self.estimate is not None:
            return self.estimate.interval(level)
        raise InvalidQuery(
            "This answer was not checked and no measured table contains it, so its error is unknown.",
            "Ask for it where updates are left, or ask about fewer columns.",
        )


def _forget(region: Region, measured: int) -> None:
    """Keep no record: for experiments."""


@dataclass(slots=True)
class Run:
    """One run in memory: a hypothesis that learns, and the tests that check what it guesses.

    `truth` counts the rows of a region; only tests and measurements look at it. Without tests every answer
    comes from the base.
    """

    learner: Learner
    truth: Callable[[Region], int]
    base: Base | None = None
    tests: SparseVector | None = None
    record: Callable[[Region, int], None] = _forget
    asked: int = 0

    def __post_init__(self) -> None:
        if self.tests is None and self.base is None:
            raise InvalidParameter("tests", None, "given where there is no base")
        if self.tests is not None and self.tests.guard.answer_noise is None:
            raise InvalidParameter(
                "tests", self.tests.guard.answers, "those of a guard that measures answers"
            )

    @classmethod
    def from_base(
        cls,
        base: Base,
        truth: Callable[[Region], int],
        tests: SparseVector | None = None,
        record: Callable[[Region, int], None] = _forget,
    ) -> Run:
        """Begin with the joint that is fitted to measured tables."""
        return cls(Learner(base.hypothesis()), truth, base, tests, record)

    @classmethod
    def empty(
        cls,
        shape: tuple[int, ...],
        rows: int,
        truth: Callable[[Region], int],
        tests: SparseVector,
        record: Callable[[Region, int], None] = _forget,
    ) -> Run:
        """Begin with an even hypothesis (multiplicative weights); `rows` is the noisy number of rows."""
        return cls(Learner(Hypothesis.uniform(shape, rows)), truth, None, tests, record)

    @property
    def left(self) -> int:
        """How many updates are left."""
        return 0 if self.tests is None else self.tests.left

    def replay(self, measured: Iterable[tuple[Region, int]]) -> None:
        """Learn again, in order, what earlier firings of this run measured, and count them."""
        for region, value in measured:
            assert self.tests is not None
            self.tests.fired += 1
            self._learn(region, value)

    def answer(self, region: Region, *, unchecked: bool = False, source: BitSource = _SYSTEM) -> OnlineAnswer:
        """Answer one count: from the base where nothing checks it, else by the tests.

        Once the updates are used up, only `unchecked` answers are given.
        """
        if self.tests is None or (unchecked and not self.left):
            return self._unchecked(region)
        guess = self.learner.guess(region)
        outcome = self.tests.ask(self.truth(region), guess, source)
        self.asked += 1
        if outcome.measured is None:
            return OnlineAnswer(guess, "checked", guard=self.tests.guard)
        self.record(region, outcome.measured)
        self._learn(region, outcome.measured)
        return OnlineAnswer(outcome.measured, "measured", guard=self.tests.guard)

    def _learn(self, region: Region, value: int) -> None:
        assert self.tests is not None
        noise = self.tests.guard.answer_noise
        assert noise is not None
        self.learner.learn(Measurement(region, value, noise.std()))

    def _unchecked(self, region: Region) -> OnlineAnswer:
        self.asked += 1
        guess = self.learner.guess(region)
        estimate = None if self.base is None else self.base.estimate(region)
        if estimate is None:
            return OnlineAnswer(guess, "unchecked")
        return OnlineAnswer(estimate.clipped(guess), "base", estimate)
