"""Name the encodings in which a CSV file may be written."""

from __future__ import annotations

import codecs

from dovetail.errors import InvalidParameter

UTF_8, UTF_16, LATIN_1 = "utf-8", "utf-16", "iso8859-1"
_HIGH = range(0x80, 0x100)
_ALLOWED = 'UTF-8, UTF-16 or an encoding of one byte per letter such as "windows-1252" or "iso-8859-15"'


def checked_encoding(name: object) -> str:
    """Return the one name of an encoding that can be read, however it was spelled.

    >>> checked_encoding("Latin1"), checked_encoding("windows-1252"), checked_encoding("UTF8")
    ('iso8859-1', 'cp1252', 'utf-8')
    """
    try:
        encoding = codecs.lookup(name).name if isinstance(name, str) else ""
    except (LookupError, ValueError):  # unknown, or with a letter that no name has
        encoding = ""
    if encoding not in (UTF_8, UTF_16) and not _is_single_byte(encoding):
        raise InvalidParameter("encoding", name, _ALLOWED)
    return encoding


def _is_single_byte(name: str) -> bool:
    """Tell whether an encoding has ASCII below and one letter, or none, for each byte above."""
    try:
        plain = bytes(range(0x80)).decode(name) == bytes(range(0x80)).decode("ascii")
        # A first byte of two would swallow what follows.
        return plain and all(len(bytes([byte, *b"A", byte]).decode(name, "replace")) == 3 for byte in _HIGH)
    except (LookupError, UnicodeError):
        return False


def letters(encoding: str) -> tuple[str, str] | None:
    """Return the letters that a reader of Latin-1 takes for others, and those others; None where it is right.

    >>> letters("cp1252")[1][0], letters("iso8859-1")
    ('€', None)
    """
    if encoding in (UTF_8, UTF_16, LATIN_1):
        return None
    pairs = [(chr(byte), bytes([byte]).decode(encoding, "replace")) for byte in _HIGH]
    changed = [(taken, meant) for taken, meant in pairs if taken != meant]
    return "".join(taken for taken, _ in changed), "".join(meant for _, meant in changed)
