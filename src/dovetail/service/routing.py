"""The route that every endpoint has: who asks comes first, then how often, then the body, strictly read.

Where an endpoint takes nothing but names from its address and a body, one thread does all of it: each way to
a thread and back takes as long as a small question.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool

from .authentication import caller_of
from .long_answers import answer_or_place
from .problems import Refused, unauthenticated
from .service import Service
from .strict_json import read_json

_BODIES = ("POST", "PUT", "PATCH")
# A larger body is read only after it is known who sends it.
_SMALL = 1 << 16


class StrictRequest(Request):
    """A request whose body is read by the rules of `strict_json`."""

    async def json(self) -> Any:
        """Return what the body says."""
        if not hasattr(self, "_json"):
            service: Service = self.app.state.service
            self._json = read_json(await self.body(), service.settings.limits.depth)
        return self._json


@dataclass(frozen=True, slots=True)
class PlainCall:
    """An endpoint whose parameters are texts of the address, the request and a body at most."""

    endpoint: Callable[..., Response]
    texts: tuple[str, ...]
    requests: tuple[str, ...]
    bodies: dict[str, type[BaseModel]]

    @classmethod
    def of(cls, path: str, endpoint: Callable[..., Any]) -> PlainCall | None:
        """Return how an endpoint is called, or None if the framework has to read more for it."""
        if inspect.iscoroutinefunction(endpoint):
            return None
        given = {
            name: each.annotation
            for name, each in inspect.signature(endpoint, eval_str=True).parameters.items()
        }
        texts = tuple(name for name, kind in given.items() if kind is str and f"{{{name}}}" in path)
        requests = tuple(name for name, kind in given.items() if kind is Request)
        bodies = {
            name: kind
            for name, kind in given.items()
            if isinstance(kind, type) and issubclass(kind, BaseModel)
        }
        plain = len(bodies) <= 1 and len(texts) + len(requests) + len(bodies) == len(given)
        return cls(endpoint, texts, requests, bodies) if plain else None

    def reply(self, request: Request, body: bytes, depth: int) -> Response:
        """Read what the request says and carry it out."""
        known: dict[str, Any] = {name: request.path_params[name] for name in self.texts}
        known |= dict.fromkeys(self.requests, request)
        for name, kind in self.bodies.items():
            try:
                known[name] = kind.model_validate(read_json(body, depth))
            except ValidationError as error:
                problems = error.errors(include_url=False, include_input=False)
                raise RequestValidationError(
                    [{**each, "loc": ("body", *each["loc"])} for each in problems]
                ) from None
        return self.endpoint(**known)


class OpenRoute(APIRoute):
    """A route that also those may use who have not signed in."""

    needs_key = False

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        # What a reply holds is described when somebody asks for the description, not checked at each request.
        super().__init__(path, endpoint, **more | {"response_model": None})

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with what comes before it."""
        by_framework, call = super().get_route_handler(), PlainCall.of(self.path, self.endpoint)

        async def handler(request: Request) -> Response:
            request.scope["dovetail.route"] = self.path
            service: Service = request.app.state.service
            if self.needs_key and not {"authorization", "cookie"} & set(request.headers):
                raise unauthenticated()
            first = call is None or not _small(request) or self.crowded(service)
            if first:
                await run_in_threadpool(self.admit, service, request)
            if call is None:
                return await by_framework(StrictRequest(request.scope, request.receive))
            body = await request.body() if call.bodies else b""

            def work() -> Response:
                if not first:
                    self.admit(service, request)
                return call.reply(request, body, service.settings.limits.depth)

            return await self.carried_out(service, request, work)

        return handler

    def admit(self, service: Service, request: Request) -> None:
        """Find out who asks, and refuse who may not, or not so often, or not in this form."""
        try:
            caller = caller_of(request, service.ledger, service.settings, service.tokens)
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

    def crowded(self, service: Service) -> bool:
        """Tell whether the work would wait long, so that a refusal should not wait with it."""
        return False

    async def carried_out(self, service: Service, request: Request, work: Callable[[], Response]) -> Response:
        """Return the reply of a thread."""
        return await run_in_threadpool(work)


class KeyRoute(OpenRoute):
    """A route for whoever has a key."""

    needs_key = True


class AnswerRoute(KeyRoute):
    """A route whose work may take long; `request.state.running` tells how its endpoint finds it again."""

    def crowded(self, service: Service) -> bool:
        """Tell whether all threads are at work."""
        return service.pool.full

    async def carried_out(self, service: Service, request: Request, work: Callable[[], Response]) -> Response:
        """Return the reply, or where it will be."""

        def running() -> str | None:
            ask: Callable[[], str | None] = getattr(request.state, "running", lambda: None)
            return ask()

        return await answer_or_place(service.pool, service.settings.limits.patience, work, running)


def _small(request: Request) -> bool:
    """Tell whether a body is announced to be small."""
    length = request.headers.get("content-length", "0")
    return "transfer-encoding" not in request.headers and int(length) <= _SMALL
