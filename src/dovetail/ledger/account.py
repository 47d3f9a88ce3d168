"""One dataset's budget: reserve before the data is touched, settle before the answer is shown."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from datetime import datetime
from typing import Any, Self

from sqlalchemy import Connection

from dovetail.answers.quote import Standing
from dovetail.errors import InvalidParameter, LedgerError
from dovetail.privacy.budget import Budget, Remaining
from dovetail.privacy.charge import Charge
from dovetail.release.account import PlanState, Request, Reservation, StoredAnswer
from dovetail.release.plans import stored_plans

from . import requests, runs, vintages
from .balances import Row, balance, budget_of, dataset_row, most_spent, spent_of, write_sums
from .expected_reads import Circumstances, Expectations
from .grants import grant_row, permitted
from .pen import Pen
from .plans import (
    PlanRequest,
    add_plan,
    all_plans,
    like,
    plan_row,
    plan_state,
    same_plan,
    take_slots,
    usable_plans,
)
from .principals import analyst_number, number_of
from .refusals import refuse_charge
from .registry import check_protects
from .requests import Asking
from .store import Store
from .text import composed, plain
from .vintage_declarations import DeclaringVintages
from .vintages import Chosen

_LONGEST_REASON = 200


class DatasetAccount(DeclaringVintages):
    """The account of one dataset in a ledger, as a release needs it (see `release.account.Account`)."""

    def __init__(self, store: Store, dataset: int, name: str, protects: str | None = None) -> None:
        super().__init__(store, dataset)
        # For whom whoever asks here computes charges; None where that was not said.
        self.protects = protects
        self._vintages: tuple[str, ...] = ()
        self._runs: set[int] = set()
        self.name = name
        self._expectations = Expectations()

    def __repr__(self) -> str:
        return f"<account of {self.name!r} in {self._store.place}>"

    def about(self, *vintage: str) -> Self:
        """Return this account as questions about some vintages see it; they must be declared.

        What remains, plans, stored answers and charges are then those of these vintages.
        """
        if not vintage:
            return self
        made = copy(self)
        made._vintages = vintage
        made._expectations = Expectations()
        with self._store.reading() as connection:
            vintages.choose(connection, dataset_row(connection, self._dataset), vintage, None)
        return made

    @property
    def begun(self) -> DatasetAccount:
        """The account on record: this one."""
        return self

    @property
    def budget(self) -> Budget:
        """Return the budget as it stands now; its curator may change it."""
        return self.position()[0]

    @property
    def secret(self) -> bytes:
        """Return the dataset's secret key: 32 random bytes, fixed for its life, never exported."""
        with self._store.reading() as connection:
            return bytes(dataset_row(connection, self._dataset)["secret"])

    def standing(self, plans_of: str | None = None) -> Standing:
        """Return the budget and everything charged so far, and the plans that an analyst may use."""
        with self._store.reading() as connection:
            row = dataset_row(connection, self._dataset)
            states = self._usable(connection, row, plans_of)
            budget, spent = budget_of(row["budget"]), self._borne(connection, row, self._dataset)
        return Standing(budget, spent, stored_plans(states))

    def _borne(self, connection: Connection, dataset: Row, subject: int) -> Charge:
        """Return what a budget or an allotment has borne for the vintages that are meant, the most of any."""
        if not self._vintages:
            return most_spent(connection, subject)
        bearing = vintages.choose(connection, dataset, self._vintages, None).bearing
        return Charge.largest(*(spent_of(balance(connection, subject, each)) for each in bearing))

    def _usable(self, connection: Connection, dataset: Row, analyst: str | None) -> list[PlanState]:
        """Return the plans for these vintages that an analyst may use; None is nobody."""
        if analyst is None:
            return []
        about = vintages.numbers(connection, dataset["id"], self._vintages)
        return usable_plans(connection, dataset["id"], number_of(connection, analyst), about)

    def spent(self) -> Charge:
        """Return everything charged so far, open reservations included; of disjoint vintages, the most."""
        return self.position()[1]

    def remaining(self) -> Remaining:
        """Return what can still be paid."""
        budget, spent = self.position()
        return budget.remaining(spent)

    def position(self, vintage: Sequence[str] = ()) -> tuple[Budget, Charge]:
        """Return the budget and everything charged so far (to some vintages), as they stood at one moment."""
        account = self.about(*vintage) if vintage else self
        with self._store.reading() as connection:
            row = dataset_row(connection, self._dataset)
            return budget_of(row["budget"]), account._borne(connection, row, self._dataset)

    def reserve(self, request: Request) -> Reservation | StoredAnswer:
        """Charge the request durably, or return the stored answer to the same question.

        A retry (same analyst and key) gets the stored answer; while the first attempt is under way it gets
        LedgerBusy, and once its lease is over it takes the same charge over. Raises BudgetExceeded when the
        charge does not fit the budget or the analyst's allotment, AccessRefused where a grant is needed.
        """
        check_request(request)
        with self._store.writing(expected=self._expectations.reads(request)) as pen:
            return self.reserve_with(pen, request)

    def reserve_batch(
        self, request: Request, version: str | None, after: int
    ) -> tuple[Reservation | StoredAnswer, list[runs.Told]]:
        """Reserve a batch of an online run that was opened on this version of the data.

        Return also what firings measured in the events since `after`: all that happened before this batch,
        read in the same transaction.
        """
        check_request(request)
        assert request.plan is not None
        with self._store.writing() as pen:
            now = self._chosen(pen.connection, dataset_row(pen.connection, self._dataset)).version
            if now != version:
                raise LedgerError(
                    f"The data have version {now!r} now, and this run was opened on version {version!r}.",
                    "Nothing was spent. Open another run.",
                )
            told = runs.fired(pen.connection, request.plan, after)
            return self.reserve_with(pen, request), told

    def reserve_with(self, pen: Pen, request: Request) -> Reservation | StoredAnswer:
        """Reserve as a part of what this pen records."""
        analyst = composed("analyst", request.analyst)
        row, principal, grant = self._asking(pen.connection, analyst)
        chosen = self._chosen(pen.connection, row, request.vintages, request.version)
        self._expectations.remember(request, Circumstances(row, principal, grant, chosen))
        asking = Asking(request, row, principal, chosen)
        known = requests.answered_before(pen, asking, self._store.lease)
        if known is not None:
            return known
        if principal is None:
            principal = analyst_number(pen, analyst)
        if request.plan is None:
            paid = self._pay(pen, row, grant, chosen, request.charge)
        else:
            paid = self._use_plan(pen, request, principal, chosen)
        return requests.begin(pen, asking, principal, paid, self._store.lease)

    def settle(self, reservation: Reservation, answer: str) -> datetime:
        """Store the noised answer (JSON) durably and return its date; only then may it be shown."""
        with self._store.writing(expected=requests.attempt_reads(reservation)) as pen:
            found = requests.attempt_of(pen, reservation, self._dataset, self.name)
            returned = runs.end_hold(pen, found[1], self._dataset)
            return requests.close(pen, found, "answered", {"answer": answer} | returned)

    def fail(self, reservation: Reservation, reason: str) -> None:
        """Record that no answer was given. The charge stays, and so does a hold; `reason` names no value."""
        with self._store.writing(expected=requests.attempt_reads(reservation)) as pen:
            found = requests.attempt_of(pen, reservation, self._dataset, self.name)
            requests.close(pen, found, "failed", {"reason": reason[:_LONGEST_REASON]})

    def abandon(self, public: str) -> None:
        """Record that what was reserved under an identifier was interrupted, if open. It stays charged."""
        with self._store.writing() as pen:
            left = requests.reserved_as(pen.connection, public)
            if left is not None:
                found = requests.attempt_of(pen, left, self._dataset, self.name)
                requests.close(pen, found, "failed", {"reason": "stopped on the way"})

    def stored(self, request: Request) -> StoredAnswer | None:
        """Return the stored answer that the request would get, without reserving anything."""
        with self._store.reading() as connection:
            row, principal, _ = self._asking(connection, composed("analyst", request.analyst))
            chosen = self._chosen(connection, row, request.vintages, request.version)
            return requests.stored_answer(connection, Asking(request, row, principal, chosen))

    def open_plan(
        self,
        body: str,
        charge: Charge,
        slots: int,
        analyst: str,
        *,
        name: str | None = None,
        shared: bool = False,
        vintage: Sequence[str] = (),
    ) -> PlanState:
        """Charge a plan of `slots` answers at once; unused slots are not refunded.

        A plan of the same body, slots, vintages, analyst and name is opened once: asking again returns it as
        it stands, and nothing is charged. Another one on purpose has another `name`. A `shared` plan is the
        same for every analyst and may be used by all of them.
        """
        return self._opened(PlanRequest(body, charge, slots, analyst, name, shared, tuple(vintage)))

    def open_run(
        self,
        body: str,
        charge: Charge,
        updates: int,
        analyst: str,
        thresholds: tuple[int, int],
        *,
        name: str | None = None,
        shared: bool = False,
        vintage: Sequence[str] = (),
    ) -> PlanState:
        """Charge an online run at once: a plan of `updates`, with two thresholds that stay in the ledger.

        Where the run was opened before, these thresholds are forgotten and the first ones hold.
        """
        asked = PlanRequest(body, charge, updates, analyst, name, shared, tuple(vintage), thresholds)
        return self._opened(asked)

    def thresholds(self, run: int) -> tuple[int, int]:
        """Return the private thresholds of a run, checked against the commitment in the record."""
        with self._store.reading() as connection:
            said = (
                None if plan_row(connection, run, self._dataset) is None else runs.committed(connection, run)
            )
            if said is None:
                raise InvalidParameter("run", run, f"an online run of {self.name!r}")
            return runs.thresholds(connection, run, said)

    def fire(self, reservation: Reservation, measured: str) -> bool:
        """Store what a firing measured, using up the update that the batch holds, and take the next one.

        False means that no update is left: the batch tests no further.
        """
        with self._store.writing() as pen:
            row, held = requests.attempt_of(pen, reservation, self._dataset, self.name)
            return runs.fire(pen, row, held, measured)

    def told(self, run: int) -> list[runs.Told]:
        """Return what an online run told so far, in order: its public hypothesis is rebuilt from it."""
        with self._store.reading() as connection:
            known = plan_row(connection, run, self._dataset) is not None
            return runs.history(connection, run) if known else []

    def fired(self, run: int, after: int) -> list[runs.Told]:
        """Return what firings of an online run measured in the events since `after`."""
        with self._store.reading() as connection:
            return runs.fired(connection, run, after)

    def plans_of(self, analyst: str) -> list[PlanState]:
        """Return the plans and online runs that an analyst may use, oldest first."""
        with self._store.reading() as connection:
            return usable_plans(connection, self._dataset, number_of(connection, analyst))

    @property
    def version(self) -> str | None:
        """The state of the data, as their curator last said."""
        with self._store.reading() as connection:
            return self._chosen(connection, dataset_row(connection, self._dataset)).version

    def allotted(self, analyst: str) -> Remaining | None:
        """Return what remains of an analyst's allotment; None where nothing was granted to them."""
        with self._store.reading() as connection:
            number = number_of(connection, composed("analyst", analyst))
            grant = None if number is None else grant_row(connection, number, self._dataset)
            if grant is None:
                return None
            return budget_of(grant["allotment"]).remaining(most_spent(connection, grant["id"]))

    def plans(self) -> list[PlanState]:
        """Return the plans of this dataset, oldest first."""
        with self._store.reading() as connection:
            return all_plans(connection, self._dataset)

    def _opened(self, asked: PlanRequest) -> PlanState:
        asked = asked.checked()
        with self._store.writing() as pen:
            number = self.open_with(pen, asked)
        return self.plan_state(number)

    def open_with(self, pen: Pen, asked: PlanRequest) -> int:
        """Open a plan, or find the same one, as a part of what this pen records; return its number."""
        row, principal, grant = self._asking(pen.connection, asked.analyst)
        chosen = self._chosen(pen.connection, row, asked.vintages)
        sought = like(self._dataset, chosen.vintages, asked.body, asked.slots, asked.name)
        before = same_plan(pen.connection, sought, principal, asked.shared)
        if before is not None:
            return int(before["id"])
        owner = analyst_number(pen, asked.analyst) if principal is None else principal
        paid = self._pay(pen, row, grant, chosen, asked.charge)
        if asked.secret is not None:
            paid |= runs.keep_thresholds(pen, *asked.secret)
        return add_plan(pen, sought, asked.body, owner, asked.shared, paid)

    def plan_state(self, number: int) -> PlanState:
        """Return a plan as it stands now."""
        with self._store.reading() as connection:
            made = plan_row(connection, number, self._dataset)
            assert made is not None
            return plan_state(connection, made)

    def _chosen(
        self, connection: Connection, row: Row, labels: Sequence[str] = (), version: str | None = None
    ) -> Chosen:
        """Return what a question is about: the vintages that it names, else those of this account."""
        return vintages.choose(connection, row, labels or self._vintages, version)

    def _asking(self, connection: Connection, analyst: str) -> tuple[Row, int | None, Row | None]:
        """Return the dataset, who asks (None: nobody known yet) and the grant that is charged."""
        row = dataset_row(connection, self._dataset)
        if row["retired"] is not None:
            raise LedgerError(f"{self.name!r} was retired: its record is kept, nothing more is answered.")
        # It may have been changed before the first charge, while somebody had the old one in mind.
        check_protects(row, self.name, self.protects)
        principal = number_of(connection, analyst)
        return row, principal, permitted(connection, principal, row)

    def _pay(
        self, pen: Pen, dataset: Row, grant: Row | None, chosen: Chosen, charge: Charge
    ) -> dict[str, Any]:
        """Add a charge to budget and allotment if both filters allow it; return what the event says of it."""
        limits = [(dataset["id"], budget_of(dataset["budget"]))]
        if grant is not None:
            limits.append((grant["id"], budget_of(grant["allotment"])))
        sums = []
        for subject, limit in limits:
            for vintage in chosen.bearing:
                row = balance(pen.connection, subject, vintage)
                spent = spent_of(row)
                if not limit.allows(spent, charge):
                    own = subject == dataset["id"]
                    hidden = own and dataset["answers"] == "own"
                    refuse_charge(self.name, limit, spent, charge, allotted=not own, hidden=hidden)
                sums.append((row, spent + charge))
        return {"charge": charge.to_units(), "on": write_sums(pen, sums)}

    def _is_run(self, pen: Pen, plan: int) -> bool:
        """Tell whether a plan is an online run; what its event says never changes, so it is read once."""
        if plan not in self._runs and runs.committed(pen.connection, plan) is not None:
            self._runs.add(plan)
        return plan in self._runs

    def _use_plan(self, pen: Pen, request: Request, principal: int, chosen: Chosen) -> dict[str, Any]:
        """Take slots of a plan, or hold one update of an online run; the plan must be for the same rows."""
        assert request.plan is not None
        row = take_slots(pen, request.plan, self._dataset, principal, request.slots)
        if row["vintages"] != chosen.vintages:
            raise InvalidParameter("plan", request.plan, "a plan for the vintages that are asked about")
        paid: dict[str, Any] = {"plan": request.plan, "slots": request.slots}
        if request.hold:
            if request.slots != 1 or not self._is_run(pen, request.plan):
                raise InvalidParameter("hold", request.slots, "one update of an online run")
            paid["held"] = 1
        return paid


def check_request(request: Request) -> None:
    """Refuse names and keys that no record could hold."""
    composed("analyst", request.analyst)
    if request.key is not None:
        plain("request", request.key)
