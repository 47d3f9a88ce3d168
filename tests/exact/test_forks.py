"""A lock that was held at a fork is free in the child."""

from __future__ import annotations

import os
from threading import Event, RLock, Thread

import pytest

from dovetail.exact.forks import ForkGuard


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("make", [None, RLock])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_finds_the_lock_free_that_another_thread_of_its_parent_held(make) -> None:
    guard = ForkGuard() if make is None else ForkGuard(make)
    held, done = Event(), Event()

    def hold() -> None:
        with guard.lock:
            held.set()
            done.wait(60)

    holder = Thread(target=hold)
    holder.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0 if guard.lock.acquire(timeout=10) else 1)  # type: ignore[attr-defined]
    try:
        assert os.waitpid(child, 0)[1] == 0
        assert not guard.lock.acquire(blocking=False)  # type: ignore[attr-defined]
    finally:
        done.set()
        holder.join()
