"""Plans: many answers of one noise, paid once; each belongs to the analyst who opened it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from dovetail.answers.payment import noise_of_slots
from dovetail.check import integer
from dovetail.pricing.plans import sketched_plan
from dovetail.release.account import PlanState
from dovetail.release.plans import is_plan, stored_plan
from dovetail.service import forms
from dovetail.service.authentication import signed_in
from dovetail.service.bodies import VINTAGES, Body, GivenNoise, Names, idempotency_key, read_noise
from dovetail.service.replies import opened_once, reply, service_of
from dovetail.service.reply_types import PlanForm, PlanQuoteForm, PlanQuoteMembers, Plans, Reply
from dovetail.service.routing import KeyRoute

from .questions import Asker

router = APIRouter(route_class=KeyRoute, tags=["Plans"])
_MOST_SLOTS = 100_000


class PlanBody(Body):
    """A noise and how many answers of it; another plan of the same kind needs another name."""

    noise: GivenNoise
    queries: Any
    name: str | None = None
    vintages: Names = VINTAGES


@router.post("/v1/datasets/{name}/plans/quotes", summary="What a plan would cost and leave")
def quoted(name: str, body: PlanBody, request: Request) -> Reply[PlanQuoteForm]:
    """Nothing is spent."""
    asker = Asker.of(name, request, body.vintages)
    noise, slots = _read(body)
    neighbours = asker.served.entry.said.get("neighbours", "add-remove")
    standing = asker.account.standing()
    sketch = sketched_plan(noise, slots, neighbours, standing)
    form = forms.plan(
        sketch, asker.served.entry.name, asker.vintages, public=None, called=body.name, shared=False
    )
    budget, spent = standing.budget, standing.spent
    assert budget is not None
    fits = budget.allows(spent, sketch.charge)
    quoted: PlanQuoteMembers = {
        **form,
        "affordable": fits,
        "remaining": budget.remaining(spent + sketch.charge).to_dict() if fits else None,
        "remaining_now": budget.remaining(spent).to_dict(),
    }
    return reply(quoted)


@router.post("/v1/datasets/{name}/plans", status_code=201, summary="Open a plan")
def opened(name: str, body: PlanBody, request: Request) -> Reply[PlanForm]:
    """A repeated request returns the same plan, which is paid once."""
    idempotency_key(request)
    asker = Asker.of(name, request, body.vintages)
    (noise, slots), shown = _read(body), asker.served.entry.name

    def done() -> PlanForm:
        made = asker.session.plan(noise, queries=slots, name=body.name)
        return next(_shown(each, shown) for each in asker.plans() if each.id == made.id)

    def again(public: str) -> PlanForm | None:
        return next((_shown(each, shown) for each in asker.plans() if each.public == public), None)

    return opened_once(request, asker.caller, body.model_dump(), done, again)


@router.get("/v1/plans", summary="The plans that you may use")
def listed(request: Request, dataset: str | None = None) -> Reply[Plans]:
    """Your own, and those that are shared."""
    service, caller = service_of(request), signed_in(request)
    granted = service.held(caller)
    datasets = [service.visible(caller, dataset)] if dataset is not None else service.served.all()
    plans: list[PlanForm] = []
    for served in datasets:
        if served.entry.number not in granted:
            continue
        states = service.ledger.catalogue.account(served.entry.name).plans_of(caller.name)
        plans += [_shown(state, served.entry.name) for state in states if is_plan(state)]
    return reply({"plans": plans, "next": None})


def _shown(state: PlanState, dataset: str) -> PlanForm:
    named: dict[str, Any] = {"public": state.public, "called": state.name, "shared": state.shared}
    return forms.plan(stored_plan(state), dataset, state.vintages, **named)


def _read(body: PlanBody) -> tuple[Any, int]:
    slots = integer("queries", body.queries, low=1, high=_MOST_SLOTS, fix="For example 20.")
    return noise_of_slots("noise", read_noise(body.noise), 1), slots
