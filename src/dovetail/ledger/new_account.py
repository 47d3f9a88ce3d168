"""A budget that is not on record yet: it is fixed together with its first charge, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from dovetail.answers.quote import Standing
from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge
from dovetail.release.account import PlanState, Request, Reservation, StoredAnswer

from .account import DatasetAccount, check_request
from .budgets import checked_budget
from .plans import PlanRequest
from .record_writer import RecordWriter
from .refusals import refuse_charge
from .registry import check_budget, check_name, missing_budget, registered, settle_protects, settled
from .store import Store
from .store_opening import create_store
from .text import composed
from .vintages import undeclared

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Registration:
    """What a dataset is recorded with: its name, where its rows are, its budget and whom that protects."""

    name: str
    sources: tuple[str, ...] = ()
    budget: Budget | None = None
    share: bool | None = None
    protects: str | None = None

    @classmethod
    def of(
        cls,
        dataset: str,
        budget: Budget | None,
        source: str | Sequence[str] | None,
        share: bool | None,
        protects: str | None,
    ) -> Registration:
        """Check what is said of a dataset."""
        listed = (source,) if isinstance(source, str | None) else tuple(source)
        at = tuple(composed("source", each) for each in listed if each is not None)
        if budget is not None:
            checked_budget(budget)
        return cls(composed("name", dataset), at, budget, share, protects)

    def record(self, writer: RecordWriter) -> int:
        """Record what is new about the dataset; return its number."""
        number = registered(writer, self.name, self.sources, self.budget, self.share, self.protects)
        check_budget(writer.connection, number, self.budget, self.protects)
        check_name(writer.connection, number, self.name, self.share)
        settle_protects(writer, number, self.protects)
        return number


class NewAccount:
    """The account of a dataset that nobody was charged for yet (see `release.account.Account`).

    What is refused leaves no trace: no ledger is made and no budget is fixed before the first charge, which
    is recorded in one transaction with the dataset itself.
    """

    def __init__(self, store: Store, registration: Registration) -> None:
        self._store = store
        self._registration = registration
        self._account: DatasetAccount | None = None

    def about(self, *vintage: str) -> NewAccount:
        """Return this account: a dataset that is not on record has no vintages yet."""
        for label in vintage:
            raise undeclared(label)
        return self

    def __repr__(self) -> str:
        return f"<account of {self._registration.name!r}, to be kept in {self._store.place}>"

    @property
    def begun(self) -> DatasetAccount | None:
        """The account on record, if somebody was charged meanwhile."""
        if self._account is None and self._store.exists():
            said = self._registration
            with self._store.reading() as connection:
                number = settled(connection, said.name, said.sources)
                if number is not None:
                    check_budget(connection, number, said.budget, said.protects)
                    self._account = DatasetAccount(self._store, number, said.name, said.protects)
        return self._account

    @property
    def secret(self) -> bytes:
        """Return the dataset's secret key, which is made with the record."""
        return self._on_record().secret

    def standing(self, plans_of: str | None = None) -> Standing:
        """Return the budget that was named, of which nothing is spent, or where it stands meanwhile."""
        begun = self.begun
        return Standing(self._registration.budget) if begun is None else begun.standing(plans_of)

    def reserve(self, request: Request) -> Reservation | StoredAnswer:
        """Record the dataset with its first charge."""
        if self.begun is not None:
            return self.begun.reserve(request)
        check_request(request)
        return self._begin(request.charge, lambda account, writer: account.reserve_with(writer, request))

    def stored(self, request: Request) -> StoredAnswer | None:
        """Return the stored answer that the request would get: none before the first charge."""
        return None if self.begun is None else self.begun.stored(request)

    def settle(self, reservation: Reservation, answer: str) -> datetime:
        """Store the noised answer (JSON) durably and return its date; only then may it be shown."""
        return self._on_record().settle(reservation, answer)

    def settle_with_standing(
        self, reservation: Reservation, answer: str, plans_of: str | None = None
    ) -> tuple[datetime, Standing]:
        """Store an answer as `settle` does; return also where the budget stood then."""
        return self._on_record().settle_with_standing(reservation, answer, plans_of)

    def fail(self, reservation: Reservation, reason: str) -> None:
        """Record that no answer was given."""
        self._on_record().fail(reservation, reason)

    def abandon(self, public: str) -> None:
        """Record that what was reserved under an identifier was interrupted, if it is open."""
        if self.begun is not None:
            self.begun.abandon(public)

    def open_plan(
        self,
        body: str,
        charge: Charge,
        slots: int,
        analyst: str,
        *,
        name: str | None = None,
        shared: bool = False,
    ) -> PlanState:
        """Record the dataset with a plan as its first charge."""
        if self.begun is not None:
            return self.begun.open_plan(body, charge, slots, analyst, name=name, shared=shared)
        asked = PlanRequest(body, charge, slots, analyst, name, shared).checked()
        number = self._begin(charge, lambda account, writer: account.open_with(writer, asked))
        return self._on_record().plan_state(number)

    def open_run(
        self, body: str, charge: Charge, updates: int, analyst: str, thresholds: tuple[int, int]
    ) -> PlanState:
        """Record the dataset with an online run as its first charge."""
        if self.begun is not None:
            return self.begun.open_run(body, charge, updates, analyst, thresholds)
        asked = PlanRequest(body, charge, updates, analyst, secret=thresholds).checked()
        number = self._begin(charge, lambda account, writer: account.open_with(writer, asked))
        return self._on_record().plan_state(number)

    def _begin(self, charge: Charge, made: Callable[[DatasetAccount, RecordWriter], _Made]) -> _Made:
        """Record the dataset and what `made` charges, all or nothing."""
        said = self._registration
        if said.budget is None:
            raise missing_budget(said.name)
        if not said.budget.allows(Charge.zero(), charge):
            refuse_charge(said.name, said.budget, Charge.zero(), charge)
        if not self._store.exists():
            create_store(self._store)
        with self._store.writing() as writer:
            account = DatasetAccount(self._store, said.record(writer), said.name, said.protects)
            result = made(account, writer)
        self._account = account
        return result

    def _on_record(self) -> DatasetAccount:
        assert self._account is not None, "something was charged before"
        return self._account
