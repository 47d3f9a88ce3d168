"""Tokens of an identity provider: signed, for us, in time, for somebody whom the ledger knows."""

from __future__ import annotations

import socket
from dataclasses import replace
from time import time
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey

from dovetail.errors import InvalidParameter
from dovetail.privacy import Budget
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
        {"aud": "another"},
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
