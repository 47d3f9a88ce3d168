"""How measurements are taken and shown: medians of rounds in which all candidates take turns."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

_MOST_SPREAD = 0.2
_MOST_RUNS = 4
_MOST_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: what was measured, our figure and theirs as shown, and a ratio against its target.

    A ratio of at least the target is a pass; None for a figure that is only reported.
    """

    case: str
    ours: str
    theirs: str
    ratio: float | None = None
    target: float | None = None

    @property
    def spread(self) -> str:
        """How far the ratios of two runs in a row lay apart, where the ratio is one of times."""
        return f"{self.ratio.spread:.0%}" if isinstance(self.ratio, Ratio) else ""

    @property
    def verdict(self) -> str:
        """Say whether the target was met."""
        if self.ratio is None or self.target is None:
            return ""
        return "ok" if self.ratio >= self.target else "MISSED"


class Ratio(float):
    """A ratio of times, with how far apart the ratios of the two halves of its rounds lie: 0.1 is a tenth."""

    spread: float

    def __new__(cls, value: float, spread: float) -> Ratio:
        """Keep both."""
        made = super().__new__(cls, value)
        made.spread = spread
        return made

    def per(self, theirs: int, ours: int) -> Ratio:
        """Return the ratio for one of `theirs` and one of `ours`, where so many were done."""
        return Ratio(self * ours / theirs, self.spread)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each candidate, round by round."""

    seconds: Mapping[str, Sequence[float]]

    def __getitem__(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, theirs: str, ours: str) -> Ratio:
        """Return the median over rounds of their time by ours; a round's two times saw the same machine."""
        pairs = zip(self.seconds[theirs], self.seconds[ours], strict=True)
        ratios = [their / our for their, our in pairs]
        half = (len(ratios) + 1) // 2
        first, second = statistics.median(ratios[:half]), statistics.median(ratios[-half:])
        return Ratio(statistics.median(ratios), max(first, second) / min(first, second) - 1)

    def settled(self) -> bool:
        """Say whether two runs in a row give about the same ratios of all candidates to the first."""
        first, *others = self.seconds
        return all(self.ratio(other, first).spread <= _MOST_SPREAD for other in others)


def timed(
    candidates: Mapping[str, Callable[[], object]],
    rounds: int = 9,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Time candidates that take turns, as `measured` does."""
    return measured({name: partial(seconds_of, work, clock) for name, work in candidates.items()}, rounds)


def seconds_of(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long some work takes."""
    begin = clock()
    work()
    return clock() - begin


def measured(candidates: Mapping[str, Callable[[], float]], rounds: int = 9) -> Times:
    """Let candidates take turns, each of which returns its own seconds, after one round that does not count.

    Where the two halves of the rounds disagree by more than a fifth there are more rounds, up to four times
    as many and only while they take less than half a minute.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for work in candidates.values():
        work()
    began, times = time.perf_counter(), Times(seconds)
    for _ in range(_MOST_RUNS):
        for _ in range(rounds):
            for name, work in candidates.items():
                seconds[name].append(work())
        if times.settled() or time.perf_counter() - began > _MOST_SECONDS:
            break
    return times


def with_bytecode(folder: str) -> dict[str, str]:
    """Return an environment whose processes keep bytecode in a folder, as an installer writes it."""
    return os.environ | {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}


def rate(seconds: float, count: int) -> str:
    """Show a speed."""
    return f"{count / seconds / 1e6:,.3g} M/s"


def shown_ratio(value: float) -> str:
    """Show a ratio in three digits, without a power of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def show(title: str, rows: Iterable[Row]) -> bool:
    """Print a table as its rows come in; return whether all targets were met."""
    print(f"\n{title}\n{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    print(f"{'case':<44} {'ours':>14} {'theirs':>14} {'ratio':>9} {'spread':>7} {'target':>7}")
    met = True
    for row in rows:
        ratio = "" if row.ratio is None else f"{shown_ratio(row.ratio)}x"
        target = "" if row.target is None else f"{row.target:.3g}x"
        figures = f"{row.ours:>14} {row.theirs:>14} {ratio:>9} {row.spread:>7} {target:>7}"
        print(f"{row.case:<44} {figures} {row.verdict}", flush=True)
        met = met and row.verdict != "MISSED"
    return met
