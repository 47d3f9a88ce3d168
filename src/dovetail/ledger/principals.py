"""Whom the ledger knows: principals are numbers in the record, and their names can be erased."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, bindparam, select

from dovetail.check import choice
from dovetail.errors import InvalidParameter
from dovetail.sampling import random_bytes

from .chain import canonical
from .prepared_statements import recall, run
from .record_writer import RecordWriter
from .schema import people, principals
from .text import composed, sought

ROLES = ("curator", "analyst", "auditor")

_BY_NAME = select(people.c.principal).where(people.c.name == bindparam("called"))
_BY_NUMBER = (
    select(principals.c.id, principals.c.public, principals.c.role, people.c.name, people.c.address)
    .outerjoin(people, people.c.principal == principals.c.id)
    .where(principals.c.id == bindparam("of"))
)


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody whom the ledger knows; `name` is None once it was erased, `public` is shown outside."""

    id: int
    public: str
    role: str
    name: str | None
    address: str | None = None

    def __str__(self) -> str:
        return shown_name(self.id, self.role, self.name)


def shown_name(number: int, role: str, name: str | None) -> str:
    """Return what a statement calls somebody.

    >>> shown_name(7, "analyst", None)
    'analyst 7'
    """
    return f"{role} {number}" if name is None else name


def public_id() -> str:
    """Return a random identifier for the outside; event numbers would show how much others do."""
    return random_bytes(16).hex()


def number_of(connection: Connection, name: str) -> int | None:
    """Return the principal of a name, or None."""
    row = recall(connection, _BY_NAME, {"called": name}).first
    return None if row is None else int(row.principal)


def principal(connection: Connection, number: int) -> Principal:
    """Return a principal by number."""
    return Principal(*run(connection, _BY_NUMBER, {"of": number}).rows[0])


def find_principal(connection: Connection, name: str) -> Principal:
    """Return the principal of a name that must be on record."""
    number = number_of(connection, composed("name", name))
    if number is None:
        raise InvalidParameter("name", name, "somebody this ledger knows", "Add them first.")
    return principal(connection, number)


def named_number(connection: Connection, name: str | None) -> int | None:
    """Return the principal of a name that must be on record; None where nobody is named."""
    return None if name is None else find_principal(connection, name).id


def principal_known_as(connection: Connection, public: str) -> Principal:
    """Return a principal by the identifier that outsiders see."""
    query = select(principals.c.id).where(principals.c.public == sought(public))
    number = connection.execute(query).scalar_one_or_none()
    if number is None:
        raise InvalidParameter("id", public, "somebody this ledger knows")
    return principal(connection, number)


def all_principals(connection: Connection) -> list[Principal]:
    """Return everybody, in the order in which they came."""
    query = (
        select(principals.c.id, principals.c.public, principals.c.role, people.c.name, people.c.address)
        .outerjoin(people, people.c.principal == principals.c.id)
        .order_by(principals.c.id)
    )
    return [Principal(*row) for row in connection.execute(query)]


def add_principal(
    writer: RecordWriter, role: str, name: str, address: str | None = None, by: int | None = None
) -> Principal:
    """Record a new principal; the name stays out of the record."""
    choice("role", role, ROLES)
    name = composed("name", name)
    address = None if address is None else composed("address", address)
    if number_of(writer.connection, name) is not None:
        raise InvalidParameter("name", name, "a name that nobody in this ledger has", "Choose another.")
    made = Principal(writer.next, public_id(), role, name, address)
    writer.insert(principals, {"id": made.id, "public": made.public, "role": role})
    named = keep_name(writer, made.id, name, address)
    writer.record("principal", 0, {"role": role, "public": made.public, "named": named} | by_whom(by))
    return made


def keep_name(writer: RecordWriter, number: int, name: str, address: str | None) -> str:
    """Keep a person's name and address; return the hash that the record holds of them."""
    row = {"principal": number, "name": name, "address": address, "nonce": random_bytes(32)}
    return name_hash(writer.insert(people, row))


def name_hash(row: Mapping[str, Any]) -> str:
    """Return a hash that tells nothing about a name once its nonce is gone."""
    parts = [bytes(row["nonce"]).hex(), row["principal"], row["name"], row["address"]]
    return sha256(canonical(parts).encode()).hexdigest()


def analyst_number(writer: RecordWriter, name: str) -> int:
    """Return the principal of an analyst's name, recorded as new where nobody has it."""
    number = number_of(writer.connection, name)
    return add_principal(writer, "analyst", name).id if number is None else number


def erase_name(writer: RecordWriter, number: int, by: int | None = None) -> None:
    """Remove a person's name and address; the record goes on with the number."""
    row = writer.connection.execute(select(people).where(people.c.principal == number)).mappings().one()
    writer.delete(people, dict(row))
    writer.record("erasure", 0, {"principal": number} | by_whom(by))


def by_whom(by: int | None) -> dict[str, Any]:
    """Return what an event tells of who did it; nobody is named for whoever works on the ledger itself."""
    return {} if by is None else {"by": by}
