"""Wait for an answer as long as a client should, then say where it will be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from dovetail.errors import LedgerBusy

from .answer_pool import AnswerPool
from .replies import reply
from .reply_types import Reply, Running

_LONGEST = 600.0


async def answer_or_place(
    pool: AnswerPool, patience: float, work: Callable[[], Response], running: Callable[[], str | None]
) -> Response:
    """Return the reply, or where to look for it if it takes long or another attempt is at work."""
    future, waited = pool.begin(work), 0.0
    # Whatever becomes of it stands in the record, also when nobody waits for it any more.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    while True:
        await asyncio.wait([future], timeout=patience)
        if future.done():
            try:
                return future.result()
            except LedgerBusy:
                public = await run_in_threadpool(running)
                if public is None:
                    raise
                return under_way(public)
        waited += patience
        public = await run_in_threadpool(running)
        if public is not None:
            return under_way(public)
        if waited > _LONGEST:
            raise LedgerBusy("The answer takes too long.", "Try again with the same key.")


def under_way(public: str) -> Reply[Running]:
    """Return where the answer will be."""
    running: Running = {"id": public, "state": "running"}
    return reply(running, 202, Location=f"/v1/answers/{public}", Retry_After="1")
