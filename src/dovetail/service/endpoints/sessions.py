"""Sign in with a key for a cookie, sign out, and who am I."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dovetail import __version__
from dovetail.errors import AccessRefused
from dovetail.ledger import Ledger
from dovetail.ledger.keys import key_of
from dovetail.service.authentication import Caller, cookie_name, signed_in
from dovetail.service.bodies import Body
from dovetail.service.cookies import CODE_LIVES, LIFETIME, opened, sealed
from dovetail.service.problems import Refused, unauthenticated
from dovetail.service.replies import reply, service_of
from dovetail.service.reply_types import Me, Reply, Role
from dovetail.service.routing import KeyRoute, OpenRoute

opening = APIRouter(route_class=OpenRoute, tags=["Signing in"])
router = APIRouter(route_class=KeyRoute, tags=["Signing in"])


class SignIn(Body):
    """A key, or the code of the first start, which works once."""

    key: str | None = None
    code: str | None = None


@opening.post("/v1/sessions", status_code=201, summary="Exchange a key for a cookie")
def sign_in(body: SignIn, request: Request) -> Reply[Me]:
    """The cookie is for browsers: HttpOnly, SameSite=Strict, valid for 12 hours and as long as its key."""
    service = service_of(request)
    if (body.key is None) == (body.code is None):
        raise Refused(400, "invalid-body", 'Give either "key" or "code".')
    try:
        caller, public = (
            _by_key(service.ledger, body.key) if body.key else _by_code(service.ledger, body.code)
        )
    except AccessRefused:
        raise unauthenticated() from None
    value = sealed(public, service.settings.cookie_secret)
    ticket = opened(value, service.settings.cookie_secret)
    made = reply(_me(Caller(caller.principal, None if ticket is None else ticket.expires)), 201)
    _set_cookie(made, request, value, int(LIFETIME.total_seconds()))
    return made


@opening.delete("/v1/sessions", status_code=204, summary="Sign out")
def sign_out(request: Request) -> Response:
    """The cookie is removed from the browser."""
    made = Response(status_code=204)
    _set_cookie(made, request, "", 0)
    return made


@router.get("/v1/me", summary="Who you are")
def me(request: Request) -> Reply[Me]:
    """Your name and role."""
    return reply(_me(signed_in(request)))


def _by_key(ledger: Ledger, key: str) -> tuple[Caller, str]:
    return Caller(ledger.people.whose(key)), key_of(key)


def _by_code(ledger: Ledger, code: str | None) -> tuple[Caller, str]:
    """Use a code up; the session then hangs on the newest key of whom it belongs to."""
    owner = ledger.people.use_up(str(code), CODE_LIVES)
    valid = [key for key in ledger.people.keys(owner.name) if not key.revoked]
    if not valid:
        raise AccessRefused("A console session needs a key.")
    return Caller(owner), valid[-1].public


def _me(caller: Caller) -> Me:
    return {
        "id": caller.principal.public,
        "name": caller.principal.name,
        "role": cast(Role, caller.role),
        "expires": None if caller.expires is None else caller.expires.isoformat(),
        "version": __version__,
    }


def _set_cookie(made: Response, request: Request, value: str, seconds: int) -> None:
    settings = service_of(request).settings
    made.set_cookie(
        cookie_name(settings),
        value,
        max_age=seconds,
        secure=settings.secure,
        httponly=True,
        samesite="strict",
    )
