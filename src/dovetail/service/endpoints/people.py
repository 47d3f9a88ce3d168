"""The curator's side of people: who may ask, with which key, about what, for how much."""

from __future__ import annotations

import json
from datetime import datetime
from typing import cast

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dovetail.errors import InvalidParameter
from dovetail.ledger import Grant, Key, Principal
from dovetail.service import forms
from dovetail.service.authentication import in_role
from dovetail.service.bodies import Body, GivenBudget, read_budget
from dovetail.service.curator_reply_types import (
    GrantForm,
    Grants,
    KeyForm,
    KeyList,
    MadeKey,
    PersonForm,
    PersonList,
    Who,
)
from dovetail.service.noted_warnings import noted_warnings
from dovetail.service.problems import Refused, not_found
from dovetail.service.replies import claimed, done_once, once, reply, service_of
from dovetail.service.reply_types import Reply, Role
from dovetail.service.routing import KeyRoute
from dovetail.service.service import Service

router = APIRouter(route_class=KeyRoute, tags=["Curator"])


class NewPerson(Body):
    """Somebody new."""

    name: str
    role: str = "analyst"
    address: str | None = None


class NewKey(Body):
    """A key for somebody, by their id."""

    person: str
    expires: str | None = None


class NewGrant(Body):
    """Grant somebody an allotment, of the same kind as the dataset's budget; post again to change it."""

    person: str
    dataset: str
    allotment: GivenBudget
    expires: str | None = None


@router.get("/v1/analysts", summary="Everybody in the ledger")
def everybody(request: Request) -> Reply[PersonList]:
    """Analysts, auditors and curators."""
    in_role(request, "curator")
    people = service_of(request).ledger.people.all()
    return reply({"people": [person(each) for each in people], "next": None})


@router.post("/v1/analysts", status_code=201, summary="Add somebody")
def add(body: NewPerson, request: Request) -> Reply[PersonForm]:
    """The record holds a number and never the name, so that the name can be erased."""
    caller, ledger = in_role(request, "curator"), service_of(request).ledger

    def done() -> PersonForm:
        return person(ledger.people.add(body.name, body.role, address=body.address, by=caller.name))

    return once(request, caller, body.model_dump(), done)


@router.delete("/v1/analysts/{public}", status_code=204, summary="Erase a name and revoke its keys")
def erase(public: str, request: Request) -> Response:
    """The record keeps the number."""
    caller, service = in_role(request, "curator"), service_of(request)
    person = known(service, public)
    if person.id == caller.principal.id:
        raise Refused(
            409, "ledger-error", "Only another curator can erase your name.", "Nothing was changed."
        )
    if person.name is not None:
        service.ledger.people.erase(person.name, by=caller.name)
    return Response(status_code=204)


@router.get("/v1/keys", summary="The keys, without their text")
def keys(request: Request, person: str | None = None) -> Reply[KeyList]:
    """For everybody, or for one person."""
    in_role(request, "curator")
    service = service_of(request)
    people = {each.id: each for each in service.ledger.people.all()}
    chosen = None if person is None else known(service, person).id
    kept = service.ledger.people.keys()
    chosen_keys = [each for each in kept if chosen in (None, each.principal)]
    return reply({"keys": [key(each, people[each.principal]) for each in chosen_keys], "next": None})


@router.post("/v1/keys", status_code=201, summary="Make a key, which is shown once")
def make_key(body: NewKey, request: Request) -> Reply[MadeKey]:
    """A retry does not show it again, because its text is not stored: revoke it and make another.

    The refusal of a retry names the key that was made, as `made`.
    """
    caller, service = in_role(request, "curator"), service_of(request)
    claim, before = claimed(request, caller, body.model_dump())
    if before is not None:
        raise Refused(
            409,
            "request-conflict",
            "The key of this request was made before, and its text is kept nowhere.",
            "Revoke it and make another.",
            made=None if before.reply is None else json.loads(before.reply),
        )

    def done() -> MadeKey:
        owner = named(known(service, body.person))
        made = service.ledger.people.make_key(str(owner.name), expires=moment(body.expires), by=caller.name)
        return {**key(made, owner), "key": str(made.text)}

    return reply(done_once(request, claim, done, lambda data: data["id"]), 201)


@router.delete("/v1/keys/{public}", status_code=204, summary="Revoke a key")
def revoke_key(public: str, request: Request) -> Response:
    """It stops working at the next request on every worker, and so do its console sessions."""
    caller, service = in_role(request, "curator"), service_of(request)
    try:
        service.ledger.people.revoke_key(public, by=caller.name)
    except InvalidParameter:
        raise not_found() from None
    return Response(status_code=204)


@router.get("/v1/grants", summary="Who may ask about what, and what they have spent")
def grants(request: Request, person: str | None = None, dataset: str | None = None) -> Reply[Grants]:
    """For everybody and all datasets, or for one person or one dataset."""
    in_role(request, "curator")
    service = service_of(request)
    name = None if person is None else str(named(known(service, person)).name)
    if dataset is not None and service.served.find(dataset) is None:
        raise not_found()
    permitted = service.ledger.people.grants(name, dataset)
    return reply({"grants": listed(service, permitted), "next": None})


@router.post("/v1/grants", status_code=201, summary="Let somebody ask, up to an allotment")
def grant(body: NewGrant, request: Request) -> Reply[GrantForm]:
    """This also changes an existing grant; an allotment never falls below what was spent of it."""
    caller, service = in_role(request, "curator"), service_of(request)

    def done() -> GrantForm:
        owner = named(known(service, body.person))
        if service.served.find(body.dataset) is None:
            raise not_found()
        allotment, until = read_budget("allotment", body.allotment), moment(body.expires)
        people = service.ledger.people
        with noted_warnings() as noted:
            people.grant(str(owner.name), body.dataset, allotment, expires=until, by=caller.name)
        (made,) = listed(service, people.grants(owner.name, body.dataset))
        return {**made, "warnings": [str(each) for each in noted]}

    return once(request, caller, body.model_dump(), done)


@router.delete("/v1/grants/{public}/{dataset}", status_code=204, summary="Revoke a grant")
def revoke_grant(public: str, dataset: str, request: Request) -> Response:
    """If it is granted again, what was spent before still counts."""
    caller, service = in_role(request, "curator"), service_of(request)
    owner = named(known(service, public))
    try:
        service.ledger.people.revoke_grant(str(owner.name), dataset, by=caller.name)
    except InvalidParameter:
        raise not_found() from None
    return Response(status_code=204)


def known(service: Service, public: str) -> Principal:
    """Return somebody by the identifier that a curator sees."""
    try:
        return service.ledger.people.known_as(public)
    except InvalidParameter:
        raise not_found() from None


def named(found: Principal) -> Principal:
    """Return somebody who still has a name."""
    if found.name is None:
        raise Refused(409, "ledger-error", "The name of this person was erased.", "Nothing was changed.")
    return found


def person(found: Principal) -> PersonForm:
    """Return somebody as a curator sees them."""
    return {**_who(found), "address": found.address}


def key(found: Key, owner: Principal) -> KeyForm:
    """Return a key without its text."""
    expires = None if found.expires is None else found.expires.isoformat()
    return {"id": found.public, "person": _who(owner), "expires": expires, "revoked": found.revoked}


def _who(found: Principal) -> Who:
    return {"id": found.public, "name": found.name, "role": cast(Role, found.role)}


def listed(service: Service, found: list[Grant]) -> list[GrantForm]:
    """Return grants with names."""
    people = {each.id: each for each in service.ledger.people.all()}
    names = {served.entry.number: served.entry.name for served in service.served.all()}
    return [
        {
            "person": _who(people[each.principal]),
            "dataset": names[each.dataset],
            "standing": forms.standing(each.allotment, each.spent),
            "expires": each.expires,
            "revoked": each.revoked,
        }
        for each in found
        if each.dataset in names
    ]


def moment(text: str | None) -> datetime | None:
    """Return a point in time that a body names."""
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise InvalidParameter("expires", text, "a time with its zone, such as 2027-01-31T00:00:00+00:00")
    return read
