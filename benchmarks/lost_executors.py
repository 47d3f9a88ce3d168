"""Kill Spark's executors while a question is under way, then Spark itself, then the process that asks.

    python -m benchmarks.lost_executors [--rows 10000000] [--kills 5]

Two executors, in processes of their own, answer a histogram to which each person adds at most two rows, so
that rows go from one to the other. The noise is so narrow that it is 0: each answer has to be the one that
came without a kill. All kills are kill -9, during a question:

- one executor, then both at once: the answer has to come, and be right;
- both whenever tasks run, until Spark gives up the job: the next question has to be answered;
- all that Spark starts in their place, for which it would wait for ever: Ctrl-C has to end the question;
- Spark itself;
- the process that asks: another one has to get the answer under the same key, for the same charge.

Where Spark gives up, the error has to say that the charge stays. A retry of what has failed, under the same
key, has to be refused. Each question must have been charged once, answered or not, and the ledger must
verify. One line of JSON a question; the exit code says whether all of this held.
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
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import dovetail as dv
from dovetail.errors import DataError, LedgerError
from dovetail.ledger import Ledger

from .engines import Place, children, through_cluster
from .scale import PERSONS, make_folder, opened

# Other than 0 with a chance of 1e-26.
NOISE = dv.Geometric(60)
# The key of the question whose process is killed, and the seconds after which another may take it over.
LEFT, LEASE = "left by a process that was killed", 1.0
STOPPED = "stopped by Ctrl-C"
# How a killer works: it gets the process of Java's, and an event that is set when the question is over.
Killer = Callable[[int, Event], int]


class Outcome(NamedTuple):
    """What became of the questions of a process: how many, the right answer, and whether all went well."""

    asked: int
    right: Any
    well: bool


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
    """Kill all executors, and those that Spark starts in their place; stop the question after a while."""
    killed, end = 0, time.monotonic() + 20
    while not over.wait(0.1):
        killed += kill(executors(java))
        if time.monotonic() > end:
            os.kill(os.getpid(), signal.SIGINT)
            over.wait()
    return killed


def whenever_busy(place: Place) -> Killer:
    """Kill all executors whenever one of them works, until the question is over."""
    status = place.source.sparkContext._jsc.sc().statusTracker()

    def killer(java: int, over: Event) -> int:
        killed = 0
        # A second for Spark to notice: a new one that has not begun to work is let live.
        while not over.wait(1):
            if any(each.numRunningTasks() for each in status.getExecutorInfos()):
                killed += kill(executors(java))
        return killed

    return killer


def nobody(_java: int, _over: Event) -> int:
    """Kill nothing."""
    return 0


def spark_itself(java: int, _: Event) -> int:
    """Kill the process that drives Spark, and what it has started."""
    return kill([*executors(java), java])


class Trial:
    """A session on two executors, and what became of its questions."""

    def __init__(self, place: Place, session: dv.Session) -> None:
        assert place.server is not None
        self._java, self._session = place.server, session
        self._status = place.source.sparkContext.statusTracker()
        self._asked, self._well = 0, True
        self._ask("the first, which is slow")
        began = time.perf_counter()
        self._right = self._ask("without a kill")
        self._seconds = time.perf_counter() - began

    def outcome(self) -> Outcome:
        """Return what to check the ledger against."""
        return Outcome(self._asked, self._right, self._well)

    def _ask(self, name: str) -> Any:
        self._asked += 1
        return answer(self._session, f"{os.getpid()} {self._asked} {name}")

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
            outcome = "right" if self._ask(name) == self._right else "WRONG"
        except DataError as error:
            outcome = str(error)
        except KeyboardInterrupt:
            outcome = STOPPED
        noted["seconds"] = round(time.perf_counter() - began, 2)
        over.set()
        thread.join()
        # One that was over before the kill shows nothing.
        well = "killed" in noted and (outcome == "right" if answered else self._refused(name, outcome))
        print(json.dumps({"lost": name, **noted, "outcome": outcome, "well": well}), flush=True)
        self._well &= well

    def _refused(self, name: str, outcome: str) -> bool:
        """Tell whether the error says what became of the charge, and a retry is refused for being paid."""
        with suppress(DataError):
            try:
                answer(self._session, f"{os.getpid()} {self._asked} {name}")
            except LedgerError as error:
                told = outcome == STOPPED or "stays spent" in outcome
                return told and "failed and stays charged" in str(error)
        return False


def answer(session: dv.Session, key: str) -> Any:
    """Return the histogram, asked for under a key."""
    return session.histogram("key", noise=NOISE, fresh=True, request=key).table.to_pydict()


def executors_lost(folder: Path, ledger: Path, kills: int) -> Outcome:
    """Lose executors."""
    with suppress(Exception), through_cluster(folder) as place, opened(place, ledger, PERSONS) as session:
        trial = Trial(place, session)
        for _ in range(kills):
            trial.under("one executor", some(1), answered=True)
        trial.under("both executors", some(2), answered=True)
        trial.under("both whenever tasks run", whenever_busy(place), answered=False)
        trial.under("none, after Spark gave up a job", nobody, answered=True)
        trial.under("all that Spark starts", every, answered=False)
    return trial.outcome()


def spark_lost(folder: Path, ledger: Path) -> Outcome:
    """Lose Spark itself."""
    with suppress(Exception), through_cluster(folder) as place, opened(place, ledger, PERSONS) as session:
        trial = Trial(place, session)
        trial.under("Spark itself", spark_itself, answered=False)
    return trial.outcome()


def ask_once(folder: Path, ledger: Path) -> Any:
    """Ask under the key that a killed process leaves behind."""
    with (
        Ledger.open(ledger, lease=LEASE) as book,
        through_cluster(folder) as place,
        opened(place, book, PERSONS) as session,
    ):
        return answer(session, LEFT)


def asking_process_lost(folder: Path, ledger: Path) -> Outcome:
    """Kill a process between reservation and answer; let another one ask again under the same key."""
    asking = get_context("spawn").Process(target=ask_once, args=(folder, ledger))
    asking.start()
    assert asking.pid is not None
    while asking.is_alive() and not _unanswered(ledger):
        time.sleep(0.02)
    time.sleep(random.uniform(0, 2))
    java = children(asking.pid)
    asking.kill()
    asking.join()
    left = _unanswered(ledger)
    until = time.monotonic() + 60
    while any(map(_command, java)) and time.monotonic() < until:
        time.sleep(0.1)
    orphans = sum(map(bool, map(_command, java)))
    right = in_a_process(ask_once, folder, ledger)
    well = left == 1 and not orphans and not _unanswered(ledger)
    print(json.dumps({"lost": "the process that asks", "left reserved": left, "Java left": orphans}))
    return Outcome(1, right, well)


def _unanswered(ledger: Path) -> int:
    with Ledger.open(ledger) as book:
        return sum(kept.unanswered for kept in book.statements())


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


def in_a_process(work: Callable[..., Any], *given: Any) -> Any:
    """Return what some work returns in a process of its own: one that has lost its Spark gets no other."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        return child.submit(work, *given).result()


def main() -> int:
    """Try every way to lose what a question needs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, ledger = Path(name) / "rows", Path(name) / "rows.ledger"
        make_folder(folder, options.rows)
        outcomes = [
            in_a_process(executors_lost, folder, ledger, options.kills),
            in_a_process(spark_lost, folder, ledger),
            asking_process_lost(folder, ledger),
        ]
        same = all(outcome.right == outcomes[0].right for outcome in outcomes)
        kept = recorded(ledger, sum(outcome.asked for outcome in outcomes))
        return int(not (kept and same and all(outcome.well for outcome in outcomes)))


if __name__ == "__main__":
    sys.exit(main())
