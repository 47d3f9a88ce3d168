"""The datasets that a ledger holds, with what their curator says about each: what a service lists and opens.

A description is an event like any other, so the record tells who changed what. It never holds a password.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlalchemy import Connection, select

from dovetail.errors import BudgetMismatch
from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge

from . import vintages
from .account import DatasetAccount
from .allotted_account import AllottedAccount
from .balances import budget_of, most_spent
from .new_account import Registration
from .principals import by_whom, named_number
from .record_writer import RecordWriter
from .registry import find, first_name, is_new, rename, set_policy
from .schema import datasets, events
from .schema import ledger as head_row
from .store import Store

_KIND = "description"
Change: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Makes what is said about a dataset from now on of what is said now."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A dataset as it stands: its terms, what was spent of it, and what was last said about it."""

    number: int
    name: str
    budget: Budget
    spent: Charge
    protects: str | None
    answers: str
    access: str
    version: str | None
    retired: bool
    said: Mapping[str, Any] = field(default_factory=dict)


class Catalogue:
    """Look datasets up, and say something about them.

    >>> from tempfile import TemporaryDirectory
    >>> from dovetail.ledger import Ledger
    >>> folder = TemporaryDirectory()
    >>> with Ledger.create(folder.name + "/clinic.ledger") as ledger:
    ...     _ = ledger.account("visits", budget=Budget.pure(1))
    ...     ledger.catalogue.describe("visits", {"title": "Visits of 2025"})
    ...     print(ledger.catalogue.entry("visits").said["title"])
    Visits of 2025
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def changed(self) -> int:
        """The number of the last event that changed a dataset or its names, a person or a grant."""
        with self._store.reading() as connection:
            return int(connection.execute(select(head_row.c.settings)).scalar_one())

    def entries(self) -> list[Entry]:
        """Return every dataset, oldest first."""
        with self._store.reading() as connection:
            said = _said(connection)
            rows = connection.execute(select(datasets).order_by(datasets.c.id)).mappings().all()
            return [_entry(connection, dict(row), said.get(row["id"], {})) for row in rows]

    def entry(self, name: str) -> Entry:
        """Return one dataset by any of its names."""
        with self._store.reading() as connection:
            number = find(connection, name)
            row = connection.execute(select(datasets).where(datasets.c.id == number)).mappings().one()
            return _entry(connection, dict(row), _said(connection, number).get(number, {}))

    def account(self, name: str, analyst: str | None = None) -> DatasetAccount:
        """Return the account of a dataset; with `analyst`, as that analyst sees it."""
        with self._store.reading() as connection:
            number = find(connection, name)
            shown = first_name(connection, number)
        if analyst is None:
            return DatasetAccount(self._store, number, shown)
        return AllottedAccount(self._store, number, shown, analyst)

    def number(self, name: str) -> int:
        """Return the number of a dataset, which renaming does not change."""
        with self._store.reading() as connection:
            return find(connection, name)

    def register(
        self,
        dataset: Registration,
        said: Mapping[str, Any],
        *,
        answers: str,
        access: str,
        new: bool,
        by: str | None = None,
    ) -> None:
        """Record a dataset with its policies and what is said about it: all of it, or nothing.

        Who may ask is never left open in between. With `new`, neither the name nor any row may have a budget.
        """
        with self._store.writing() as writer:
            if new and not is_new(writer.connection, dataset.name, dataset.sources):
                raise BudgetMismatch(
                    f"The name {dataset.name!r}, or some of these rows, have a budget already.",
                    "Nothing was recorded.",
                )
            number, who = dataset.record(writer), named_number(writer.connection, by)
            set_policy(writer, number, answers, access, who)
            _describe(writer, number, said, who)

    def describe(self, name: str, said: Mapping[str, Any], *, by: str | None = None) -> None:
        """Record what is said about a dataset from now on: JSON-ready, and nothing secret."""
        self.amend(name, lambda _: said, by=by)

    def amend(self, name: str, changed: Change, *, by: str | None = None) -> None:
        """Record what is said about a dataset from now on, made of what is said now, in one transaction.

        Of two who amend at the same time, neither undoes what the other has said.
        """
        with self._store.writing() as writer:
            number = find(writer.connection, name)
            _amend(writer, number, changed, named_number(writer.connection, by))

    def settle(
        self, name: str, *, disjoint: bool = False, rename_to: str | None = None, by: str | None = None
    ) -> None:
        """Declare the vintages of a dataset disjoint, rename it, or both: all that is asked, or nothing."""
        with self._store.writing() as writer:
            number, who = find(writer.connection, name), named_number(writer.connection, by)
            if disjoint:
                vintages.declare_disjoint(writer, number, who)
            if rename_to is not None:
                rename(writer, number, rename_to, who)

    def declare_vintage(
        self, name: str, label: str, changed: Change, *, complete: bool = False, by: str | None = None
    ) -> None:
        """Declare a vintage and amend what is said about its dataset: both, or neither.

        Nobody can ask about a vintage before it is said where its rows are.
        """
        with self._store.writing() as writer:
            number, who = find(writer.connection, name), named_number(writer.connection, by)
            vintages.declare(writer, number, label, complete, who)
            _amend(writer, number, changed, who)


def _amend(writer: RecordWriter, number: int, changed: Change, by: int | None) -> None:
    _describe(writer, number, changed(_said(writer.connection, number).get(number, {})), by)


def _describe(writer: RecordWriter, number: int, said: Mapping[str, Any], by: int | None) -> None:
    row = writer.connection.execute(select(datasets).where(datasets.c.id == number)).mappings().one()
    # Every process reads its settings again, although no column of this row has changed.
    writer.update(datasets, dict(row), {"answers": row["answers"]})
    writer.record(_KIND, number, {"said": json.dumps(said, sort_keys=True, ensure_ascii=False)} | by_whom(by))


def _said(connection: Connection, number: int | None = None) -> dict[int, Any]:
    """Return what was said last about each dataset."""
    query = select(events.c.dataset, events.c.content).where(events.c.kind == _KIND)
    if number is not None:
        query = query.where(events.c.dataset == number)
    rows = connection.execute(query.order_by(events.c.sequence))
    return {row.dataset: json.loads(json.loads(row.content)["said"]) for row in rows}


def _entry(connection: Connection, row: Mapping[str, Any], said: Mapping[str, Any]) -> Entry:
    return Entry(
        row["id"],
        first_name(connection, row["id"]),
        budget_of(row["budget"]),
        most_spent(connection, row["id"]),
        row["protects"],
        row["answers"],
        row["access"],
        row["version"],
        row["retired"] is not None,
        said,
    )
