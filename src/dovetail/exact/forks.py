"""Locks that a forked child finds free."""

from __future__ import annotations

import os

# What `threading` calls Lock: a first draw needs nothing else of it, and it takes half a millisecond to load.
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


class ForkGuard:
    """Holds a lock, `with guard.lock:`, and another one in a forked child.

    A thread of the parent may have held the lock at the fork; in the child nobody would ever release it.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[Any]] = allocate_lock) -> None:
        self._make = make
        self.lock = make()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = self._make()
