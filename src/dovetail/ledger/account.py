"""One dataset's budget: reserve before the data is touched, settle before the answer is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

from sqlalchemy import Connection, bindparam, insert, select, update

from dovetail.check import integer
from dovetail.errors import (
    BudgetExceeded,
    InvalidParameter,
    LedgerCorrupt,
    LedgerError,
)
from dovetail.privacy.budget import Budget, Remaining
from dovetail.privacy.charge import DELTA_UNIT, Charge
from dovetail.release.ports import PlanState, Request, Reservation, StoredAnswer

from .amounts import columns, seal
from .answers import answered_before, digest
from .prepared_statements import run
from .registry import plain
from .schema import WHOLE, datasets, plans, requests
from .standing import row_of, standing
from .store import Pen, Store, event_at

_LONGEST_REASON = 200

_RESERVE = insert(requests).values(closing=None)
_PAY = (
    update(datasets)
    .where(datasets.c.id == bindparam("of"), datasets.c.latest == bindparam("seen"))
    .values({name: bindparam(name) for name in ("epsilon", "zeta", "delta", "renyi", "latest")})
)
_MY_PLAN = (plans.c.id == bindparam("plan"), plans.c.dataset == bindparam("of"))
_WANTED = bindparam("wanted", type_=WHOLE)
_TAKE_SLOTS = update(plans).where(*_MY_PLAN, plans.c.left >= _WANTED).values(left=plans.c.left - _WANTED)
_SLOTS = select(plans.c.slots, plans.c.left).where(*_MY_PLAN)
_CLOSE = (
    update(requests)
    .where(
        requests.c.id == bindparam("request"),
        requests.c.dataset == bindparam("of"),
        requests.c.state == "reserved",
    )
    .values(state=bindparam("state"), closing=bindparam("closing"))
)


class DatasetAccount:
    """The account of one dataset in a ledger, as a release needs it (see `release.ports.Account`)."""

    def __init__(self, store: Store, dataset: int, name: str) -> None:
        self._store = store
        self._dataset = dataset
        self.name = name

    def __repr__(self) -> str:
        return f"<account of {self.name!r} in {self._store.place}>"

    @property
    def budget(self) -> Budget:
        """Return the budget as it stands now; its curator may change it."""
        return self.position()[0]

    @property
    def secret(self) -> bytes:
        """Return the dataset's secret key: 32 random bytes, fixed for its life, never exported."""
        with self._store.reading() as connection:
            return bytes(row_of(connection, self._dataset)["secret"])

    def spent(self) -> Charge:
        """Return everything charged so far, unanswered reservations included."""
        return self.position()[1]

    def remaining(self) -> Remaining:
        """Return what can still be paid."""
        budget, spent = self.position()
        return budget.remaining(spent)

    def position(self) -> tuple[Budget, Charge]:
        """Return the budget and everything charged so far, as they stood at one moment."""
        with self._store.reading() as connection:
            return standing(row_of(connection, self._dataset))

    def reserve(self, request: Request) -> Reservation | StoredAnswer:
        """Charge the request durably, or return the stored answer to the same question.

        A retry (same analyst and key) gets the stored answer; while the first attempt is unanswered it gets
        LedgerBusy, so two attempts never both run. Raises BudgetExceeded when the charge does not fit.
        """
        plain("analyst", request.analyst)
        if request.key is not None:
            plain("request", request.key)
        with self._store.writing() as pen:
            stored = answered_before(pen.connection, self._dataset, request)
            if stored is not None:
                return stored
            content: dict[str, Any] = {"analyst": request.analyst, "body": request.body}
            if request.key is not None:
                content["key"] = request.key
            if request.plan is not None:
                content["plan"] = self._take_slots(pen.connection, request.plan, request.slots)
                content["slots"] = request.slots
            else:
                content |= self._pay(pen, request.charge)
            made = pen.record("reservation", self._dataset, content)
            row = {"id": made.sequence, "dataset": self._dataset, "analyst": request.analyst}
            row |= {"key": request.key, "question": digest(request.body), "state": "reserved"}
            run(pen.connection, _RESERVE, row)
        return Reservation(made.sequence)

    def settle(self, reservation: Reservation, answer: str) -> datetime:
        """Store the noised answer (JSON) durably and return its date; only then may it be shown."""
        return self._close(reservation, "answered", "answer", {"answer": answer})

    def fail(self, reservation: Reservation, reason: str) -> None:
        """Record that no answer was given. The charge stays; `reason` names no value."""
        self._close(reservation, "failed", "failure", {"reason": reason[:_LONGEST_REASON]})

    def open_plan(self, body: str, charge: Charge, slots: int, analyst: str) -> PlanState:
        """Charge a plan of `slots` answers at once; unused slots are not refunded."""
        plain("analyst", analyst)
        slots = integer("queries", slots, low=1, high=2**31)
        with self._store.writing() as pen:
            content = {"analyst": analyst, "body": body, "slots": slots} | self._pay(pen, charge)
            made = pen.record("plan", self._dataset, content)
            pen.connection.execute(
                insert(plans).values(id=made.sequence, dataset=self._dataset, slots=slots, left=slots)
            )
        return PlanState(made.sequence, body, charge, slots, slots)

    def plans(self) -> list[PlanState]:
        """Return the plans of this dataset, oldest first."""
        with self._store.reading() as connection:
            rows = connection.execute(
                select(plans).where(plans.c.dataset == self._dataset).order_by(plans.c.id)
            ).all()
            return [_plan(connection, row) for row in rows]

    def _pay(self, pen: Pen, charge: Charge) -> dict[str, Any]:
        """Add a charge to the sum if the budget's filter allows it; return what the event says of it."""
        row = row_of(pen.connection, self._dataset)
        budget, spent = standing(row)
        if not budget.allows(spent, charge):
            self._refuse(budget, spent, charge)
        total = columns(spent + charge)
        # The filter was asked under the lock, so `latest` cannot have moved; CHECK looks once more.
        seen = {"of": self._dataset, "seen": row["latest"]}
        if run(pen.connection, _PAY, total | seen | {"latest": pen.next}).changed != 1:
            raise LedgerCorrupt("the sum of a dataset moved while the ledger was locked. Nothing was spent.")
        return {"charge": charge.to_dict(), "seal": seal(row["budget"], total)}

    def _refuse(self, budget: Budget, spent: Charge, charge: Charge) -> NoReturn:
        remaining = budget.remaining(spent)
        smaller = "a smaller delta, " if charge.delta * DELTA_UNIT > remaining.delta > 0 else ""
        raise BudgetExceeded(
            f"this costs {charge}, but of the budget of {self.name!r} ({budget}) there remains {remaining}. "
            f"Nothing was spent. Ask for {smaller}less accuracy, or for fewer answers.",
            requested=charge,
            remaining=remaining,
        )

    def _take_slots(self, connection: Connection, plan: int, wanted: int) -> int:
        """Use slots of a plan that was paid before, all of them or none."""
        wanted = integer("slots", wanted, low=1, high=2**31)
        mine = {"plan": plan, "of": self._dataset}
        if run(connection, _TAKE_SLOTS, mine | {"wanted": wanted}).changed == 1:
            return plan
        row = run(connection, _SLOTS, mine).first
        if row is None:
            raise InvalidParameter(
                "plan", plan, f"a plan of {self.name!r}", "Open one with session.plan(...)."
            )
        short = f"this uses {wanted} answers of plan {plan}, which has {row.left} of {row.slots} left"
        gone = f"all {row.slots} answers of plan {plan} were given: 0 left"
        raise BudgetExceeded(
            f"{short if row.left else gone}. Open another plan, or pay for each query.",
            requested=wanted,
            remaining=row.left,
        )

    def _close(self, reservation: Reservation, state: str, kind: str, content: Mapping[str, Any]) -> datetime:
        with self._store.writing() as pen:
            mine = {"request": reservation.id, "of": self._dataset}
            closed = run(pen.connection, _CLOSE, mine | {"state": state, "closing": pen.next})
            if closed.changed != 1:
                raise LedgerError(
                    f"reservation {reservation.id} of {self.name!r} is not open: "
                    "it was answered, failed or never made."
                )
            made = pen.record(kind, self._dataset, {"request": reservation.id, **content})
        return datetime.fromisoformat(made.at)


def _plan(connection: Connection, row: Any) -> PlanState:
    content = json.loads(event_at(connection, row.id).content)
    return PlanState(row.id, content["body"], Charge.from_dict(content["charge"]), row.slots, row.left)
