"""Keep Ctrl-C an interruption while a library works that would make a failure of it, or not heed it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread, current_thread, main_thread
from typing import TypeVar

T = TypeVar("T")
# How often a work is told to stop, and the seconds between: 10 s in all, then it is left to itself.
_STOPS, _PAUSE = 100, 0.1


def interruptible(work: Callable[[], T], stop: Callable[[], object]) -> T:
    """Return what `work` returns; where a signal's handler raises meanwhile, call `stop` and let that pass.

    Python runs handlers in the main thread only, so there the work is given to another one.

    >>> interruptible(lambda: 7, print)
    7
    """
    if current_thread() is not main_thread():
        return work()
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again by whoever waits
            outcome.set_exception(error)

    worker = Thread(target=run, daemon=True)
    try:
        # Inside: an interruption while it starts must not leave it working alone.
        worker.start()
        return outcome.result()
    except BaseException:
        for _ in range(_STOPS):
            if outcome.done():
                break
            # Again and again: a work that has not yet begun does not hear the first.
            stop()
            wait([outcome], timeout=_PAUSE)
        raise
