"""A witness remembers the head of a ledger elsewhere, so that an old copy put in its place is noticed."""

from __future__ import annotations

import os
from pathlib import Path

from dovetail.errors import InvalidParameter, LedgerError

from .chain import Head

# Several processes may append out of order by a few lines; the newest head is surely among the last ones.
_TAIL = 64 * 1024


class Witness:
    """A file with one head per line, appended after each commit and before any answer is given.

    It belongs on another disk, or wherever whoever can replace the ledger cannot write.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise InvalidParameter("witness", str(path), "a file", "Name a file in that folder.")
        self.path = path

    def append(self, head: Head) -> None:
        """Add a head durably. One short write is atomic in append mode, so processes need no lock."""
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                line = f"{head}\n".encode()
                if os.write(descriptor, line) != len(line):
                    raise OSError("short write")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise LedgerError(
                f"the witness {self.path} cannot be written: {error.strerror or error}. "
                "The charge is recorded, no answer was given."
            ) from error

    def newest(self) -> Head:
        """Return the head with the greatest number; a witness that saw none proves nothing and is refused."""
        heads = [head for head in map(_parsed, self._last_lines()) if head is not None]
        if not heads:
            raise LedgerError(
                f"the witness {self.path} is missing or empty. If it is new, write the ledger's head into "
                "it: open the ledger without it and print ledger.head."
            )
        return max(heads, key=lambda head: head.sequence)

    def _last_lines(self) -> list[bytes]:
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL))
                return file.read(_TAIL).split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise LedgerError(f"the witness {self.path} cannot be read: {error.strerror}.") from error


def _parsed(line: bytes) -> Head | None:
    """Read one line; a line cut short by a crash, or by where reading began, is no head."""
    try:
        return Head.parse(line.decode())
    except (InvalidParameter, UnicodeDecodeError):
        return None
