"""Let a PostgreSQL server lose what it has only in memory."""

from __future__ import annotations

import os
import signal
import time

import psycopg

_WRITER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"


def writer(url: str) -> int:
    """Return the process of the server that writes to disk what nobody waits for."""
    with psycopg.connect(url) as connection:
        row = connection.execute(_WRITER).fetchone()
    assert row is not None
    return int(row[0])


def crash(url: str, victim: int) -> None:
    """Let the server lose what it has only in memory, and wait until it is back."""
    os.kill(victim, signal.SIGKILL)
    for _ in range(600):
        try:
            if writer(url) != victim:
                return
        except (psycopg.Error, AssertionError):
            pass
        time.sleep(0.1)
    raise AssertionError("the server did not come back")
