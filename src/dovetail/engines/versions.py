"""Say which state of a source is there: when its files were written; never anything computed from rows."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from dovetail.errors import DataError

from .source import Source

_SECOND = 10**9
# What DuckDB has committed but not yet written into the database itself.
_LOGS = (".wal",)


def written(source: Source) -> str | None:
    """Return when the files of a source were written; None of servers and of tables in memory.

    Data that ship never change. A write time that is put back is not noticed.
    """
    if source.shipped:
        return "as shipped"
    if not isinstance(source.data, Path | tuple):
        return None
    try:
        files = source.files()
        times = {file: _write_time(file) for file in files}
    except (OSError, DataError):
        return "missing"
    newest = _shown(max(times.values()))
    if len(files) == 1:
        return f"written {newest}"
    listed = "\n".join(f"{file.resolve()} {time}" for file, time in sorted(times.items()))
    # The newest time alone would not tell that a file was taken away.
    state = sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{len(files)} files, written until {newest}, state {state}"


def _write_time(file: Path) -> int:
    logs = (file.with_name(file.name + suffix) for suffix in _LOGS)
    return max(each.stat().st_mtime_ns for each in (file, *logs) if each.exists())


def _shown(time: int) -> str:
    seconds, rest = divmod(time, _SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"
