"""Put the application together: routes, the forms of its errors, the gate around all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from dovetail import __version__
from dovetail.errors import DovetailError
from dovetail.ledger import Ledger

from .endpoints import (
    answers,
    console,
    curation,
    datasets,
    designer,
    health,
    people,
    plans,
    questions,
    record,
    runs,
    sessions,
    vintages,
)
from .middleware import Middleware
from .openapi import describe
from .problems import Refused, for_the_log, internal, is_for_the_operator, not_found, problem
from .service import Service
from .settings import Settings

_TITLE = "Dovetail"
_ABOUT = """Ask sensitive data under differential privacy: see the price first, pay from your allotment, get
noisy answers with error bars.

Exact numbers are strings. Errors are application/problem+json. Requests that change something need the header
Idempotency-Key."""
ROUTERS = (
    # First: routes are tried in this order, and most requests ask.
    questions.router,
    questions.answering,
    health.opening,
    sessions.opening,
    sessions.router,
    datasets.opening,
    datasets.router,
    vintages.router,
    answers.router,
    plans.router,
    runs.router,
    runs.answering,
    designer.router,
    people.router,
    curation.router,
    record.opening,
    record.router,
    # Last: it takes every address that is left.
    console.opening,
)


def create_app(settings: Settings, ledger: Ledger) -> Middleware:
    """Return the application of one process; closing the ledger is its own."""
    service = Service(settings, ledger)
    app = routes()
    app.state.service = service
    for kind in (Refused, DovetailError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _refused)
    return Middleware(app, service)


def routes() -> FastAPI:
    """Return all endpoints and their description, without a service behind them."""
    app = FastAPI(
        title=_TITLE,
        version=__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=_life,
        separate_input_output_schemas=False,
    )
    for router in ROUTERS:
        app.include_router(router)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    yield
    service: Service = app.state.service
    service.close()


async def _refused(request: Request, error: Exception) -> Response:
    """Return the one form of every error."""
    found, number = _as_problem(error), request.scope.get("dovetail.id")
    if isinstance(found, DovetailError) and is_for_the_operator(found):
        request.app.state.service.log.warning("ledger", request=number, **for_the_log(found))
    return problem(found, number)


def _as_problem(error: Exception) -> Refused | DovetailError:
    if isinstance(error, Refused | DovetailError):
        return error
    if isinstance(error, RequestValidationError):
        return Refused(400, "invalid-body", _validation(error), "See /openapi.json for the form of the body.")
    if isinstance(error, HTTPException):
        # FastAPI wraps what a body is refused for.
        if isinstance(error.__cause__, Refused):
            return error.__cause__
        if error.status_code == 400:
            return Refused(400, "invalid-body", "The body cannot be read.")
        if error.status_code == 405:
            return Refused(405, "method-not-allowed", "This address does not take that method.")
        return not_found()
    return internal()


def _validation(error: RequestValidationError) -> str:
    """Say which members are wrong; what was given is not repeated."""
    problems: list[Any] = list(error.errors())[:5]
    told = [f"{'.'.join(map(str, each['loc'][1:])) or 'The body'}: {each['msg']}" for each in problems]
    return "; ".join(told)[:1000] + "."
