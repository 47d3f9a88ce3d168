"""Give a reader names of files that it takes as they are: no pattern, no address, no home folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from dovetail.errors import DataError

# All else may mean something to a reader, now or in a later version: * ? [ { \ ~ and more.
_PLAIN = frozenset("/._-=+,@ ")


class PlainNames:
    """Names for one reader, for as long as it reads; a file with an odd name is reached through a link."""

    def __init__(self) -> None:
        self._links: tempfile.TemporaryDirectory[str] | None = None
        self._made = 0

    def of(self, files: Iterable[Path]) -> list[str]:
        """Return a name for each file, in order.

        >>> PlainNames().of([Path("/data/people.csv")])
        ['/data/people.csv']
        """
        return [self._name(file) for file in files]

    def close(self) -> None:
        """Remove the links."""
        if self._links is not None:
            self._links.cleanup()

    def _name(self, file: Path) -> str:
        real = file.resolve()
        if _is_plain(real):
            return real.as_posix()
        link = self._folder() / f"{self._made}{file.suffix.lower()}"
        self._made += 1
        try:
            link.symlink_to(real)
            # DuckDB keeps the latest changes of a database beside it.
            log = real.with_name(real.name + ".wal")
            if log.exists():
                link.with_name(link.name + ".wal").symlink_to(log)
        except OSError as error:
            raise DataError(
                f"The name {file.name!r} has characters that would be read as a pattern, and no link "
                f"to it can be made: {error.strerror}.",
                "Rename the file: letters, digits, '-', '_' and '.'.",
            ) from None
        return link.as_posix()

    def _folder(self) -> Path:
        if self._links is None:
            self._links = tempfile.TemporaryDirectory(prefix="dovetail-")
            if not _is_plain(Path(self._links.name).resolve()):
                self.close()
                raise DataError(
                    "The name of the temporary folder has characters that would be read as a pattern.",
                    "Set TMPDIR to another folder, or rename the file: letters, digits, '-', '_' and '.'.",
                )
        return Path(self._links.name).resolve()


def _is_plain(path: Path) -> bool:
    """Tell whether a path from the root, behind the letter of a drive, holds plain signs only."""
    text = path.as_posix()[len(path.drive) :]
    return text.startswith("/") and all(sign.isalnum() or sign in _PLAIN for sign in text)
