"""Who asks: a bearer key of a script, or the cookie that the console got for one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import Request

from dovetail.errors import AccessRefused
from dovetail.ledger import Ledger, Principal

from .cookies import opened
from .oidc import Tokens
from .problems import Refused, unauthenticated
from .settings import Settings

_ROLES = {"curator": "curators", "analyst": "analysts", "auditor": "auditors"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who has proved who they are; `expires` is when their cookie ends.

    `granted` are the datasets that they held a grant for when this request came, where that is known.
    """

    principal: Principal
    expires: datetime | None = None
    granted: set[int] | None = None

    @property
    def name(self) -> str:
        """The name that the ledger charges."""
        assert self.principal.name is not None
        return self.principal.name

    @property
    def role(self) -> str:
        """Curator, analyst or auditor."""
        return self.principal.role


def cookie_name(settings: Settings) -> str:
    """Return the name of the cookie; browsers bind the prefixed one to this host and to HTTPS."""
    return "__Host-dovetail_session" if settings.secure else "dovetail_session"


def caller_of(request: Request, ledger: Ledger, settings: Settings, tokens: Tokens | None) -> Caller | None:
    """Return who asks, None where nobody says so; whoever says so wrongly is refused."""
    given = request.headers.get("authorization")
    if given is not None:
        scheme, _, key = given.partition(" ")
        if scheme.lower() != "bearer":
            raise unauthenticated()
        try:
            return _named(_bearer(key.strip(), ledger, tokens))
        except AccessRefused:
            raise unauthenticated() from None
    cookie = request.cookies.get(cookie_name(settings))
    if cookie is None:
        return None
    ticket = opened(cookie, settings.cookie_secret)
    if ticket is None:
        raise unauthenticated()
    try:
        holder, _ = ledger.people.holder(ticket.key)
    except AccessRefused:
        raise unauthenticated() from None
    return _named(Caller(holder, ticket.expires))


def _bearer(text: str, ledger: Ledger, tokens: Tokens | None) -> Caller:
    """Return who shows a key or, where the service trusts an identity provider, one of its tokens."""
    if tokens is None or text.startswith("dvt_"):
        person, granted = ledger.people.bearer(text)
        return Caller(person, granted=granted)
    return Caller(tokens.person(text, ledger))


def _named(caller: Caller) -> Caller:
    if caller.principal.name is None:
        raise unauthenticated()
    return caller


def signed_in(request: Request) -> Caller:
    """Return who asks; the route has looked already."""
    caller: Caller | None = request.state.caller
    if caller is None:
        raise unauthenticated()
    return caller


def in_role(request: Request, *roles: str) -> Caller:
    """Return who asks, if they have one of these roles."""
    caller = signed_in(request)
    if caller.role not in roles:
        who = " and ".join(_ROLES[role] for role in roles)
        raise Refused(403, "access-refused", f"This is for {who}.", "Nothing was changed.")
    return caller
