"""The chain of events: each one is hashed together with the hash of the one before it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from dovetail.errors import InvalidParameter
from dovetail.errors.remedies import VerifyLedger

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_HEAD = r"([0-9]{1,18}):([0-9a-f]{64})"


@dataclass(frozen=True, slots=True)
class Head:
    """The number and the hash of the last event: whoever knows it can tell a cut or rewritten record.

    >>> Head.parse(str(Head(3, "ab" * 32))).sequence
    3
    """

    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Read what `str(head)` wrote."""
        match = re.fullmatch(_HEAD, text.strip())
        if match is None:
            raise InvalidParameter("head", text, "NUMBER:HASH, the head of a ledger", VerifyLedger())
        return cls(int(match[1]), match[2])


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the record; `content` is canonical JSON, `dataset` its first event's number."""

    sequence: int
    at: str
    kind: str
    dataset: int
    content: str

    def hash_after(self, previous: str) -> str:
        """Return the hash that binds this event to everything before it."""
        return linked(previous, self.sequence, self.at, self.kind, self.dataset, self.content)


def linked(previous: str, sequence: int, at: str, kind: str, dataset: int, content: str) -> str:
    """Return the next hash of the chain; only `content`, which stands last, can hold a line break."""
    return sha256(f"{previous}\n{sequence}\n{at}\n{kind}\n{dataset}\n{content}".encode()).hexdigest()


def origin(identity: str) -> Head:
    """Return the head of an empty ledger."""
    return Head(0, sha256(f"dovetail.ledger/1\n{identity}".encode()).hexdigest())


def canonical(content: Any) -> str:
    """Return the one JSON text of a value, in ASCII, so that every store keeps it unchanged.

    >>> canonical({"b": 1, "a": "\\u00e9"})
    '{"a":"\\\\u00e9","b":1}'
    """
    return _CANONICAL.encode(content)


def now() -> datetime:
    """Return the time that events are stamped with. Nothing is ordered by it: a clock may be set back."""
    return datetime.now(UTC)
