"""Open a plan at an account, and read the plans that it keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dovetail.answers.plan import Plan
from dovetail.noise import IntegerNoise, from_dict
from dovetail.pricing.plans import sketched_plan
from dovetail.query.neighbours import Neighbours

if TYPE_CHECKING:
    from .account import Account, PlanState


def open_plan(
    account: Account,
    noise: IntegerNoise,
    slots: int,
    neighbours: Neighbours,
    analyst: str,
    *,
    session: bool = False,
    name: str | None = None,
) -> Plan:
    """Charge a plan to the account and return it, or the same plan as it was opened before.

    The plan of a whole session's budget is shared by all who ask; another one is its analyst's own.
    """
    plan = sketched_plan(noise, slots, neighbours, *account.position())
    body = json.dumps({"plan": noise.to_dict(), "neighbours": neighbours, "session": session}, sort_keys=True)
    return stored_plan(account.open_plan(body, plan.charge, slots, analyst, name=name, shared=session))


def stored_plan(state: PlanState) -> Plan:
    """Return a plan that was opened before."""
    body = json.loads(state.body)
    noise = from_dict(body["plan"])
    assert isinstance(noise, IntegerNoise)
    return Plan(state.id, noise, state.slots, state.charge, body["neighbours"], body["session"], state.left)
