"""Plans: many answers paid at once, opened once however often they are asked for, and used by their owner."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, select

from dovetail.check import integer
from dovetail.errors import BudgetExceeded, InvalidParameter
from dovetail.errors.remedies import SeePlans
from dovetail.privacy.charge import Charge
from dovetail.release.account import PlanState

from .balances import Row
from .prepared_statements import run
from .principals import public_id
from .record_writer import RecordWriter, event_at
from .schema import plans
from .text import composed, digest
from .vintages import labels

MOST_SLOTS = 2**31


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A plan that somebody wants to open; `secret` are the thresholds of an online run."""

    body: str
    charge: Charge
    slots: int
    analyst: str
    name: str | None = None
    shared: bool = False
    secret: tuple[int, int] | None = None

    def checked(self) -> PlanRequest:
        """Refuse names that no record could hold, and too many slots."""
        return replace(
            self,
            analyst=composed("analyst", self.analyst),
            slots=integer("queries", self.slots, low=1, high=MOST_SLOTS),
            name=None if self.name is None else composed("name", self.name),
        )


_PLAN = select(plans).where(plans.c.id == bindparam("plan"), plans.c.dataset == bindparam("of"))
_SAME = select(plans).where(
    *(
        plans.c[name] == bindparam(f"like_{name}")
        for name in ("dataset", "vintages", "name", "question", "slots")
    )
)
_PLANS = select(plans).where(plans.c.dataset == bindparam("of")).order_by(plans.c.id)
_USABLE = _PLANS.where((plans.c.owner == bindparam("by")) | (plans.c.shared == 1))
_USABLE_ABOUT = _USABLE.where(plans.c.vintages == bindparam("about"))
_SHARED = _SAME.where(plans.c.shared == 1).order_by(plans.c.id).limit(1)
_OWN = _SAME.where(plans.c.owner == bindparam("by"), plans.c.shared == 0).limit(1)


def like(dataset: int, vintages: str, body: str, slots: int, name: str | None) -> dict[str, Any]:
    """Return what makes two plans the same one, besides their owner."""
    identity = {"dataset": dataset, "vintages": vintages, "name": name or "", "question": digest(body)}
    return identity | {"slots": slots}


def same_plan(connection: Connection, sought: dict[str, Any], owner: int | None, shared: bool) -> Row | None:
    """Return the plan that was opened before, by this owner or shared on purpose."""
    values = {f"like_{name}": value for name, value in sought.items()}
    if shared:
        row = run(connection, _SHARED, values).first
    elif owner is None:
        return None
    else:
        row = run(connection, _OWN, values | {"by": owner}).first
    return None if row is None else row._asdict()


def add_plan(
    writer: RecordWriter, sought: dict[str, Any], body: str, owner: int, shared: bool, paid: dict[str, Any]
) -> int:
    """Record a plan that was paid for; return its number."""
    number, public = writer.next, public_id()
    row = {"id": number, "public": public, "owner": owner, "shared": int(shared), "left": sought["slots"]}
    writer.insert(plans, sought | row)
    content = {"body": body, "by": owner, "public": public, "slots": sought["slots"], "shared": shared} | paid
    for name in ("name", "vintages"):
        if sought[name]:
            content[name] = sought[name]
    writer.record("plan", sought["dataset"], content)
    return number


def plan_row(connection: Connection, plan: int, dataset: int) -> Row | None:
    """Return a plan of a dataset, or None."""
    row = run(connection, _PLAN, {"plan": plan, "of": dataset}).first
    return None if row is None else row._asdict()


def take_slots(writer: RecordWriter, plan: int, dataset: int, principal: int | None, wanted: int) -> Row:
    """Use slots of a plan that was paid before, all or none, and return it; somebody else's is unknown."""
    wanted = integer("slots", wanted, low=1, high=MOST_SLOTS)
    row = plan_row(writer.connection, plan, dataset)
    if row is None or not (row["shared"] or row["owner"] == principal):
        raise InvalidParameter(
            "plan",
            plan,
            "a plan of this dataset that you opened or that is shared",
            SeePlans(),
        )
    left, slots = row["left"], row["slots"]
    if left < wanted:
        short = f"This uses {wanted} answers of a plan that has {left} of {slots} left"
        gone = f"All {slots} answers of the plan were given: 0 left"
        raise BudgetExceeded(
            f"{short if left else gone}.",
            "Open another plan under another name, or pay for each query.",
            requested=wanted,
            remaining=left,
        )
    return writer.update(plans, row, {"left": left - wanted})


def give_back(writer: RecordWriter, plan: int, dataset: int) -> None:
    """Return one update that a run held and did not use."""
    row = plan_row(writer.connection, plan, dataset)
    assert row is not None
    writer.update(plans, row, {"left": row["left"] + 1})


def plan_state(connection: Connection, row: Row) -> PlanState:
    """Return a plan as a release knows it."""
    content = json.loads(event_at(connection, row["id"]).content)
    charge = Charge.from_dict(content["charge"])
    name, public, shared = row["name"] or None, row["public"], bool(row["shared"])
    about = labels(connection, row["dataset"], row["vintages"])
    left = (row["slots"], row["left"])
    return PlanState(row["id"], content["body"], charge, *left, name, public, shared, about)


def all_plans(connection: Connection, dataset: int) -> list[PlanState]:
    """Return the plans of a dataset, oldest first."""
    return _states(connection, _PLANS, {"of": dataset})


def usable_plans(
    connection: Connection, dataset: int, principal: int | None, about: str | None = None
) -> list[PlanState]:
    """Return the plans that somebody opened or that are shared, oldest first; None is nobody known yet.

    With `about`, only those for these vintages.
    """
    values: dict[str, Any] = {"of": dataset, "by": -1 if principal is None else principal}
    if about is None:
        return _states(connection, _USABLE, values)
    return _states(connection, _USABLE_ABOUT, values | {"about": about})


def _states(connection: Connection, query: Any, values: dict[str, Any]) -> list[PlanState]:
    return [plan_state(connection, row._asdict()) for row in run(connection, query, values).rows]
