"""Texts that every store keeps unchanged, and that look the same only if they are the same."""

from __future__ import annotations

from hashlib import sha256
from unicodedata import normalize

from dovetail.errors import InvalidParameter

_LONGEST_NAME = 1000


def plain(parameter: str, value: object) -> str:
    """Return a text that every store keeps unchanged: printable, not empty, not endless."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
        raise InvalidParameter(parameter, value, f"a printable text of 1 to {_LONGEST_NAME} characters")
    return value


def sought(value: str) -> str:
    """Return an identifier to look for; what no store could hold is looked for as nothing, which nobody has.

    >>> sought("5f0a"), sought("5f\\0a")
    ('5f0a', '')
    """
    return value if value.isprintable() else ""


def composed(parameter: str, value: object) -> str:
    """Return a plain name with its letters composed (NFC): what looks the same is the same.

    Only a place on a disk may begin or end with a space.

    >>> composed("name", "cafe\u0301") == "caf\u00e9"
    True
    """
    text = normalize("NFC", plain(parameter, value))
    if parameter != "source" and text != text.strip():
        raise InvalidParameter(parameter, value, "a text without spaces at its ends")
    return text


def digest(body: str) -> str:
    """Return the short name of a question that an index keeps."""
    return sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
