"""The route that every endpoint has: who asks comes first, then how often, then the body, strictly read."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from .authentication import caller_of
from .problems import Refused, unauthenticated
from .service import Service
from .strict_json import read_json

_BODIES = ("POST", "PUT", "PATCH")


class StrictRequest(Request):
    """A request whose body is read by the rules of `strict_json`."""

    async def json(self) -> Any:
        """Return what the body says."""
        if not hasattr(self, "_json"):
            service: Service = self.app.state.service
            self._json = read_json(await self.body(), service.settings.limits.depth)
        return self._json


class OpenRoute(APIRoute):
    """A route that also those may use who have not signed in."""

    needs_key = False

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        # What a reply holds is described when somebody asks for the description, not checked at each request.
        super().__init__(path, endpoint, **more | {"response_model": None})

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with what comes before it."""
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            request.scope["dovetail.route"] = self.path
            service: Service = request.app.state.service
            try:
                caller = await run_in_threadpool(
                    caller_of, request, service.ledger, service.settings, service.tokens
                )
            except Refused:
                service.check_rate(request, None)  # whoever tries keys out is counted, too
                raise
            if caller is None and self.needs_key:
                raise unauthenticated()
            request.state.caller = caller
            request.scope["dovetail.caller"] = None if caller is None else caller.principal.public
            service.check_rate(request, caller)
            if request.method in _BODIES:
                kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind != "application/json":
                    raise Refused(
                        415,
                        "unsupported-media-type",
                        "The body must be JSON.",
                        "Send Content-Type: application/json.",
                    )
            return await inner(StrictRequest(request.scope, request.receive))

        return handler


class KeyRoute(OpenRoute):
    """A route for whoever has a key."""

    needs_key = True
