"""What there is to ask about: the catalogue, as each caller may see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from dovetail.answers.quote import Standing
from dovetail.query.query_json import json_schema
from dovetail.service import forms
from dovetail.service.authentication import Caller, signed_in
from dovetail.service.replies import TAGGED, reply, service_of, tagged
from dovetail.service.reply_types import DatasetForm, Datasets, DatasetSummary, Reply
from dovetail.service.routing import KeyRoute, OpenRoute
from dovetail.service.served_datasets import ServedDataset
from dovetail.service.service import Service

router = APIRouter(route_class=KeyRoute, tags=["Datasets"])
opening = APIRouter(route_class=OpenRoute, tags=["Datasets"])


@router.get("/v1/datasets", responses=TAGGED, summary="The datasets that you may ask about")
def listed(request: Request) -> Reply[Datasets]:
    """Analysts see what was granted to them; curators and auditors see all."""
    service, caller = service_of(request), signed_in(request)
    granted = service.granted(caller)
    datasets = [each for each in service.served.all() if granted is None or each.entry.number in granted]
    return tagged(
        request, {"datasets": [described(service, caller, each) for each in datasets], "next": None}
    )


@router.get("/v1/datasets/{name}", responses=TAGGED, summary="One dataset with its public columns")
def one(name: str, request: Request, vintage: Annotated[list[str], Query()] = []) -> Reply[DatasetForm]:  # noqa: B006
    """Its schema, what it protects, its budget, and what you have left (for the named vintages)."""
    service, caller = service_of(request), signed_in(request)
    served = service.visible(caller, name)
    return tagged(request, with_schema(service, caller, served, vintage))


@opening.get("/v1/schemas/question", summary="The JSON Schema of a question")
def question_schema() -> Reply[dict[str, Any]]:
    """It describes the form `dovetail.question/1`."""
    return reply(json_schema())


def described(
    service: Service, caller: Caller, served: ServedDataset, vintages: Sequence[str] = ()
) -> DatasetSummary:
    """Return a dataset as the caller may see it; where it stands, of some vintages."""
    entry = served.entry
    whole = caller.role != "analyst"
    everybody = None
    if whole or entry.answers == "shared":
        everybody = service.ledger.catalogue.account(entry.name).about(*vintages).standing()
    labels = [each.label for each in service.ledger.catalogue.account(entry.name).vintages()]
    return forms.dataset(entry, own_standing(service, caller, served, vintages), everybody, labels)


def own_standing(
    service: Service, caller: Caller, served: ServedDataset, vintages: Sequence[str] = ()
) -> Standing | None:
    """Return the caller's allotment and what was spent of it, None where nothing was granted."""
    if served.entry.number not in service.held(caller):
        return None
    return service.ledger.catalogue.account(served.entry.name, caller.name).about(*vintages).standing()


def with_schema(
    service: Service, caller: Caller, served: ServedDataset, vintages: Sequence[str] = ()
) -> DatasetForm:
    """Return a dataset with its columns."""
    shown = forms.schema(served.schema, whole=caller.role == "curator")
    return {**described(service, caller, served, vintages), "schema": shown}
