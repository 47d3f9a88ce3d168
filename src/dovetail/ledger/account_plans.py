"""What one dataset's budget pays in advance: plans of many answers, and online runs with their updates."""

from __future__ import annotations

from typing import Any

from dovetail.errors import InvalidParameter
from dovetail.privacy.charge import Charge
from dovetail.release.account import PlanState, Request, Reservation

from . import requests, runs
from .account_balance import AccountBalance
from .balances import dataset_row
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
from .record_writer import RecordWriter
from .store import Store
from .vintages import Chosen


class AccountPlans(AccountBalance):
    """Plans and online runs of one dataset: charged once, used slot by slot."""

    def __init__(self, store: Store, dataset: int, name: str, protects: str | None = None) -> None:
        super().__init__(store, dataset, name, protects)
        self._runs: set[int] = set()

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
        """Charge a plan of `slots` answers at once; unused slots are not refunded.

        A plan of the same body, slots, vintages, analyst and name is opened once: asking again returns it as
        it stands, and nothing is charged. Another one on purpose has another `name`. A `shared` plan is the
        same for every analyst and may be used by all of them.
        """
        return self._opened(PlanRequest(body, charge, slots, analyst, name, shared))

    def open_run(
        self, body: str, charge: Charge, updates: int, analyst: str, thresholds: tuple[int, int]
    ) -> PlanState:
        """Charge an online run at once: a plan of `updates`, with two thresholds that stay in the ledger.

        Where the run was opened before, these thresholds are forgotten and the first ones hold.
        """
        return self._opened(PlanRequest(body, charge, updates, analyst, secret=thresholds))

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
        with self._store.writing() as writer:
            row, held = requests.attempt_of(writer, reservation, self._dataset, self.name)
            return runs.fire(writer, row, held, measured)

    def told(self, run: int) -> list[runs.RunEvent]:
        """Return what an online run told so far, in order: its public hypothesis is rebuilt from it."""
        with self._store.reading() as connection:
            known = plan_row(connection, run, self._dataset) is not None
            return runs.history(connection, run) if known else []

    def fired(self, run: int, after: int) -> list[runs.RunEvent]:
        """Return what firings of an online run measured in the events since `after`."""
        with self._store.reading() as connection:
            return runs.fired(connection, run, after)

    def plans_of(self, analyst: str) -> list[PlanState]:
        """Return the plans and online runs that an analyst may use, oldest first."""
        with self._store.reading() as connection:
            return usable_plans(connection, self._dataset, number_of(connection, analyst))

    def usable_plans(self, analyst: str) -> list[PlanState]:
        """Return those of them that pay for questions about the vintages that are meant."""
        with self._store.reading() as connection:
            return self._usable(connection, dataset_row(connection, self._dataset), analyst)

    def plans(self) -> list[PlanState]:
        """Return the plans of this dataset, oldest first."""
        with self._store.reading() as connection:
            return all_plans(connection, self._dataset)

    def _opened(self, asked: PlanRequest) -> PlanState:
        asked = asked.checked()
        with self._store.writing() as writer:
            number = self.open_with(writer, asked)
        return self.plan_state(number)

    def open_with(self, writer: RecordWriter, asked: PlanRequest) -> int:
        """Open a plan, or find the same one, as a part of what this writer records; return its number."""
        row, principal, grant = self._asking(writer.connection, asked.analyst)
        chosen = self._chosen(writer.connection, row)
        sought = like(self._dataset, chosen.vintages, asked.body, asked.slots, asked.name)
        before = same_plan(writer.connection, sought, principal, asked.shared)
        if before is not None:
            return int(before["id"])
        owner = analyst_number(writer, asked.analyst) if principal is None else principal
        paid = self._pay(writer, row, grant, chosen, asked.charge)
        if asked.secret is not None:
            paid |= runs.keep_thresholds(writer, *asked.secret)
        return add_plan(writer, sought, asked.body, owner, asked.shared, paid)

    def plan_state(self, number: int) -> PlanState:
        """Return a plan as it stands now."""
        with self._store.reading() as connection:
            made = plan_row(connection, number, self._dataset)
            assert made is not None
            return plan_state(connection, made)

    def _is_run(self, writer: RecordWriter, plan: int) -> bool:
        """Tell whether a plan is an online run; what its event says never changes, so it is read once."""
        if plan not in self._runs and runs.committed(writer.connection, plan) is not None:
            self._runs.add(plan)
        return plan in self._runs

    def _use_plan(
        self, writer: RecordWriter, request: Request, principal: int, chosen: Chosen
    ) -> dict[str, Any]:
        """Take slots of a plan, or hold one update of an online run; the plan must be for the same rows."""
        assert request.plan is not None
        row = take_slots(writer, request.plan, self._dataset, principal, request.slots)
        if row["vintages"] != chosen.vintages:
            raise InvalidParameter("plan", request.plan, "a plan for the vintages that are asked about")
        paid: dict[str, Any] = {"plan": request.plan, "slots": request.slots}
        if request.hold:
            if request.slots != 1 or not self._is_run(writer, request.plan):
                raise InvalidParameter("hold", request.slots, "one update of an online run")
            paid["held"] = 1
        return paid
