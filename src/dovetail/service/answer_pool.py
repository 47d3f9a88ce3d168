"""The threads that answer questions, which may take long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

from fastapi.responses import Response


class AnswerPool:
    """A number of threads; it knows whether all of them are at work."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="answer")
        self._threads, self._lock, self._taken = threads, Lock(), 0

    @property
    def full(self) -> bool:
        """Tell whether work that is given now has to wait for a thread."""
        return self._taken >= self._threads

    def begin(self, work: Callable[[], Response]) -> asyncio.Future[Response]:
        """Give work to a thread."""
        with self._lock:
            self._taken += 1
        given = self._pool.submit(work)
        given.add_done_callback(self._ended)
        return asyncio.wrap_future(given)

    def _ended(self, _given: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1

    def close(self) -> None:
        """Wait until all that was begun has ended."""
        self._pool.shutdown(wait=True)
