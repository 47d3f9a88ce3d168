"""Open a plan at an account, and read the plans that it keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dovetail.answers.plan import Plan
from dovetail.noise import IntegerNoise

if TYPE_CHECKING:
    from .account import Account, PlanState


def open_plan(account: Account, plan: Plan, analyst: str, *, name: str | None = None) -> Plan:
    """Charge a plan to the account and return it, or the same plan as it was opened before.

    The plan of a whole session's budget is shared by all who ask; another one is its analyst's own.
    """
    said = {"plan": plan.noise.to_dict(), "neighbours": plan.neighbours, "session": plan.session}
    body = json.dumps(said, sort_keys=True)
    opened = account.open_plan(body, plan.charge, plan.slots, analyst, name=name, shared=plan.session)
    return stored_plan(opened)


def stored_plan(state: PlanState) -> Plan:
    """Return a plan that was opened before."""
    from dovetail.noise import from_dict

    body = json.loads(state.body)
    noise = from_dict(body["plan"])
    assert isinstance(noise, IntegerNoise)
    return Plan(state.id, noise, state.slots, state.charge, body["neighbours"], body["session"], state.left)


def stored_plans(states: Iterable[PlanState]) -> tuple[Plan, ...]:
    """Return the plans among what an account keeps; online runs are not."""
    return tuple(stored_plan(state) for state in states if is_plan(state))


def is_plan(state: PlanState) -> bool:
    """Tell a plan of answers from an online run, which an account keeps as a plan, too."""
    return "plan" in json.loads(state.body)
