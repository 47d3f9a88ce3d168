"""The file of an embedded ledger: made whole or not at all, its owner's alone, never begun anew."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from errno import EDQUOT, ENOSPC
from pathlib import Path
from tempfile import TemporaryFile

from dovetail.errors import LedgerCorrupt, LedgerError

# No SQLite database is smaller. SQLite itself takes a file of 0 or 1 bytes for a database without tables.
_LEAST = 512
# Bytes: as much as the journal may keep, and far more than a charge and its answer need.
_ROOM = 1 << 20


def nameable(place: str | Path) -> bool:
    """Tell whether a file can have this name: the system would fail on NUL and on half a character."""
    try:
        return b"\x00" not in os.fsencode(place)
    except UnicodeEncodeError:
        return False


def present(path: Path) -> bool:
    """Tell whether a file is there; refuse one that was cut so short that SQLite would begin it anew."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LedgerError(
            f"The ledger {path} cannot be read: {error.strerror}.", kept_at=str(path)
        ) from error
    if path.is_dir():
        raise LedgerError(f"{path} is a folder; a ledger is a file.", kept_at=str(path))
    if 0 < size < _LEAST:
        raise LedgerCorrupt(
            f"The ledger {path} was cut to {size} bytes.", "Restore it from a backup.", kept_at=str(path)
        )
    if size == 0:
        raise LedgerCorrupt(
            f"The file {path} is empty.",
            "If a ledger was kept there, restore it from a backup; if there never was one, remove the file.",
            kept_at=str(path),
        )
    return True


def has_room(path: Path) -> bool:
    """Tell whether the disk of a file would take a little more; only writing finds out about quotas."""
    try:
        with TemporaryFile(dir=Path(os.path.realpath(path)).parent) as probe:
            probe.write(bytes(_ROOM))
    except OSError as error:
        # A folder in which nobody may make files says nothing about the room in it.
        return error.errno not in (EDQUOT, ENOSPC)
    return True


def make_file(path: Path, fill: Callable[[Path], bool]) -> bool:
    """Let `fill` write a new database at `path`, readable by its owner alone; tell whether it was made.

    It is written under another name and then linked, so that a crash leaves no half-made ledger, and of two
    makers one wins. A link that leads nowhere is followed; an empty file is filled in place.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists():
            if target.stat().st_size == 0:
                target.chmod(0o600)
            return fill(target)
        return _linked(target, fill)
    except OSError as error:
        raise LedgerError(
            f"A ledger cannot be created at {path}: {error.strerror}.", kept_at=str(path)
        ) from error


def _linked(target: Path, fill: Callable[[Path], bool]) -> bool:
    draft = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        fill(draft)
        try:
            os.link(draft, target)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return fill(target)
    finally:
        draft.unlink()
        draft.with_name(f"{draft.name}-journal").unlink(missing_ok=True)
    if os.name == "posix":
        sync(target.parent)
    return True


def sync(path: Path) -> None:
    """Wait until a file or, on POSIX, a folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
