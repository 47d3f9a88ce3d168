"""Ask one online run very many questions, check every answer: `python -m benchmarks.online_soak 100000`.

It takes minutes and is no part of the benchmarks. The run is closed and opened again on the way, as after
restarts. What is checked: every answer that passed its test lies within the promise, unless the run is one of
the few that may miss it; what was told before is told again; the ledger verifies; memory does not grow with
the number of questions beyond what their answers need.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import dovetail as dv
from dovetail.errors import UpdatesExhausted
from dovetail.ledger import Ledger

from .online import BUDGET, D2

TOGETHER, RESTARTS = 500, 5


def questions(count: int, values: dict[str, tuple[str, ...]], seed: int = 1) -> list[str]:
    """Return so many different conditions: some values of one to three columns."""
    random, found = np.random.default_rng(seed), {}
    while len(found) < count:
        parts = []
        for name in random.choice(D2, random.integers(1, 4), replace=False):
            kept = [value for value in values[name] if random.random() < 0.5] or [values[name][0]]
            listed = ", ".join(f"'{value}'" for value in kept)
            parts.append(f"{name} IN ({listed})")
        found[" AND ".join(parts)] = None
    return list(found)


def main(count: int) -> int:
    """Ask, check, and say what was found."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "soak.ledger"
        asked = questions(count, _values())
        parts = np.array_split(np.arange(count), RESTARTS)
        told: dict[str, int] = {}
        beyond = unchecked = 0
        began, memory = time.perf_counter(), []
        for part in parts:
            with dv.Session(dv.datasets.adult(), budget=BUDGET, ledger=place) as session:
                run = session.online(*D2, queries=count, base=3, updates=50)
                alpha = run.plan.alpha
                for start in range(0, len(part), TOGETHER):
                    wheres = [asked[place] for place in part[start : start + TOGETHER]]
                    try:
                        answers = run.batch([dv.Count(where) for where in wheres])
                    except UpdatesExhausted:
                        answers = run.batch([dv.Count(where) for where in wheres], unchecked=True)
                    for where, answer in zip(wheres, answers, strict=True):
                        told[where] = int(answer.value)
                        if answer.origin == "checked":
                            region = next(run._domain.regions(answer.query))
                            beyond += abs(run._run.truth(region) - answer.value) > alpha
                        unchecked += answer.origin not in ("checked", "measured")
                again = [asked[place] for place in part[:: max(1, len(part) // 20)]]
                assert all(run.count(where, unchecked=True).value == told[where] for where in again)
                memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
                left = run.updates_left
        seconds = time.perf_counter() - began
        with Ledger.open(place) as ledger:
            ledger.verify()
        size = place.stat().st_size
        print(f"{count:,} questions, {RESTARTS} openings, {seconds:,.0f} s: {count / seconds:,.0f} a second")
        checks = f"{beyond} answers beyond it; {unchecked} were not checked; {left} of 50 updates left"
        print(f"promise ±{alpha}: {checks}")
        print("most memory after each part, MB: " + ", ".join(f"{each:,.0f}" for each in memory))
        print(f"ledger {size / 2**20:,.1f} MB, {size / count:,.0f} bytes a question; it verifies")
        return 1 if beyond else 0


def _values() -> dict[str, tuple[str, ...]]:
    schema = dv.datasets.adult().schema
    return {name: tuple(value for value in schema.get(name).values if value is not None) for name in D2}


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
