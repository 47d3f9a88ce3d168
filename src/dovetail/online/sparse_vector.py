"""The sparse vector technique with two one-sided tests: pass, or fire and measure.

Thresholds are drawn once, when a run opens, one for each side. To draw one again, to let both sides share
one, or to show the number that a test looked at would break the price; see `Guard`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.errors import UpdatesExhausted
from dovetail.sampling import BitSource, System, draw

from .guard import Guard

_SYSTEM = System()


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The private draws of one run, made once and kept until it ends; never shown, never drawn again."""

    above: int
    below: int

    @classmethod
    def drawn(cls, guard: Guard, source: BitSource = _SYSTEM) -> Thresholds:
        """Draw both, independently."""
        return cls(draw(guard.threshold_noise, source), draw(guard.threshold_noise, source))

    def __repr__(self) -> str:
        return "<thresholds: private>"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question tells: 0, nothing fired and the guess stands; 1 or -1, the truth lies above or below.

    `measured` is the truth with noise, where something fired and the run has noise for answers.
    """

    sign: int
    measured: int | None = None


_PASSED = Outcome(0)


def verdict(guard: Guard, thresholds: Thresholds, error: int, source: BitSource = _SYSTEM) -> int:
    """Test `error` = truth - guess: 1 if the upper test fires, else -1 if the lower one does, else 0."""
    if guard.tests.fires(guard.distance + thresholds.above - error, source.word()):
        return 1
    if guard.tests.fires(guard.distance + thresholds.below + error, source.word()):
        return -1
    return 0


def measure(guard: Guard, truth: int, source: BitSource = _SYSTEM) -> int | None:
    """Return the truth with fresh noise; it has nothing to do with what the test looked at."""
    return None if guard.answer_noise is None else truth + draw(guard.answer_noise, source)


@dataclass(slots=True)
class SparseVector:
    """A run in memory: its guard, its thresholds and how many updates it has used.

    It keeps no record, so it is for experiments; a session's run is kept by its ledger.

    >>> from dovetail.noise import Geometric
    >>> from dovetail.online import Guard, ResponseCurve
    >>> guard = Guard(Geometric(1), ResponseCurve.pure(1), Geometric(1), updates=1, distance=50)
    >>> run = SparseVector.opened(guard)
    >>> run.ask(truth=1000, guess=10).sign, run.left
    (1, 0)
    """

    guard: Guard
    thresholds: Thresholds
    fired: int = 0
    asked: int = 0

    @classmethod
    def opened(cls, guard: Guard, source: BitSource = _SYSTEM) -> SparseVector:
        """Draw the thresholds of a new run."""
        return cls(guard, Thresholds.drawn(guard, source))

    @property
    def left(self) -> int:
        """How many updates are left."""
        return self.guard.updates - self.fired

    def ask(self, truth: int, guess: int, source: BitSource = _SYSTEM) -> Outcome:
        """Test a public guess against the truth; a firing is counted before anything is returned."""
        if not self.left:
            message = (
                f"All {self.guard.updates} updates of this run are used, after {self.asked} questions. "
                "Open a new run, or take answers that are not checked."
            )
            raise UpdatesExhausted(message, asked=self.asked, updates=self.guard.updates)
        self.asked += 1
        sign = verdict(self.guard, self.thresholds, truth - guess, source)
        if not sign:
            return _PASSED
        self.fired += 1
        return Outcome(sign, measure(self.guard, truth, source))
