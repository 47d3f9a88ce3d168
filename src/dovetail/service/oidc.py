"""Tokens of an identity provider (OpenID Connect) in the place of keys: for scripts of an organisation.

A token is a JWT that the provider signed for this service. Its claim, usually the address of a mail account,
must be the address of exactly one person whom the ledger knows; what that person may do is decided there. No
token makes a person, and a person whose name was erased has no address any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic, time
from typing import Any
from urllib.parse import urlsplit

from dovetail.errors import AccessRefused, InvalidParameter
from dovetail.ledger import Ledger, Principal

# Signatures by public keys only: with a shared secret, whoever checks a token could make one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LASTS, _AGAIN, _PATIENCE, _LEEWAY = 600.0, 60.0, 5.0, 30
_LONGEST = 16_384
_LARGEST = 1 << 20
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Provider:
    """Who signs tokens, for whom they must be made, and which claim names the person."""

    issuer: str
    audience: str
    keys_url: str | None = None
    claim: str = "email"

    def __post_init__(self) -> None:
        for name, value in (("issuer", self.issuer), ("keys_url", self.keys_url)):
            if value is not None:
                _check_address(name, value)
        if not self.audience:
            raise InvalidParameter("audience", self.audience, "what the provider calls this service")


class Tokens:
    """Check tokens of a provider; its keys are fetched when they are needed and kept for ten minutes."""

    def __init__(self, provider: Provider, fetch: Callable[[str], Any] | None = None) -> None:
        self._provider, self._fetch = provider, fetch or _fetched
        self._lock = Lock()
        self._keys: Any = None
        self._at = -_LASTS

    def person(self, token: str, ledger: Ledger) -> Principal:
        """Return whose token it is, or raise AccessRefused, which tells nothing of the reason."""
        claims = self._claims(token)
        if self._provider.claim == "email" and claims.get("email_verified") is not True:
            raise _refused()
        address = claims.get(self._provider.claim)
        owners = [
            each for each in ledger.people.all() if each.address is not None and each.address == address
        ]
        if len(owners) != 1 or owners[0].name is None:
            raise _refused()
        return owners[0]

    def _claims(self, token: str) -> dict[str, Any]:
        from joserfc import jwt
        from joserfc.errors import JoseError

        if len(token) > _LONGEST or token.count(".") != 2:
            raise _refused()
        registry = jwt.JWTClaimsRegistry(
            now=int(time()),
            leeway=_LEEWAY,
            iss={"essential": True, "value": self._provider.issuer},
            aud={"essential": True, "value": self._provider.audience},
            exp={"essential": True},
        )
        for renew in (False, True):
            try:
                read = jwt.decode(token, self._known(renew), algorithms=list(ALGORITHMS))
                registry.validate(read.claims)
                return dict(read.claims)
            except (JoseError, ValueError, TypeError, KeyError, AttributeError):
                # The provider may have new keys: they are fetched once a minute at most.
                if renew or not self._may_renew():
                    break
        raise _refused()

    def _may_renew(self) -> bool:
        return monotonic() - self._at > _AGAIN

    def _known(self, renew: bool) -> Any:
        from joserfc.jwk import KeySet

        with self._lock:
            age = monotonic() - self._at
            if self._keys is None and age < _PATIENCE:
                # A provider that does not answer is not waited for by one request after another.
                raise ValueError("the provider did not publish its keys a moment ago")
            if self._keys is None or renew or age > _LASTS:
                try:
                    self._keys = KeySet.import_key_set(self._fetch(self._keys_url()))
                finally:
                    # Those who wait for the lock meanwhile count from the end of a fetch that failed.
                    self._at = monotonic()
            return self._keys

    def _keys_url(self) -> str:
        if self._provider.keys_url is not None:
            return self._provider.keys_url
        said = self._fetch(f"{self._provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        address = said.get("jwks_uri")
        if said.get("issuer") != self._provider.issuer or not isinstance(address, str):
            raise ValueError("the provider describes another issuer")
        _check_address("jwks_uri", address)
        return address


def check_library() -> None:
    """Raise ImportError where the library that reads tokens is not installed."""
    from joserfc import jwt  # noqa: F401


def _refused() -> AccessRefused:
    return AccessRefused("This token is not valid here.", "Get another from your identity provider.")


def _check_address(name: str, value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise InvalidParameter(name, value, "an https address")


def _fetched(address: str) -> Any:
    """Return a JSON document of the provider; redirects are not followed."""
    import httpx2

    try:
        with httpx2.Client(timeout=_PATIENCE, follow_redirects=False) as client:
            reply = client.get(address)
    except httpx2.HTTPError as error:
        raise ValueError("the provider does not answer") from error
    if reply.status_code != 200 or len(reply.content) > _LARGEST:
        raise ValueError("the provider does not publish its keys")
    return json.loads(reply.content)
