"""Notice an old copy that is put in the place of a ledger while this process uses it.

A witness notices it when a ledger is opened. A process that has it open remembers the newest head that it saw
committed, and which file it was: a record never becomes shorter, nor another file.
"""

from __future__ import annotations

import os
from pathlib import Path

from dovetail.errors import LedgerCorrupt
from dovetail.errors.remedies import VerifyLedger

from .chain import Head

_FORGOTTEN = "What was spent since may be missing in it. Find the newer one, then start again."


class RollbackGuard:
    """What one process has seen of a ledger. Safe to share between threads that hold the ledger's lock."""

    def __init__(self, place: str, path: Path | None) -> None:
        self._place, self._path = place, path
        self._head = Head(0, "")
        self._file: tuple[int, int] | None = None

    def check(self, head: Head) -> None:
        """Refuse a ledger that is older than it was, or another file."""
        seen = self._head
        if head.sequence < seen.sequence or (head.sequence == seen.sequence and head.hash != seen.hash != ""):
            raise LedgerCorrupt(
                f"The ledger {self._place} is not the one that this process used until now: it ended with "
                f"event {seen.sequence}, and now with {head.sequence}.",
                _FORGOTTEN,
                VerifyLedger(),
                kept_at=self._place,
            )
        if self._path is not None:
            self._check_file(self._path)

    def _check_file(self, path: Path) -> None:
        try:
            found = os.stat(path)
        except OSError:
            there: tuple[int, int] | None = None
        else:
            there = (found.st_dev, found.st_ino)
        self._file = self._file or there
        if there is None or there != self._file:
            raise LedgerCorrupt(
                f"The file {self._place} was removed or replaced while this process used it.",
                _FORGOTTEN,
                kept_at=self._place,
            )

    def saw(self, head: Head) -> None:
        """Remember a head that was committed and is on disk."""
        if head.sequence > self._head.sequence:
            self._head = head
