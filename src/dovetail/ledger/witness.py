"""A witness remembers the head of a ledger elsewhere, so that an old copy put in its place is noticed.

The ledger remembers its witness, so every writer feeds it whether or not they have heard of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, bindparam, select

from dovetail.errors import InvalidParameter, LedgerCorrupt, LedgerError, LedgerUnavailable
from dovetail.errors.remedies import StartWitness, VerifyLedger

from .chain import Head
from .files import nameable
from .prepared_statements import run
from .record_writer import RecordWriter
from .schema import witnesses

# Several processes may append out of order by a few lines; the newest head is surely among the last ones.
_TAIL = 64 * 1024
# Enough for dozens of lines, which is looked through before each write.
_SHORT_TAIL = 4096
_HERE = select(witnesses).where(witnesses.c.host == bindparam("of"))


class Witness:
    """A file with one head per line, appended after each commit and before any answer is given.

    It belongs on another disk, or wherever whoever can replace the ledger cannot write. `since` is the event
    that made the ledger remember it, 0 while it does not.
    """

    def __init__(self, path: Path, since: int = 0) -> None:
        if not nameable(path):
            raise InvalidParameter("witness", "…", "a file path without NUL or half a character")
        self.path = Path(os.path.realpath(path))
        if os.path.isdir(self.path) and not since:
            raise InvalidParameter("witness", str(path), "a file", "Name a file in that folder.")
        self.since = since

    def check_new(self) -> None:
        """Refuse a file that has seen a ledger: it is not the witness of a new one."""
        if os.path.exists(self.path) and self.path.stat().st_size:
            raise LedgerCorrupt(
                f"The witness {self.path} saw an older or another ledger, which is not there.",
                "Find it; a new ledger needs a new witness.",
                kept_at=str(self.path),
            )

    def start(self, head: Head) -> None:
        """Make the file, which must not be there or be empty, and write a first head into it."""
        self.check_new()
        with self.opened(os.O_CREAT) as append:
            append(head)

    @contextmanager
    def opened(self, create: int = 0) -> Iterator[Callable[[Head], None]]:
        """Open the file and return how to add a head durably; a failure before that says nothing is recorded.

        One short write is atomic in append mode, so processes need no lock.
        """
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | create, 0o600)
        except OSError as error:
            raise LedgerUnavailable(
                f"The witness {self.path} cannot be written: {error.strerror}.",
                "Nothing was recorded. Restore it; if it is lost, start another.",
                StartWitness(),
                kept_at=str(self.path),
            ) from error
        try:
            yield lambda head: self._append(descriptor, head)
        finally:
            os.close(descriptor)

    def _append(self, descriptor: int, head: Head) -> None:
        try:
            line = f"{head}\n".encode()
            if _torn(descriptor):
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                raise OSError("short write")
            os.fsync(descriptor)
        except OSError as error:
            raise LedgerUnavailable(
                f"The witness {self.path} cannot be written: {error.strerror or error}.",
                "The charge is recorded, no answer was given.",
                kept_at=str(self.path),
            ) from error

    def check(self, head: Head) -> None:
        """Refuse to write after a head that is older than what this file saw, or another one."""
        seen = self.newest(_SHORT_TAIL)
        if seen.sequence > head.sequence or (seen.sequence == head.sequence and seen.hash != head.hash):
            raise LedgerCorrupt(
                f"The witness {self.path} saw event {seen.sequence}, and this ledger ends with "
                f"{head.sequence}: an old copy was put back.",
                "Nothing was recorded. Find the newer ledger.",
                kept_at=str(self.path),
            )

    def newest(self, tail: int = _TAIL) -> Head:
        """Return the head with the greatest number; a witness that saw none proves nothing and is refused."""
        heads = [head for head in map(_parsed, self._last_lines(tail)) if head is not None]
        if not heads:
            raise LedgerError(
                f"The witness {self.path} is missing or empty.",
                "Restore it. If it is new, or lost for good, open the ledger with the head that you noted, "
                "NUMBER:HASH, as the witness.",
                VerifyLedger(),
                StartWitness(),
                kept_at=str(self.path),
            )
        return max(heads, key=lambda head: head.sequence)

    def _last_lines(self, tail: int) -> list[bytes]:
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - tail))
                return file.read(tail).split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise LedgerError(
                f"The witness {self.path} cannot be read: {error.strerror}.", kept_at=str(self.path)
            ) from error


def _torn(descriptor: int) -> bool:
    """Tell whether the last line was cut short by a crash or a full disk; the next must not be lost in it."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    os.lseek(descriptor, max(size - 1, 0), os.SEEK_SET)
    return os.read(descriptor, 1) not in (b"", b"\n")


def remembered(connection: Connection, host: str) -> Witness | None:
    """Return the witness that the ledger remembers for a host."""
    row = run(connection, _HERE, {"of": host}).first
    return None if row is None else Witness(Path(row.path), row.since)


def remember(writer: RecordWriter, host: str, witness: Witness) -> Witness:
    """Make the ledger remember a witness, so that every writer feeds it from now on."""
    since = writer.next
    row = {"host": host, "path": str(witness.path), "since": since}
    old = run(writer.connection, _HERE, {"of": host}).first
    if old is None:
        writer.insert(witnesses, row)
    else:
        writer.update(witnesses, old._asdict(), row)
    writer.record("witness", 0, {"host": host, "path": row["path"]})
    writer.witness = since
    return Witness(witness.path, since)


def _parsed(line: bytes) -> Head | None:
    """Read one line; a line cut short by a crash, or by where reading began, is no head."""
    try:
        return Head.parse(line.decode())
    except (InvalidParameter, UnicodeDecodeError):
        return None
