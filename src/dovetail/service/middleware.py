"""What every request passes before an endpoint sees it, and every reply on its way out.

Written for ASGI itself, because a body must be refused before it is read: the name of the host, where the
request comes from, the size of the body and the time it takes; then security headers, log and figures.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dovetail.errors import DovetailError
from dovetail.sampling import random_bytes

from .authentication import cookie_name
from .problems import Refused, internal, problem
from .service import Service

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types svelte-trusted-html"
)
_HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_SAFE = ("GET", "HEAD", "OPTIONS")


class Middleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self.service)
        try:
            self._check(exchange)
            await self._app(scope, exchange.receive, exchange.send)
        except (Refused, DovetailError) as error:
            await exchange.reply(error)
        except Exception as error:  # noqa: BLE001 - the last stop before the outside
            self.service.log.fault(error, request=exchange.id)
            await exchange.reply(internal())
        finally:
            exchange.note()

    def _check(self, exchange: _Exchange) -> None:
        """Look at the head of the request."""
        settings, headers = self.service.settings, exchange.headers
        if "transfer-encoding" in headers and (
            "content-length" in headers or exchange.scope["http_version"] == "1.0"
        ):
            # A proxy in front may see its end elsewhere, and another's request begin there (RFC 9112, 6.1).
            exchange.last = True
            raise Refused(400, "invalid-request", "The length of the body is ambiguous.", "Nothing was done.")
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() not in settings.allowed_hosts:
            raise Refused(
                400,
                "unknown-host",
                "This service does not have that name.",
                "The operator can add names to `hosts`.",
            )
        query = exchange.scope.get("query_string", b"")
        if b"dvt_" in query or b"key=" in query.lower():
            raise Refused(
                400, "invalid-parameter", "A key must not be in an address.", "Send it in a header."
            )
        # A browser adds the cookie by itself, but never a key in this header.
        # Proxies may send the cookies of one request in several headers: each of them counts.
        cookies = b";".join(value for name, value in exchange.scope["headers"] if name == b"cookie")
        by_cookie = "authorization" not in headers and cookie_name(settings).encode() in cookies
        if exchange.scope["method"] not in _SAFE and by_cookie:
            self._check_origin(headers, host)
        declared = headers.get("content-length", "0")
        if not (declared.isascii() and declared.isdigit()) or int(declared) > settings.limits.body:
            raise _too_large(settings.limits.body)

    def _check_origin(self, headers: dict[str, str], host: str) -> None:
        """Refuse what another site makes a signed-in browser send."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        own = origin is not None and origin.split("://", 1)[-1] == host
        if (
            site not in ("same-origin", None)
            or (site is None and not own)
            or (origin is not None and not own)
        ):
            raise Refused(403, "foreign-origin", "Another site sent this request.", "Nothing was done.")


class _Exchange:
    """One request on its way through."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, service: Service) -> None:
        self.scope, self._receive, self._send, self._service = scope, receive, send, service
        self.id = random_bytes(8).hex()
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self._begun, self._read, self._status = perf_counter(), 0, 0
        self._code: str | None = None
        self.last = False
        scope["dovetail.id"] = self.id

    async def receive(self) -> Message:
        """Hand the body on, piece by piece, while it is neither too large nor too slow."""
        limits = self._service.settings.limits
        if self.headers.get("content-length", "0") == "0" and "transfer-encoding" not in self.headers:
            return await self._receive()
        left = limits.body_seconds - (perf_counter() - self._begun) if self._read >= 0 else None
        try:
            async with asyncio.timeout(left):
                message = await self._receive()
        except TimeoutError:
            raise Refused(408, "too-slow", "The body took too long.", "Nothing was done.") from None
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            if self._read > limits.body:
                raise _too_large(limits.body)
            if not message.get("more_body", False):
                # The body is complete: whoever waits now waits for the client to leave.
                self._read = -1
        return message

    async def send(self, message: Message) -> None:
        """Add the headers that every reply has."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            given = message.setdefault("headers", [])
            names = {name.lower() for name, _ in given}
            self._code = next((value.decode() for name, value in given if name.lower() == b"x-problem"), None)
            given[:] = [pair for pair in given if pair[0].lower() != b"x-problem"]
            given.extend(pair for pair in _HEADERS if pair[0] not in names)
            given.append((b"x-request-id", self.id.encode()))
            if self.last:
                given.append((b"connection", b"close"))
            if b"cache-control" not in names:
                given.append((b"cache-control", b"no-store"))
        await self._send(message)

    async def reply(self, error: Refused | DovetailError) -> None:
        """Send a problem, unless a reply has begun already."""
        if not self._status:
            await problem(error, self.id)(self.scope, self._receive, self.send)

    def note(self) -> None:
        """Log and count the request; its path may hold names, so only the route is written."""
        route, seconds = self.scope.get("dovetail.route", "other"), perf_counter() - self._begun
        self._service.metrics.observe(route, self._status, seconds, self._code)
        fields: dict[str, Any] = {"request": self.id, "method": self.scope["method"], "route": route}
        fields |= {"status": self._status, "milliseconds": round(seconds * 1000, 1), "code": self._code}
        self._service.log.info("request", person=self.scope.get("dovetail.caller"), **fields)


def _too_large(limit: int) -> Refused:
    return Refused(413, "too-large", f"The body is larger than {limit} bytes.", "Ask for less at once.")
