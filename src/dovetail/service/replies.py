"""Replies: JSON with an ETag where it can be asked for again, and retries of a curator's requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import Request

from dovetail.ledger.replies import Claimed, KeyClaim

from .authentication import Caller
from .bodies import idempotency_key
from .problems import Refused
from .reply_types import Reply
from .service import Service

T = TypeVar("T")
TAGGED: dict[int | str, dict[str, Any]] = {304: {"description": "You have it already."}}


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    service: Service = request.app.state.service
    return service


def reply(data: T, status: int = 200, **headers: str) -> Reply[T]:
    """Return data as JSON."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(body, status, media_type="application/json", headers=named)


def tagged(request: Request, data: T) -> Reply[T]:
    """Return data with an ETag, or 304 where the caller has it already."""
    made = reply(data)
    tag = f'"{sha256(bytes(made.body)).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie, Accept"}
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if tag in known:
        return Reply(status_code=304, headers=headers)
    made.headers.update(headers)
    return made


def once(
    request: Request, caller: Caller, said: object, done: Callable[[], T], status: int = 201
) -> Reply[T]:
    """Do what a request says, or reply as before to a retry with the same key, at whichever worker."""
    claim, before = claimed(request, caller, said)
    if before is None:
        return reply(done_once(request, claim, done), status)
    if before.reply is None:
        raise Refused(
            409,
            "request-conflict",
            "A request with this Idempotency-Key is in progress, or was interrupted.",
            "Wait and try again. If that does not help, look at what there is, and use another key.",
        )
    again: T = json.loads(before.reply)
    return reply(again, status)


def opened_once(
    request: Request, caller: Caller, said: object, done: Callable[[], T], again: Callable[[str], T | None]
) -> Reply[T]:
    """Open something that is paid for, or return it `again`, by its identifier, to a retry with the same key.

    Whoever opens the same finds what there is, so one that was interrupted may be tried again.
    """
    claim, before = claimed(request, caller, said)
    if before is not None and before.reply is not None:
        known = again(json.loads(before.reply))
        if known is not None:
            return reply(known, 201)
    mine = before is None
    return reply(done_once(request, claim, done, lambda data: data["id"], mine=mine), 201)  # type: ignore[index]


def claimed(request: Request, caller: Caller, said: object) -> tuple[KeyClaim, Claimed | None]:
    """Claim the key of a request; return also what came before under it, which must have said the same."""
    body = json.dumps(said, sort_keys=True, default=str).encode()
    # As it was sent: no store holds every character that an address can spell.
    place = f"{request.method} {quote(request.url.path)}"
    key = idempotency_key(request)
    claim = KeyClaim(caller.principal.id, place, key, sha256(body).hexdigest())
    before = service_of(request).ledger.replies.claim(claim)
    if before is not None and before.body != claim.body:
        raise Refused(
            422, "request-conflict", "This Idempotency-Key was used for another request.", "Use one for each."
        )
    return claim, before


def done_once(
    request: Request,
    claim: KeyClaim,
    done: Callable[[], T],
    kept: Callable[[T], object] = lambda data: data,
    *,
    mine: bool = True,
) -> T:
    """Do what was claimed and keep what is replied; what was refused may be tried again under its key.

    A claim that is not `mine` stays: the request that made it may still be at work.
    """
    replies = service_of(request).ledger.replies
    try:
        data = done()
    except Exception:
        if mine:
            replies.release(claim)
        raise
    replies.keep(claim, json.dumps(kept(data), ensure_ascii=False))
    return data
