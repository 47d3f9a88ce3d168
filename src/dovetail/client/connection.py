"""Speak to a service over HTTP: what is lost on the way is sent again, and never paid twice."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from uuid import uuid4

from dovetail.errors import DataError, DovetailError, InvalidParameter, LedgerBusy
from dovetail.errors.reading import read_error
from dovetail.errors.remedies import Install

_SECONDS = 30.0
"""How long one reply may take; a service tells within ten seconds that an answer takes longer."""
_PATIENCE = 120.0
"""How long something that fails for now is tried again."""
_BUSY = (429, 502, 503, 504)
_LONGEST_WAIT = 30.0


class ServiceConnection:
    """One service and one key. The key is sent to that service only, and shown nowhere."""

    def __init__(self, url: str, key: str, *, transport: Any = None) -> None:
        try:
            import httpx2
        except ModuleNotFoundError:
            raise DataError("To ask a service, an HTTP client is needed.", Install("client")) from None
        self._http = httpx2
        self.url = _address(httpx2, url)
        if not isinstance(key, str) or not key.isascii() or not key.isprintable() or " " in key:
            raise InvalidParameter("key", "…", "the key that the curator gave you, such as dvt_…")
        self._client = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}", "Accept": "application/json"},
            timeout=_SECONDS,
            follow_redirects=False,  # the key stays with the service that it was meant for
            transport=transport,
        )

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """Return what stands at a path."""
        wanted = {name: value for name, value in query.items() if value is not None}
        return self._asked("GET", path, params=wanted)

    def post(self, path: str, body: Mapping[str, Any], *, once: str | None = None) -> dict[str, Any]:
        """Send something. With `once`, the service does it once however often it hears of it."""
        headers = {} if once is None else {"Idempotency-Key": once}
        return self._asked("POST", path, content=json.dumps(body), headers=headers | _JSON)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def _asked(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        """Ask until there is an answer: every request here may be sent again."""
        until, wait = time.monotonic() + _PATIENCE, 0.2
        first = method, path, sent
        while True:
            reply, lost = None, None
            try:
                reply = self._client.request(method, path, **sent)
            except self._http.InvalidURL:
                raise InvalidParameter("url", self.url, "the address of a service") from None
            except self._http.TransportError as error:
                lost = error
            if reply is not None and reply.status_code == 202:
                method, path, sent = "GET", _place(reply), {}
                until = time.monotonic() + _PATIENCE  # the service lives and works on it
            elif reply is not None and reply.status_code not in _BUSY:
                return _told(reply)
            elif reply is not None:
                # Whoever worked on it may have stopped: what was asked first takes it over.
                method, path, sent = first
            if time.monotonic() > until:
                raise _given_up(self.url, reply, lost)
            time.sleep(_wait(reply, wait))
            wait = min(2 * wait, 5.0)


_JSON = {"Content-Type": "application/json"}


def new_request() -> str:
    """Return a name for one request, under which it may be sent again."""
    return uuid4().hex


def _address(http: Any, url: object) -> str:
    """Return the address of a service; a key never travels in the clear."""
    allowed = "the address of a service, such as https://counts.example.org"
    try:
        read = http.URL(url if isinstance(url, str) else "")
    except (http.InvalidURL, UnicodeError):
        raise InvalidParameter("url", url, allowed) from None
    if read.scheme not in ("http", "https") or not read.host or read.userinfo or read.query:
        raise InvalidParameter("url", url, allowed, "Give the key separately.")
    if read.scheme == "http" and not _loopback(read.host):
        raise InvalidParameter(
            "url", url, "an https address", "Over plain HTTP, anyone along the way could read the key."
        )
    return str(read.copy_with(fragment=None)).rstrip("/")


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _wait(reply: Any, wait: float) -> float:
    """Return how long to wait before asking again: as the service says, within reason."""
    said = "" if reply is None else reply.headers.get("Retry-After", "")
    return min(float(said), _LONGEST_WAIT) if said.isdigit() else wait


def _place(reply: Any) -> str:
    """Return where an answer will be, at this service: a whole address may lead the key elsewhere."""
    place = re.search(r"/v1/answers/[0-9A-Za-z]+\Z", reply.headers.get("Location", ""))
    if place is None:
        raise _foreign(reply)
    return place[0]


def _told(reply: Any) -> dict[str, Any]:
    """Return the body of a reply, or raise the error that it tells."""
    if reply.status_code == 204:
        return {}
    try:
        body = reply.json()
    except ValueError:
        body = None
    if reply.is_success and isinstance(body, dict):
        return body
    if isinstance(body, dict) and "code" in body:
        raise read_error(body)
    raise _foreign(reply)


def _foreign(reply: Any) -> DataError:
    return DataError(
        f"The reply from this address (status {reply.status_code}) is not that of a Dovetail service.",
        "Check the address, and any proxy in front of the service.",
    )


def _given_up(url: str, reply: Any, lost: Exception | None) -> DovetailError:
    again = "What was asked under a request's name and was charged can be asked again, free."
    if reply is None:
        return DataError(f"The service at {url} cannot be reached ({type(lost).__name__}).", again)
    try:
        return read_error(reply.json())
    except (ValueError, TypeError, AttributeError):
        return LedgerBusy(f"The service at {url} stayed busy ({reply.status_code}).", again)
