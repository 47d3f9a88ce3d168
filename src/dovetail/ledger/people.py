"""What a curator does about people: add them, give and revoke keys and grants, erase a name."""

from __future__ import annotations

from datetime import datetime, timedelta

from dovetail.errors import AccessRefused
from dovetail.privacy.budget import Budget

from .analyst_history import Asked, asked_as, asked_by, asked_under
from .budgets import checked_budget
from .grants import Grant, give, granted, grants_of, withdraw
from .keys import Key, check_key, find_key, key_holder, key_of, keys_of, lasts, make_key, revoke_key
from .principals import (
    Principal,
    add_principal,
    all_principals,
    erase_name,
    find_principal,
    named_number,
    principal_known_as,
)
from .registry import find
from .replies import forget
from .store import Store


class People:
    """Everybody whom a ledger knows. `by` names who does it; without it, whoever keeps the ledger's file.

    >>> from tempfile import TemporaryDirectory
    >>> from dovetail.ledger import Ledger
    >>> folder = TemporaryDirectory()
    >>> with Ledger.create(folder.name + "/clinic.ledger") as ledger:
    ...     ann = ledger.people.add("ann", "analyst")
    ...     key = ledger.people.make_key("ann")
    ...     print(ledger.people.whose(key.text).name)
    ann
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self, name: str, role: str = "analyst", *, address: str | None = None, by: str | None = None
    ) -> Principal:
        """Add a curator, an analyst or an auditor; the record carries a number, never the name."""
        with self._store.writing() as writer:
            return add_principal(writer, role, name, address, named_number(writer.connection, by))

    def all(self) -> list[Principal]:
        """Return everybody, in the order in which they came."""
        with self._store.reading() as connection:
            return all_principals(connection)

    def erase(self, name: str, *, by: str | None = None) -> None:
        """Remove a name and address for good and revoke the keys; the record goes on with the number."""
        with self._store.writing() as writer:
            person = find_principal(writer.connection, name)
            number, doer = person.id, named_number(writer.connection, by)
            forget(writer.connection, person.public)
            for key in keys_of(writer.connection, number):
                revoke_key(writer, find_key(writer.connection, key.public), doer)
            erase_name(writer, number, doer)

    def make_key(self, name: str, *, expires: datetime | None = None, by: str | None = None) -> Key:
        """Make a key; its text is shown here once and kept nowhere."""
        with self._store.writing() as writer:
            connection = writer.connection
            owner, doer = find_principal(connection, name).id, named_number(connection, by)
            return make_key(writer, owner, expires, doer)

    def keys(self, name: str | None = None) -> list[Key]:
        """Return the keys of one or of all, without their texts."""
        with self._store.reading() as connection:
            return keys_of(connection, named_number(connection, name))

    def revoke_key(self, public: str, *, by: str | None = None) -> None:
        """Revoke a key by its public part; it stops at the next request of every process."""
        with self._store.writing() as writer:
            revoke_key(writer, find_key(writer.connection, public), named_number(writer.connection, by))

    def whose(self, key: str | None) -> Principal:
        """Return whose key it is, or raise AccessRefused."""
        with self._store.reading() as connection:
            return check_key(connection, key)

    def bearer(self, key: str | None) -> tuple[Principal, set[int]]:
        """Return what `whose` and `granted` tell, as they stood at one moment."""
        with self._store.reading() as connection:
            owner = check_key(connection, key)
            return owner, granted(connection, owner.id)

    def holder(self, public: str) -> tuple[Principal, Key]:
        """Return who holds the key of this public part, if it is valid now; raise AccessRefused otherwise."""
        with self._store.reading() as connection:
            return key_holder(connection, public)

    def use_up(self, key: str, lives: timedelta | None = None) -> Principal:
        """Return whose key it is and revoke it, in one step: of two who show it, one is let in.

        With `lives`, a key that was made to last longer is refused, and goes on being valid.
        """
        with self._store.writing() as writer:
            owner = check_key(writer.connection, key)
            row = find_key(writer.connection, key_of(key))
            if lives is not None and not lasts(writer.connection, row, lives):
                raise AccessRefused("This is a key, not a code that works once.", "Use it as a key.")
            revoke_key(writer, row, owner.id)
            return owner

    def known_as(self, public: str) -> Principal:
        """Return somebody by their public identifier."""
        with self._store.reading() as connection:
            return principal_known_as(connection, public)

    def grant(
        self,
        name: str,
        dataset: str,
        allotment: Budget,
        *,
        expires: datetime | None = None,
        by: str | None = None,
    ) -> None:
        """Let somebody ask about a dataset up to an allotment in its currency, or change that allotment."""
        checked_budget(allotment)
        with self._store.writing() as writer:
            connection = writer.connection
            number, about = find_principal(connection, name).id, find(connection, dataset)
            give(writer, number, about, allotment, expires, named_number(writer.connection, by))

    def granted(self, principal: int) -> set[int]:
        """Return the datasets, by number, that a principal holds a grant for now."""
        with self._store.reading() as connection:
            return granted(connection, principal)

    def revoke_grant(self, name: str, dataset: str, *, by: str | None = None) -> None:
        """Revoke a grant; what was spent of it counts if it is given again."""
        with self._store.writing() as writer:
            connection = writer.connection
            number, about = find_principal(connection, name).id, find(connection, dataset)
            withdraw(writer, number, about, named_number(connection, by))

    def asked(self, name: str, *, before: str | None = None, limit: int = 50) -> list[Asked]:
        """Return what somebody asked, newest first; `before` is the last identifier of the page before."""
        with self._store.reading() as connection:
            return asked_by(connection, find_principal(connection, name).id, before, limit)

    def answer(self, name: str, public: str) -> Asked:
        """Return one question of somebody's own by its public identifier."""
        with self._store.reading() as connection:
            return asked_as(connection, find_principal(connection, name).id, public)

    def asked_under(self, name: str, dataset: str, key: str) -> Asked | None:
        """Return what somebody asked under a retry key, or None."""
        with self._store.reading() as connection:
            number = find_principal(connection, name).id
            return asked_under(connection, number, find(connection, dataset), key)

    def grants(self, name: str | None = None, dataset: str | None = None) -> list[Grant]:
        """Return the grants of one analyst, of one dataset, or all."""
        with self._store.reading() as connection:
            return grants_of(
                connection,
                named_number(connection, name),
                None if dataset is None else find(connection, dataset),
            )
