"""Bound how many long computations run at once: requests for answers must always find a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from .problems import Refused

MOST = 4
_places = BoundedSemaphore(MOST)


@contextmanager
def computing() -> Iterator[None]:
    """Take a place for a design, a comparison or a certificate, or refuse while all of them are taken."""
    if not _places.acquire(blocking=False):
        raise Refused(
            503, "busy", f"{MOST} designs, comparisons or certificates are being computed.", "Try again soon."
        )
    try:
        yield
    finally:
        _places.release()
