"""Vintages: which rows of a dataset are meant, such as a month, as curators declare them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from dovetail.errors import InvalidParameter
from dovetail.ledger import DatasetAccount
from dovetail.ledger.text import composed
from dovetail.ledger.vintages import Vintage
from dovetail.service import forms
from dovetail.service.authentication import Caller, in_role, signed_in
from dovetail.service.bodies import Body
from dovetail.service.problems import not_found
from dovetail.service.registration import check_columns
from dovetail.service.replies import once, reply, service_of
from dovetail.service.reply_types import Reply, VintageForm, Vintages
from dovetail.service.routing import KeyRoute
from dovetail.service.served_datasets import ServedDataset
from dovetail.service.service import Service
from dovetail.service.sources import check_form, opened_source

from .datasets import own_standing

router = APIRouter(route_class=KeyRoute, tags=["Vintages"])


class NewVintage(Body):
    """Some rows of a dataset: where they are if they have a place of their own, and whether more may come."""

    label: str
    source: dict[str, Any] | None = None
    complete: bool = False
    version: str | None = None


class VintageChanges(Body):
    """What became of a vintage: no more rows enter it, or its rows are in another state."""

    complete: bool = False
    version: str | None = None


@router.get("/v1/datasets/{name}/vintages", summary="The vintages of a dataset, and what remains of each")
def listed(name: str, request: Request) -> Reply[Vintages]:
    """If each row lies in one vintage, each has its own budget; otherwise they share one."""
    service, caller = service_of(request), signed_in(request)
    served = service.visible(caller, name)
    account = service.ledger.catalogue.account(served.entry.name)
    shown = [_shown(service, caller, served, each) for each in account.vintages()]
    return reply({"vintages": shown, "disjoint": account.disjoint, "next": None})


@router.post("/v1/datasets/{name}/vintages", status_code=201, summary="Declare a vintage")
def declare(name: str, body: NewVintage, request: Request) -> Reply[VintageForm]:
    """Without a source of its own, its rows are those of the dataset."""
    caller, service = in_role(request, "curator"), service_of(request)

    def done() -> VintageForm:
        # What may be refused comes first.
        served, label = service.visible(caller, name), composed("label", body.label)
        version = None if body.version is None else composed("version", body.version)
        account = service.ledger.catalogue.account(served.entry.name)
        if any(each.label == label for each in account.vintages()):
            raise InvalidParameter("label", label, "a label that this dataset does not have yet")
        if body.source is None:
            account.declare_vintage(label, complete=body.complete, by=caller.name)
        else:
            source = dict(check_form(body.source, service.settings))
            _declare_at(service, caller, served, label, source, body.complete)
        if version is not None:
            account.set_version(version, vintage=label, by=caller.name)
        service.served.refresh(now=True)
        return _shown(service, caller, service.visible(caller, name), _found(account, label))

    return once(request, caller, body.model_dump(), done)


@router.patch(
    "/v1/datasets/{name}/vintages/{label}",
    summary="Declare that a vintage is complete, or that its data changed",
)
def change(name: str, label: str, body: VintageChanges, request: Request) -> Reply[VintageForm]:
    """Complete is final. A new version marks earlier answers as being about older data."""
    caller, service = in_role(request, "curator"), service_of(request)
    served = service.visible(caller, name)
    account = service.ledger.catalogue.account(served.entry.name)
    _found(account, label)
    # Complete is for good, so a version that is refused must not leave it behind.
    version = None if body.version is None else composed("version", body.version)
    if body.complete:
        account.complete_vintage(label, by=caller.name)
    if version is not None:
        account.set_version(version, vintage=label, by=caller.name)
    return reply(_shown(service, caller, served, _found(account, label)))


def _declare_at(
    service: Service,
    caller: Caller,
    served: ServedDataset,
    label: str,
    source: dict[str, Any],
    complete: bool,
) -> None:
    """Declare a vintage with a place of its own, after looking that its rows can be read."""
    name = served.entry.name
    check_columns(opened_source(source, service.settings, name, served.schema), served.schema)
    service.ledger.catalogue.declare_vintage(
        name,
        label,
        lambda said: {**said, "vintages": {**said.get("vintages", {}), label: source}},
        complete=complete,
        by=caller.name,
    )


def _found(account: DatasetAccount, label: str) -> Vintage:
    vintage = next((each for each in account.vintages() if each.label == label), None)
    if vintage is None:
        raise not_found()
    return vintage


def _shown(service: Service, caller: Caller, served: ServedDataset, vintage: Vintage) -> VintageForm:
    everybody = None
    if caller.role != "analyst" or served.entry.answers == "shared":
        account = service.ledger.catalogue.account(served.entry.name)
        everybody = account.about(vintage.label).standing()
    return {
        "label": vintage.label,
        "complete": vintage.complete,
        "version": vintage.version,
        "mine": forms.standing_of(own_standing(service, caller, served, [vintage.label])),
        "all": forms.standing_of(everybody),
    }
