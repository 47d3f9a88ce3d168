"""The console's cookie: who signed in with which key, until when, sealed so that nobody else can write one.

No worker keeps a session. The key is looked up at each request, so revoking it ends its sessions at once.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest, digest

CODE_LIVES = timedelta(minutes=15)
LIFETIME = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a cookie says: the public part of a key, and until when it holds."""

    key: str
    expires: datetime


def sealed(key: str, secret: bytes) -> str:
    """Return the value of a new cookie.

    >>> opened(sealed("abcdefghij", b"s" * 32), b"s" * 32).key
    'abcdefghij'
    """
    until = (datetime.now(UTC) + LIFETIME).isoformat(timespec="seconds")
    body = urlsafe_b64encode(json.dumps([key, until]).encode())
    return f"{body.decode()}.{_seal(body, secret)}"


def opened(value: str, secret: bytes) -> Ticket | None:
    """Return what a cookie says, None where it is not ours or its time is over."""
    body, _, seal = value.partition(".")
    raw = body.encode()
    if not compare_digest(_seal(raw, secret).encode(), seal.encode()):
        return None
    key, until = json.loads(urlsafe_b64decode(raw))
    ticket = Ticket(key, datetime.fromisoformat(until))
    return ticket if ticket.expires > datetime.now(UTC) else None


def _seal(body: bytes, secret: bytes) -> str:
    return digest(secret, b"dovetail session " + body, sha256).hex()
