"""Copies of an embedded ledger: consistent while others write, readable by their owner alone."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dovetail.errors import LedgerError

from .failures import translated
from .files import sync


def back_up(ledger: Path, target: Path) -> None:
    """Copy a ledger's file to a place where there is none, through SQLite itself."""
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise LedgerError(
            f"A copy cannot be made at {target}: {error.strerror}.", kept_at=str(target)
        ) from error
    try:
        with translated(str(ledger)):
            live, copy = sqlite3.connect(ledger), sqlite3.connect(target)
            try:
                live.backup(copy)
            finally:
                live.close()
                copy.close()
        sync(target)
    except BaseException:
        # Half a copy would be taken for one, and stand in the way of the next.
        target.unlink()
        raise


@contextmanager
def keep_copy(ledger: Path) -> Iterator[None]:
    """Keep a copy beside a ledger that is about to be changed; if that fails, the ledger is as it was."""
    target = ledger.with_name(ledger.name + ".version1")
    if target.exists():
        raise LedgerError(
            f"{target} already exists, perhaps from an earlier attempt.",
            "Move it away first.",
            kept_at=str(target),
        )
    back_up(ledger, target)
    try:
        yield
    except BaseException:
        target.unlink()
        raise
