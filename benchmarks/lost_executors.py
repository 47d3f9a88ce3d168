"""Kill Spark's executors while a question is under way, then Spark itself.

    python -m benchmarks.lost_executors [--rows 10000000] [--kills 5]

Two executors, in processes of their own, answer a histogram to which each person adds at most two rows, so
that rows go from one to the other. The noise is so narrow that it is 0: each answer has to be the one that
came without a kill. One executor is killed (kill -9) at a random moment of a question, then both at once,
then all that Spark starts in their place until it gives up, then Spark itself. Each question must have been
charged once, answered or not, and the ledger must verify. One line of JSON a question; the exit code says
whether all of this held.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import dovetail as dv
from dovetail.errors import DataError
from dovetail.ledger import Ledger

from .engines import Place, children, through_cluster
from .scale import PERSONS, make_folder, opened

# Other than 0 with a chance of 1e-26.
NOISE = dv.Geometric(60)
# How a killer works: it gets the process of Java's, and an event that is set when the question is over.
Killer = Callable[[int, Event], int]


def executors(java: int) -> list[int]:
    """Return the executors that a Spark driver has started, by their process numbers."""
    return [number for number in children(java) if b"CoarseGrainedExecutorBackend" in _command(number)]


def _command(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def kill(processes: list[int]) -> int:
    """End processes at once; return how many there were."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(processes)


def some(most: int) -> Killer:
    """Kill so many executors, once."""
    return lambda java, _: kill(executors(java)[:most])


def every(java: int, over: Event) -> int:
    """Kill all executors, and those that Spark starts in their place, until the question is over."""
    killed = 0
    while not over.wait(0.1):
        killed += kill(executors(java))
    return killed


def spark_itself(java: int, _: Event) -> int:
    """Kill the process that drives Spark, and what it has started."""
    return kill([*executors(java), java])


class Trial:
    """A session on two executors, and what became of its questions."""

    def __init__(self, place: Place, session: dv.Session) -> None:
        assert place.server is not None
        self._java, self._session = place.server, session
        self._status = place.source.sparkContext.statusTracker()
        self.failed = False
        self._ask()
        began = time.perf_counter()
        self._right = self._ask()
        self._seconds = time.perf_counter() - began
        self.asked = 2

    def _ask(self) -> Any:
        return self._session.histogram("key", noise=NOISE, fresh=True).table.to_pydict()

    def under(self, name: str, killer: Killer, answered: bool) -> None:
        """Ask while a killer is at work from a random moment on, and print what came of it."""
        over, noted = Event(), dict[str, Any]()

        def work() -> None:
            while not self._status.getActiveJobsIds() and not over.wait(0.02):
                pass
            if not over.wait(random.uniform(0, 0.4) * self._seconds if answered else 0):
                noted["moment"] = round(time.perf_counter() - began, 2)
                noted["killed"] = killer(self._java, over)

        # Spark starts others in place of those that were killed, unless it has given up.
        until = time.monotonic() + 60
        while len(executors(self._java)) < 2 and time.monotonic() < until:
            time.sleep(0.1)
        began, thread = time.perf_counter(), Thread(target=work)
        thread.start()
        try:
            outcome = "right" if self._ask() == self._right else "WRONG"
        except DataError as error:
            outcome = str(error)
        noted["seconds"] = round(time.perf_counter() - began, 2)
        over.set()
        thread.join()
        self.asked += 1
        # One that was over before the kill shows nothing.
        self.failed |= "killed" not in noted
        print(json.dumps({"lost": name, **noted, "outcome": outcome}), flush=True)
        self.failed |= (outcome == "right") != answered or "WRONG" in outcome


def recorded(ledger: Path, asked: int) -> bool:
    """Print what is on record; return whether it is one charge a question, and verifies."""
    with Ledger.open(ledger) as book:
        book.verify()
        (kept,) = book.statements()
    found = {"answered": kept.answered, "failed": kept.failed, "unanswered": kept.unanswered}
    print(json.dumps({"asked": asked, **found, "charged": str(kept.charged)}), flush=True)
    # Stretched to the rows of a person, the noise costs what it costs for one row.
    charged = dv.privacy_loss(NOISE).charge().epsilon * asked
    return sum(found.values()) == asked and kept.charged.epsilon == charged


def main() -> int:
    """Try every way to lose executors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, ledger = Path(name) / "rows", Path(name) / "rows.ledger"
        make_folder(folder, options.rows)
        with suppress(Exception), through_cluster(folder) as place, opened(place, ledger, PERSONS) as session:
            trial = Trial(place, session)
            for _ in range(options.kills):
                trial.under("one executor", some(1), answered=True)
            trial.under("both executors", some(2), answered=True)
            trial.under("all that Spark starts", every, answered=False)
            trial.under("Spark itself", spark_itself, answered=False)
        return int(trial.failed or not recorded(ledger, trial.asked))


if __name__ == "__main__":
    sys.exit(main())
