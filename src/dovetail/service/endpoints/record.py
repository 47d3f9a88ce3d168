"""The auditor's side, and the public's where the curator allows: what was promised and what became of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from time import monotonic
from typing import Any, cast

from fastapi import APIRouter, Request

from dovetail.errors import InvalidParameter
from dovetail.ledger.public_record import Release, is_witnessed, public_record
from dovetail.noise import IntegerNoise
from dovetail.service import forms
from dovetail.service.authentication import in_role
from dovetail.service.bodies import Body, GivenNoise, read_noise
from dovetail.service.computation_limit import computing
from dovetail.service.curator_reply_types import (
    CertificateForm,
    RaiseForm,
    RecordForm,
    RecordList,
    ReleaseForm,
    Verified,
)
from dovetail.service.problems import not_found
from dovetail.service.replies import TAGGED, reply, service_of, tagged
from dovetail.service.reply_types import Reply
from dovetail.service.routing import KeyRoute, OpenRoute

opening = APIRouter(route_class=OpenRoute, tags=["Record"])
router = APIRouter(route_class=KeyRoute, tags=["Record"])
_AGAIN = 10.0
_MOST_RELEASES = 1000


class NoiseBody(Body):
    """A noise."""

    noise: GivenNoise


@opening.get("/v1/record", responses=TAGGED, summary="What was promised, spent and released")
def record(request: Request, dataset: str | None = None) -> Reply[RecordForm] | Reply[RecordList]:
    """Without a key, only datasets whose record is public.

    Only curators and auditors see the head, because it moves with every event of every dataset.
    """
    service = service_of(request)
    caller = request.state.caller
    readable = {served.entry.name: served for served in service.served.all() if _readable(caller, served)}
    if dataset is None:
        names: RecordList = {"datasets": list(readable)}
        return tagged(request, names)
    if dataset not in readable:
        raise not_found()
    entry = readable[dataset].entry
    public = public_record(service.ledger, dataset, _MOST_RELEASES)
    said: RecordForm = {
        "schema": "dovetail.record/1",
        "dataset": entry.name,
        "title": entry.said.get("title"),
        "description": entry.said.get("description"),
        "contact": entry.said.get("contact"),
        "licence": entry.said.get("licence"),
        "protects": entry.protects,
        "unit": entry.said.get("unit"),
        "max_rows": entry.said.get("max_rows"),
        "budget": forms.limit(public.budget),
        "spent": forms.amount(public.spent),
        "remaining": public.budget.remaining(public.spent).to_dict(),
        "opened_at": public.opened_at,
        "raises": [cast(RaiseForm, each) for each in public.raises],
        "releases": [_release(each) for each in public.releases],
        "head": str(service.ledger.head) if _keeps_watch(caller) else None,
    }
    return tagged(request, said)


@router.post("/v1/certificate", summary="Check the sampler against what is charged")
def certificate(body: NoiseBody) -> Reply[CertificateForm]:
    """Every threshold of the tables in use is rebuilt from rigorous enclosures and compared."""
    noise = read_noise(body.noise)
    if not isinstance(noise, IntegerNoise):
        raise InvalidParameter("noise", body.noise, "a noise on the integers")
    with computing():
        return reply(_certified(json.dumps(noise.to_dict(), sort_keys=True)))


@router.get("/v1/verify", summary="Check every event of the record")
def verify(request: Request) -> Reply[Verified]:
    """The head is what `dovetail ledger verify` prints. A result is kept for ten seconds.

    Only for curators and auditors: the number of events would show an analyst what others do.
    """
    in_role(request, "curator", "auditor")
    service = service_of(request)
    with service.verifying:
        if service.verified is None or monotonic() - service.verified[0] > _AGAIN:
            service.verified = None
            head = service.ledger.verify()
            service.verified = (
                monotonic(),
                {
                    "ok": True,
                    "head": str(head),
                    "events": head.sequence,
                    "witness": is_witnessed(service.ledger),
                    "checked_at": datetime.now(UTC).isoformat(),
                },
            )
        return reply(service.verified[1])


@lru_cache(maxsize=64)
def _certified(text: str) -> CertificateForm:
    from dovetail.audit import sampler

    noise = read_noise(json.loads(text))
    assert isinstance(noise, IntegerNoise)
    certificate = sampler(noise)
    return cast(
        CertificateForm, certificate.to_dict() | {"certified": certificate.holds, "text": str(certificate)}
    )


def _readable(caller: Any, served: Any) -> bool:
    """Tell whether the caller may read the record: curators and auditors all, everybody what is public."""
    return bool(served.entry.said.get("public")) or _keeps_watch(caller)


def _keeps_watch(caller: Any) -> bool:
    return caller is not None and caller.role in ("curator", "auditor")


def _release(each: Release) -> ReleaseForm:
    """Return one release: which day, what, with which noise, for how much; never its answer."""
    said = json.loads(each.body)
    return {
        "day": each.at[:10],
        "words": forms.request_words(each.body),
        "noise": [noise for asked in said.get("asked", []) for noise in asked.get("noise", [])],
        "price": None if each.charge is None else forms.amount(each.charge),
        "state": each.state,
    }
