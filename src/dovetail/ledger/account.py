"""One dataset's budget: reserve before the data is touched, settle before the answer is shown."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from datetime import datetime
from time import monotonic, sleep
from typing import Self, TypeVar

from sqlalchemy import Connection

from dovetail.answers.quote import Standing
from dovetail.errors import AccessRefused, LedgerError
from dovetail.release.account import Request, Reservation, StoredAnswer

from . import requests, runs
from .account_plans import AccountPlans
from .balances import dataset_row
from .expected_reads import Circumstances
from .prepared_statements import Read
from .principals import analyst_number
from .record_writer import RecordWriter
from .requests import AccountRequest
from .text import composed, plain

_LONGEST_REASON = 200
_Found = TypeVar("_Found")


class DatasetAccount(AccountPlans):
    """The account of one dataset in a ledger, as a release needs it (see `release.account.Account`)."""

    _tick: float | None = None

    @property
    def begun(self) -> DatasetAccount:
        """The account on record: this one."""
        return self

    def reserve(self, request: Request) -> Reservation | StoredAnswer:
        """Charge the request durably, or return the stored answer to the same question.

        A retry (same analyst and key) gets the stored answer; while the first attempt is under way it gets
        LedgerBusy, and once its lease is over it takes the same charge over. Raises BudgetExceeded when the
        charge does not fit the budget or the analyst's allotment, AccessRefused where a grant is needed.
        """
        check_request(request)
        # Nothing is shown before it is settled, and that waits for the disk itself.
        with self._store.writing(expected=lambda: self._expectations.reads(request), early=True) as writer:
            given = self.reserve_with(writer, request)
            if isinstance(given, Reservation) or request.plan is not None:
                return given
            return replace(given, standing=self._standing(writer.connection, None))

    def reserve_batch(
        self, request: Request, version: str | None, after: int
    ) -> tuple[Reservation | StoredAnswer, list[runs.RunEvent]]:
        """Reserve a batch of an online run that was opened on this version of the data.

        Return also what firings measured in the events since `after`: all that happened before this batch,
        read in the same transaction.
        """
        check_request(request)
        assert request.plan is not None
        with self._store.writing() as writer:
            now = self._chosen(writer.connection, dataset_row(writer.connection, self._dataset)).version
            if now != version:
                raise LedgerError(
                    f"The data have version {now!r} now, and this run was opened on version {version!r}.",
                    "Nothing was spent. Open another run.",
                )
            told = runs.fired(writer.connection, request.plan, after)
            return self.reserve_with(writer, request), told

    def reserve_with(self, writer: RecordWriter, request: Request) -> Reservation | StoredAnswer:
        """Reserve as a part of what this writer records."""
        analyst = composed("analyst", request.analyst)
        row, principal, grant = self._asking(writer.connection, analyst)
        chosen = self._chosen(writer.connection, row, request.vintages, request.version)
        self._expectations.remember(request, Circumstances(row, principal, grant, chosen))
        asking = AccountRequest(request, row, principal, chosen)
        known = requests.answered_before(writer, asking, self._store.lease)
        if known is not None:
            return known
        if principal is None:
            principal = analyst_number(writer, analyst)
        if request.plan is None:
            paid = self._pay(writer, row, grant, chosen, request.charge)
        else:
            paid = self._use_plan(writer, request, principal, chosen)
        return requests.begin(writer, asking, principal, paid, self._store.lease)

    def paced(self, tick: float | None) -> Self:
        """Return this account with a clock: whatever became of a reservation is recorded at its next tick.

        Ticks follow each other every `tick` seconds from the reservation on. What took less time looks
        alike to everybody: until the tick it is under way, and its date is that of the tick.
        """
        if tick is None:
            return self
        made = copy(self)
        made._tick = tick
        return made

    def _await_tick(self, reservation: Reservation) -> None:
        if self._tick is not None:
            wait_for_tick(reservation.begun, self._tick)

    def settle(self, reservation: Reservation, answer: str) -> datetime:
        """Store the noised answer (JSON) durably and return its date; only then may it be shown."""
        return self._settled(reservation, answer, lambda _: None, list)[0]

    def settle_with_standing(
        self, reservation: Reservation, answer: str, plans_of: str | None = None
    ) -> tuple[datetime, Standing]:
        """Store an answer as `settle` does; return also where the budget stood then, as `standing` tells it.

        An answer that was paid for is stored also where its analyst may not see it any more.
        """

        def standing(connection: Connection) -> Standing | AccessRefused:
            try:
                return self._standing(connection, plans_of)
            except AccessRefused as error:
                return error

        at, told = self._settled(reservation, answer, standing, self._standing_reads)
        if isinstance(told, AccessRefused):
            raise AccessRefused(
                "You have no valid grant for this dataset any more.",
                "The charge stays spent, because rows were read. The answer is stored.",
            )
        return at, told

    def _settled(
        self,
        reservation: Reservation,
        answer: str,
        read: Callable[[Connection], _Found],
        reads: Callable[[], list[Read]],
    ) -> tuple[datetime, _Found]:
        """Store an answer; return when, and what `read` finds in the same transaction by its `reads`."""
        self._await_tick(reservation)

        def expected() -> list[Read]:
            return [*requests.attempt_reads(reservation), *reads()]

        with self._store.writing(expected=expected) as writer:
            attempt = requests.attempt_of(writer, reservation, self._dataset, self.name)
            found = read(writer.connection)
            returned = runs.end_hold(writer, attempt[1], self._dataset)
            return requests.close(writer, attempt, "answered", {"answer": answer} | returned), found

    def fail(self, reservation: Reservation, reason: str) -> None:
        """Record that no answer was given. The charge stays, and so does a hold; `reason` names no value."""
        self._await_tick(reservation)
        with self._store.writing(expected=lambda: requests.attempt_reads(reservation)) as writer:
            attempt = requests.attempt_of(writer, reservation, self._dataset, self.name)
            requests.close(writer, attempt, "failed", {"reason": reason[:_LONGEST_REASON]})

    def abandon(self, public: str) -> None:
        """Record that what was reserved under an identifier was interrupted, if open. It stays charged."""
        with self._store.writing() as writer:
            left = requests.reserved_as(writer.connection, public)
            if left is not None:
                attempt = requests.attempt_of(writer, left, self._dataset, self.name)
                requests.close(writer, attempt, "failed", {"reason": "stopped on the way"})

    def stored(self, request: Request) -> StoredAnswer | None:
        """Return the stored answer that the request would get, without reserving anything.

        A key that was used for another question is refused.
        """
        with self._store.reading() as connection:
            row, principal, _ = self._asking(connection, composed("analyst", request.analyst))
            chosen = self._chosen(connection, row, request.vintages, request.version)
            return requests.stored_for(connection, AccountRequest(request, row, principal, chosen))


def wait_for_tick(begun: float, tick: float) -> None:
    """Wait until a whole number of ticks, one at least, has passed since something began."""
    passed = monotonic() - begun
    sleep(tick * (int(passed / tick) + 1) - passed)


def check_request(request: Request) -> None:
    """Refuse names and keys that no record could hold."""
    composed("analyst", request.analyst)
    if request.key is not None:
        plain("request", request.key)
