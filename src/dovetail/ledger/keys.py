"""Keys that prove who asks: shown once, stored as a hash, compared in constant time.

A key is `dvt_<id>_<256 random bits><checksum>`. So many random bits need neither salt nor pepper. The
checksum tells a mistyped key from a wrong one without a look at the ledger.
"""

from __future__ import annotations

import re
from base64 import b32encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from sqlalchemy import Connection, bindparam, select

from dovetail.errors import AccessRefused, InvalidParameter
from dovetail.sampling import random_bytes

from . import chain
from .prepared_statements import run
from .principals import Principal, by_whom, principal
from .record_writer import RecordWriter, event_at
from .schema import keys
from .text import sought

_FORM = r"dvt_([a-z2-7]{10})_([a-z2-7]{52})([a-z2-7]{7})"
_BY_PUBLIC = select(keys).where(keys.c.public == bindparam("called"))
_NOBODY = sha256(b"no key").hexdigest()


@dataclass(frozen=True, slots=True)
class Key:
    """A key as the ledger knows it; `text` is there only when it is made."""

    id: int
    public: str
    principal: int
    expires: datetime | None
    revoked: bool
    text: str | None = None

    def __repr__(self) -> str:
        # The text is a secret: printing a list of keys must not show it.
        return f"<key {self.public} of principal {self.principal}{', revoked' if self.revoked else ''}>"


def make_key(writer: RecordWriter, owner: int, expires: datetime | None, by: int | None) -> Key:
    """Record a new key and return it with its text, which is kept nowhere."""
    public, secret = _letters(random_bytes(7))[:10], _letters(random_bytes(32))
    body = f"dvt_{public}_{secret}"
    made = Key(writer.next, public, owner, moment("expires", expires), False, body + _checksum(body))
    row = {
        "public": public,
        "principal": owner,
        "sha256": _hash(str(made.text)),
        "expires": _iso(made.expires),
    }
    writer.insert(keys, {"id": made.id} | row)
    writer.record("key", 0, row | by_whom(by))
    return made


def check_key(connection: Connection, text: object) -> Principal:
    """Return whose key it is, or raise AccessRefused, which never tells an unknown key from a revoked one."""
    form = re.fullmatch(_FORM, text) if isinstance(text, str) else None
    if form is None or not compare_digest(_checksum(str(text)[:-7]), form[3]):
        raise AccessRefused(
            "This is not a whole key: it was mistyped or cut (its checksum does not fit).", "Copy it again."
        )
    row = run(connection, _BY_PUBLIC, {"called": form[1]}).first
    same = compare_digest(_hash(form[0]), _NOBODY if row is None else row.sha256)
    return principal(connection, _valid(row if same else None).principal)


def key_of(text: str) -> str:
    """Return the public part of a key that was checked."""
    return text.split("_")[1]


def key_holder(connection: Connection, public: str) -> tuple[Principal, Key]:
    """Return who holds a key that is valid now, and the key; for whoever has proved to hold it before."""
    row = _valid(run(connection, _BY_PUBLIC, {"called": public}).first)
    key = Key(row.id, row.public, row.principal, _read(row.expires), False)
    return principal(connection, row.principal), key


def _valid(row: Any) -> Any:
    """Return the row of a key that is valid now; all others are refused alike."""
    if row is None or row.revoked is not None or past(row.expires):
        raise AccessRefused("This key is not valid here.", "Ask the curator for another.")
    return row


def find_key(connection: Connection, public: str) -> dict[str, Any]:
    """Return the row of a key by its public part."""
    row = run(connection, _BY_PUBLIC, {"called": sought(public)}).first
    if row is None:
        raise InvalidParameter("key", public, "the id of a key of this ledger", "The ledger lists them.")
    key: dict[str, Any] = row._asdict()
    return key


def revoke_key(writer: RecordWriter, row: dict[str, Any], by: int | None) -> None:
    """Let a key stop at the next request of every process."""
    if row["revoked"] is None:
        writer.update(keys, row, {"revoked": writer.next})
        writer.record("revoked key", 0, {"key": row["id"]} | by_whom(by))


def keys_of(connection: Connection, owner: int | None) -> list[Key]:
    """Return the keys of one principal or of all, without their texts."""
    query = select(keys).order_by(keys.c.id)
    rows = connection.execute(query if owner is None else query.where(keys.c.principal == owner))
    return [
        Key(row.id, row.public, row.principal, _read(row.expires), row.revoked is not None) for row in rows
    ]


def moment(name: str, value: datetime | None) -> datetime | None:
    """Return a point in time to come that says its zone."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidParameter(name, value, "a time with its zone", "For example 2127-01-31 12:00 in UTC.")
    if value <= chain.now():
        raise InvalidParameter(
            name, value.isoformat(), "a time in the future", "Nothing was made. Choose a later time, or none."
        )
    return value


def past(text: str | None) -> bool:
    """Tell whether a point in time, as the ledger keeps it, is over."""
    return text is not None and datetime.fromisoformat(text) <= chain.now()


def _iso(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def _read(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _letters(data: bytes) -> str:
    return b32encode(data).decode().rstrip("=").lower()


def _checksum(body: str) -> str:
    return _letters(sha256(body.encode()).digest()[:4])


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def lasts(connection: Connection, row: dict[str, Any], lives: timedelta) -> bool:
    """Tell whether a key was made to last no longer than this."""
    expires = _read(row["expires"])
    made = datetime.fromisoformat(event_at(connection, row["id"]).at)
    return expires is not None and expires - made <= lives
