"""Structured logs: one JSON object a line, of fields that are on a list; all else is left out.

No key, no SQL, no count, no name, no path of a file can get in, because there is no field for them.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import MutableMapping
from contextlib import suppress
from types import TracebackType
from typing import Any, TextIO

import structlog

FIELDS = frozenset(
    (
        "event",
        "level",
        "timestamp",
        "request",
        "method",
        "route",
        "status",
        "milliseconds",
        "person",
        "code",
        "kind",
        "reason",
        "where",
        "worker",
        "address",
    )
)


def only_listed(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """Drop every field that is not on the list.

    >>> only_listed(None, "", {"event": "asked", "sql": "SELECT 1"})
    {'event': 'asked'}
    """
    return {name: value for name, value in event.items() if name in FIELDS}


class Log:
    """Write events; what the caller gives beside the listed fields is dropped."""

    def __init__(self, requests: bool = True, file: TextIO | None = None) -> None:
        self._requests = requests
        self._logger: Any = structlog.wrap_logger(
            structlog.PrintLogger(file or sys.stderr),
            processors=[
                only_listed,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(),
            ],
        ).bind()

    def info(self, event: str, **fields: Any) -> None:
        """Write what happened."""
        if self._requests:
            self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Write what an operator should look at."""
        self._write("warning", event, fields)

    def fault(self, error: BaseException, **fields: Any) -> None:
        """Write where an unforeseen error came from, without its text, which could hold a private value."""
        said = {"kind": type(error).__name__, "where": where(error.__traceback__)}
        self._write("error", "fault", said | fields)

    def _write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        # A disk that is full, or a reader that is gone, must not stop what is being answered.
        with suppress(OSError):
            getattr(self._logger, level)(event, **fields)


def where(trace: TracebackType | None) -> str:
    """Return the innermost frames of a traceback as module and line."""
    frames = traceback.extract_tb(trace)[-4:]
    return " < ".join(f"{_module(frame.filename)}:{frame.lineno}" for frame in reversed(frames))


def _module(path: str) -> str:
    parts = path.replace("\\", "/").removesuffix(".py").split("/")
    known = [number for number, part in enumerate(parts) if part in ("dovetail", "site-packages")]
    return ".".join(parts[known[-1] :] if known else parts[-1:])
