"""What requests to a service were replied, by their retry keys: every process of it finds the same.

The table stands beside the record and is no part of it: without it a retry would be done again, or refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    delete,
    insert,
    inspect,
    select,
)

from .schema import WHOLE
from .store import Store

_KEPT_FOR = timedelta(days=30)
_replies = Table(
    "dovetail_replies",
    MetaData(),
    Column("principal", WHOLE, nullable=False),
    Column("place", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("reply", Text),
    Column("at", Text, nullable=False),
    PrimaryKeyConstraint("principal", "place", "key"),
)


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """A request by its retry key; `place` is what kind of request it is, `body` a digest of what it said."""

    principal: int
    place: str
    key: str
    body: str


@dataclass(frozen=True, slots=True)
class Claimed:
    """A request that came before under the same key; `reply` is None while it is under way."""

    body: str
    reply: str | None


class Replies:
    """Claim a retry key before something is done, and keep what was replied for thirty days."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(self, claim: KeyClaim) -> Claimed | None:
        """Claim a key, and return None; or return what came before under it. One of many claims wins."""
        with self._store.writing() as writer:
            connection = writer.connection
            _replies.create(connection, checkfirst=True)
            now = datetime.now(UTC)
            connection.execute(delete(_replies).where(_replies.c.at < (now - _KEPT_FOR).isoformat()))
            earlier = connection.execute(select(_replies).where(*_of(claim))).one_or_none()
            if earlier is not None:
                return Claimed(earlier.body, earlier.reply)
            row = {"principal": claim.principal, "place": claim.place, "key": claim.key}
            connection.execute(insert(_replies).values(**row, body=claim.body, at=now.isoformat()))
            return None

    def keep(self, claim: KeyClaim, reply: str) -> None:
        """Keep what was replied."""
        with self._store.writing() as writer:
            writer.connection.execute(_replies.update().where(*_of(claim)).values(reply=reply))

    def release(self, claim: KeyClaim) -> None:
        """Give a claim up: nothing was done under it."""
        with self._store.writing() as writer:
            writer.connection.execute(delete(_replies).where(*_of(claim)))


def forget(connection: Connection, public: str) -> None:
    """Delete every reply that names somebody, by the identifier that stands beside the name."""
    if inspect(connection).has_table(_replies.name):
        connection.execute(delete(_replies).where(_replies.c.reply.contains(public, autoescape=True)))


def _of(claim: KeyClaim) -> tuple[ColumnElement[bool], ...]:
    columns = _replies.c
    return columns.principal == claim.principal, columns.place == claim.place, columns.key == claim.key
