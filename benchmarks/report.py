"""How measurements are taken and shown: medians of rounds in which all candidates take turns."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass


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
    def verdict(self) -> str:
        """Say whether the target was met."""
        if self.ratio is None or self.target is None:
            return ""
        return "ok" if self.ratio >= self.target else "MISSED"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each candidate, round by round."""

    seconds: Mapping[str, Sequence[float]]

    def __getitem__(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, theirs: str, ours: str) -> float:
        """Return the median over rounds of their time by ours; a round's two times saw the same machine."""
        pairs = zip(self.seconds[theirs], self.seconds[ours], strict=True)
        return statistics.median(their / our for their, our in pairs)


def timed(candidates: Mapping[str, Callable[[], object]], rounds: int = 9) -> Times:
    """Time candidates that take turns, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for work in candidates.values():
        work()
    for _ in range(rounds):
        for name, work in candidates.items():
            begin = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - begin)
    return Times(seconds)


def rate(seconds: float, count: int) -> str:
    """Show a speed."""
    return f"{count / seconds / 1e6:,.3g} M/s"


def shown_ratio(value: float) -> str:
    """Show a ratio in three digits, without a power of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def show(title: str, rows: Iterable[Row]) -> bool:
    """Print a table as its rows come in; return whether all targets were met."""
    print(f"\n{title}\n{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    print(f"{'case':<44} {'ours':>14} {'theirs':>14} {'ratio':>9} {'target':>7}")
    met = True
    for row in rows:
        ratio = "" if row.ratio is None else f"{shown_ratio(row.ratio)}x"
        target = "" if row.target is None else f"{row.target:.3g}x"
        print(
            f"{row.case:<44} {row.ours:>14} {row.theirs:>14} {ratio:>9} {target:>7} {row.verdict}", flush=True
        )
        met = met and row.verdict != "MISSED"
    return met
