"""Who asks: a key, a token or a cookie; what proves nothing is refused with one word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from dovetail.errors import AccessRefused
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.service.authentication import Caller, caller_of, cookie_name, in_role, signed_in
from dovetail.service.cookies import sealed
from dovetail.service.problems import Refused
from dovetail.service.settings import Settings

SETTINGS = Settings("x.ledger", cookie_secret=b"s" * 32)
PROXIED = Settings("x.ledger", cookie_secret=b"s" * 32, behind_proxy=True)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "some.ledger") as made:
        made.people.add("ann")
        yield made


def request(**headers: str) -> Any:
    return Request(
        {"type": "http", "headers": [(name.encode(), each.encode()) for name, each in headers.items()]}
    )


class Tokens:
    """An identity provider that knows one token."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def person(self, text: str, ledger: Ledger) -> Any:
        self.asked.append(text)
        if text != "token":
            raise AccessRefused("no")
        return ledger.people.all()[0]


def refused(*given: Any) -> bool:
    with pytest.raises(Refused) as caught:
        caller_of(*given)
    return (caught.value.status, caught.value.code) == (401, "unauthenticated")


def test_a_key_says_who_asks_and_what_they_hold(ledger: Ledger) -> None:
    ledger.account("visits", budget=Budget.pure(1))
    ledger.people.grant("ann", "visits", Budget.pure(1))
    key = ledger.people.make_key("ann").text
    for tokens in (None, Tokens()):
        for scheme in ("Bearer ", "bearer  "):
            caller = caller_of(request(authorization=scheme + str(key)), ledger, SETTINGS, tokens)  # type: ignore[arg-type]
            assert caller is not None
            assert (caller.name, caller.role, caller.expires) == ("ann", "analyst", None)
            assert caller.granted == {ledger.catalogue.number("visits")}


@pytest.mark.parametrize("given", ["Basic abc", "Bearer", "Bearer ", "Bearer token", "Bearer dvt_wrong", ""])
def test_what_is_no_key_is_nobody(ledger: Ledger, given: str) -> None:
    assert refused(request(authorization=given), ledger, SETTINGS, None)


def test_a_key_comes_as_a_bearer_of_it(ledger: Ledger) -> None:
    key = str(ledger.people.make_key("ann").text)
    for given in (f"Basic {key}", key, f"Bearer{key}"):
        assert refused(request(authorization=given), ledger, SETTINGS, None)


def test_a_token_is_for_the_provider_and_a_key_is_not(ledger: Ledger) -> None:
    tokens: Any = Tokens()
    caller = caller_of(request(authorization="Bearer token"), ledger, SETTINGS, tokens)
    assert caller is not None
    assert (caller.name, caller.granted) == ("ann", None)
    assert refused(request(authorization="Bearer other"), ledger, SETTINGS, tokens)
    assert refused(request(authorization="Bearer dvt_wrong"), ledger, SETTINGS, tokens)
    assert tokens.asked == ["token", "other"]


def test_a_cookie_holds_while_its_key_does(ledger: Ledger) -> None:
    key = ledger.people.make_key("ann")
    value = sealed(key.public, SETTINGS.cookie_secret)
    for settings in (SETTINGS, PROXIED):
        caller = caller_of(request(cookie=f"{cookie_name(settings)}={value}"), ledger, settings, None)
        assert caller is not None
        assert caller.name == "ann"
        assert caller.expires is not None
    assert cookie_name(PROXIED).startswith("__Host-") > cookie_name(SETTINGS).startswith("__Host-")
    # The other name is not this service's cookie.
    assert caller_of(request(cookie=f"{cookie_name(PROXIED)}={value}"), ledger, SETTINGS, None) is None
    mine = request(cookie=f"{cookie_name(SETTINGS)}={value}")
    ledger.people.revoke_key(key.public)
    assert refused(mine, ledger, SETTINGS, None)
    assert refused(request(cookie=f"{cookie_name(SETTINGS)}=x{value}"), ledger, SETTINGS, None)


def test_who_says_nothing_is_nobody_yet(ledger: Ledger) -> None:
    assert caller_of(request(), ledger, SETTINGS, None) is None


def test_who_has_no_name_any_more_is_refused(ledger: Ledger) -> None:
    class Nameless(Tokens):
        def person(self, text: str, ledger: Ledger) -> Any:
            ledger.people.erase("ann")
            return ledger.people.all()[0]

    assert refused(request(authorization="Bearer token"), ledger, SETTINGS, Nameless())


def test_a_role_is_one_of_those_that_may(ledger: Ledger) -> None:
    (ann,) = ledger.people.all()
    asks: Any = SimpleNamespace(state=SimpleNamespace(caller=Caller(ann)))
    assert signed_in(asks).principal == ann
    assert in_role(asks, "curator", "analyst").principal == ann
    with pytest.raises(Refused) as caught:
        in_role(asks, "curator", "auditor")
    assert (caught.value.status, caught.value.detail) == (403, "This is for curators and auditors.")
    asks.state.caller = None
    for check in (signed_in, in_role):
        with pytest.raises(Refused) as caught:
            check(asks)
        assert caught.value.status == 401
