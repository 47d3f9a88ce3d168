"""Replies: JSON with an ETag where it can be asked for again, and retries of a curator's requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

from fastapi import Request

from .authentication import Caller
from .bodies import idempotency_key
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
    """Do what a request says, or reply as before to a retry with the same key."""
    service, key = service_of(request), idempotency_key(request)
    body = json.dumps(said, sort_keys=True, default=str).encode()
    before = service.replies.find(request, caller, key, body)
    if before is not None:
        return reply(before, status)
    data = done()
    service.replies.keep(request, caller, key, body, data)
    return reply(data, status)
