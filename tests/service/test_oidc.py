"""Tokens of an identity provider: signed, for us, in time, for somebody whom the ledger knows."""

from __future__ import annotations

import socket
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from time import time
from types import SimpleNamespace
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey

from dovetail.errors import AccessRefused, InvalidParameter
from dovetail.ledger import Principal
from dovetail.privacy import Budget
from dovetail.service import oidc
from dovetail.service.oidc import Provider, Tokens, _fetched

PROVIDER = Provider("https://login.example.org", "dovetail")
KEY = ECKey.generate_key("P-256", {"kid": "first"})
OTHER = ECKey.generate_key("P-256", {"kid": "first"})


def claims(**more: Any) -> dict[str, Any]:
    said = {"iss": PROVIDER.issuer, "aud": "dovetail", "exp": int(time()) + 300}
    return said | {"email": "dora@example.org", "email_verified": True} | more


def token(said: dict[str, Any], key: Any = KEY, algorithm: str = "ES256") -> str:
    return jwt.encode({"alg": algorithm, "kid": "first"}, said, key, algorithms=[algorithm])


@pytest.fixture
def trusting(house: Any) -> Any:
    fetched: list[str] = []

    def fetch(address: str) -> Any:
        fetched.append(address)
        if address.endswith("openid-configuration"):
            return {"issuer": PROVIDER.issuer, "jwks_uri": "https://login.example.org/keys"}
        return KeySet([KEY]).as_dict(private=False)

    house.app.service.tokens = Tokens(PROVIDER, fetch)
    house.ledger.people.add("dora", address="dora@example.org")
    house.fetched = fetched
    return house


def asked(house: Any, shown: str) -> Any:
    return house.client.get("/v1/me", headers={"Authorization": f"Bearer {shown}"})


def test_a_good_token_is_somebody(trusting: Any) -> None:
    for _ in range(3):
        assert asked(trusting, token(claims())).json()["name"] == "dora"
    assert len(trusting.fetched) == 2
    assert trusting.ann.get("/v1/me").json()["name"] == "ann"


@pytest.mark.parametrize(
    "said",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"exp": int(time()) - 3600},
        {"exp": None},
        {"nbf": int(time()) + 3600},
        {"email": "nobody@example.org"},
        {"email": None},
        {"email": ["dora@example.org"]},
        {"email_verified": False},
        {"email_verified": "true"},
    ],
    ids=lambda said: "-".join(said),
)
def test_a_wrong_claim_is_nobody(trusting: Any, said: dict[str, Any]) -> None:
    whole = {name: value for name, value in claims(**said).items() if value is not None}
    refused = asked(trusting, token(whole))
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")


def test_a_signature_by_another_key_or_none_is_nobody(trusting: Any) -> None:
    assert asked(trusting, token(claims(), OTHER)).status_code == 401
    secret = OctKey.import_key(KEY.as_dict(private=False)["x"])
    assert asked(trusting, token(claims(), secret, "HS256")).status_code == 401
    head, body, seal = token(claims()).split(".")
    assert asked(trusting, f"{head}.{body}.").status_code == 401
    assert asked(trusting, f"eyJhbGciOiJub25lIn0.{body}.").status_code == 401
    assert asked(trusting, f"{head}.{body}.{seal[:-4]}AAAA").status_code == 401
    assert asked(trusting, "a.b.c").status_code == 401
    assert asked(trusting, "x" * 20_000).status_code == 401


def test_two_with_one_address_and_an_erased_name_are_nobody(trusting: Any) -> None:
    trusting.ledger.people.add("dora2", address="dora@example.org")
    assert asked(trusting, token(claims())).status_code == 401
    trusting.ledger.people.erase("dora2")
    assert asked(trusting, token(claims())).status_code == 200
    trusting.ledger.people.erase("dora")
    assert asked(trusting, token(claims())).status_code == 401


def test_without_a_provider_a_token_is_nobody(house: Any) -> None:
    assert asked(house, token(claims())).status_code == 401


def test_a_provider_that_a_reload_leaves_out_is_no_longer_trusted(trusting: Any) -> None:
    assert asked(trusting, token(claims())).status_code == 200
    trusting.app.service.reload(replace(trusting.settings, oidc=None))
    assert asked(trusting, token(claims())).status_code == 401
    trusting.app.service.reload(replace(trusting.settings, oidc=PROVIDER))
    assert trusting.app.service.tokens is not None


def test_a_provider_speaks_https() -> None:
    with pytest.raises(InvalidParameter):
        replace(PROVIDER, issuer="http://login.example.org")
    with pytest.raises(InvalidParameter):
        replace(PROVIDER, keys_url="http://login.example.org/keys")
    assert replace(PROVIDER, issuer="http://localhost:8080").issuer == "http://localhost:8080"


def test_a_provider_makes_tokens_for_a_named_service() -> None:
    with pytest.raises(InvalidParameter, match="audience"):
        replace(PROVIDER, audience="")


@pytest.mark.parametrize(
    "described",
    [
        {"issuer": PROVIDER.issuer, "jwks_uri": "http://login.example.org/keys"},
        {"issuer": PROVIDER.issuer, "jwks_uri": "file:///etc/keys"},
        {"issuer": "https://evil.example", "jwks_uri": "https://login.example.org/keys"},
        {"issuer": PROVIDER.issuer},
    ],
)
def test_keys_are_only_fetched_from_where_the_provider_itself_says_by_https(
    house: Any, described: dict[str, str]
) -> None:
    fetched: list[str] = []

    def fetch(address: str) -> Any:
        fetched.append(address)
        found = address.endswith("openid-configuration")
        return described if found else KeySet([KEY]).as_dict(private=False)

    house.app.service.tokens = Tokens(PROVIDER, fetch)
    house.ledger.people.add("dora", address="dora@example.org")
    assert asked(house, token(claims())).status_code == 401
    assert fetched == ["https://login.example.org/.well-known/openid-configuration"]


def test_a_provider_that_does_not_answer_is_not_asked_by_every_request(house: Any) -> None:
    fetched: list[str] = []

    def fetch(address: str) -> Any:
        fetched.append(address)
        raise ValueError("the provider does not answer")

    house.app.service.tokens = Tokens(PROVIDER, fetch)
    for _ in range(3):
        assert asked(house, token(claims())).status_code == 401
    assert len(fetched) == 1


def test_a_provider_that_cannot_be_reached_gives_no_keys() -> None:
    """Of a socket that is bound and does not listen, every connection is refused."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(ValueError, match="does not answer"):
            _fetched(f"http://127.0.0.1:{silent.getsockname()[1]}/keys")


def test_whoever_shows_a_token_sees_what_was_granted_and_nothing_else(trusting: Any) -> None:
    """Grants come with a key, but not with a token: they are looked up, and nothing found is nothing seen."""
    headers = {"Authorization": f"Bearer {token(claims())}"}

    def seen() -> tuple[list[str], int]:
        listed = trusting.client.get("/v1/datasets", headers=headers).json()["datasets"]
        one = trusting.client.get("/v1/datasets/adult", headers=headers)
        return [each["name"] for each in listed], one.status_code

    assert seen() == ([], 404)
    trusting.ledger.people.grant("dora", "adult", Budget.pure(1))
    assert seen() == (["adult"], 200)


class Clock:
    """A provider, a ledger of one person and the time, all in the hands of a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, provider: Provider = PROVIDER) -> None:
        self.now, self.fetched, self.key, self.answers = 0.0, list[float](), KEY, True
        monkeypatch.setattr(oidc, "monotonic", lambda: self.now)
        person = Principal(3, "p", "analyst", "dora", "dora@example.org")
        others = [Principal(4, "q", "analyst", "eve", None), Principal(5, "r", "analyst", "fay", "fay@x.org")]
        self.ledger: Any = SimpleNamespace(people=SimpleNamespace(all=lambda: [person, *others]))
        self.tokens = Tokens(replace(provider, keys_url="https://login.example.org/keys"), self.fetch)

    def fetch(self, _address: str) -> Any:
        self.fetched.append(self.now)
        if not self.answers:
            raise ValueError("the provider does not answer")
        return KeySet([self.key]).as_dict(private=False)

    def known(self, shown: str) -> bool:
        try:
            return self.tokens.person(shown, self.ledger).name == "dora"
        except AccessRefused:
            return False


def test_new_keys_of_a_provider_are_fetched_once_a_minute_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    assert clock.known(token(claims()))
    clock.key = OTHER
    clock.now = 59
    assert not clock.known(token(claims(), OTHER))
    clock.now = 61
    assert clock.known(token(claims(), OTHER))
    assert not clock.known(token(claims(), KEY))
    assert clock.fetched == [0, 61]


def test_keys_of_a_provider_are_kept_for_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    for clock.now in (0, 599, 601, 1200, 1202):
        assert clock.known(token(claims()))
    assert clock.fetched == [0, 601, 1202]


def test_a_provider_that_did_not_answer_is_asked_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    clock.answers = False
    for clock.now in (0, 1, oidc._PATIENCE - 1, oidc._PATIENCE):
        assert not clock.known(token(claims()))
    clock.answers = True
    assert not clock.known(token(claims()))
    clock.now = 2 * oidc._PATIENCE
    assert clock.known(token(claims()))
    assert clock.fetched == [0, oidc._PATIENCE, 2 * oidc._PATIENCE]


def test_what_cannot_be_a_token_is_not_shown_to_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    for wrong in ("", "a.b", "a.b.c.d", token(claims(more="x" * oidc._LONGEST))):
        assert not clock.known(wrong)
    assert clock.fetched == []


def test_a_token_ends_with_its_time_and_a_little_leeway(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, ends = Clock(monkeypatch), int(time())
    for late, known in ((oidc._LEEWAY - 1, True), (oidc._LEEWAY + 1, False)):
        monkeypatch.setattr(oidc, "time", lambda late=late: ends + late)
        assert clock.known(token(claims(exp=ends))) is known


def test_another_claim_than_an_address_needs_no_verified_address(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, replace(PROVIDER, claim="sub"))
    assert clock.known(token(claims(sub="dora@example.org", email_verified=False)))
    assert not clock.known(token(claims(sub="nobody@example.org")))
    assert not clock.known(token(claims()))
    assert not clock.known(token(claims(sub=None)))


@pytest.mark.parametrize(
    ("status", "body", "fits"),
    [(200, b'{"keys": []}', True), (404, b'{"keys": []}', False), (302, b"{}", False), (200, None, False)],
)
def test_a_provider_publishes_its_keys_in_a_document_of_some_size(
    status: int, body: bytes | None, fits: bool
) -> None:
    content = b'"' + b"x" * oidc._LARGEST + b'"' if body is None else body

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_told: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/keys"
        if fits:
            assert _fetched(address) == {"keys": []}
        else:
            with pytest.raises(ValueError, match="does not publish"):
                _fetched(address)
