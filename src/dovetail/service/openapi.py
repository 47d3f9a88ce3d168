"""Describe the interface as OpenAPI 3.1: what FastAPI knows, and what it cannot know of errors and keys."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from dovetail.query.query_json import json_schema

from .openapi_examples import REQUESTS
from .openapi_replies import problem_parts, problems, resolved, schemas_of
from .routing import KeyRoute, OpenRoute

_METHODS = ("get", "post", "put", "patch", "delete")
_SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key that the curator gave you."},
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "dovetail_session",
        "description": "For the console.",
    },
}
_ONCE = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "A random text for each request; a retry sends the same one, and nothing is done twice.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
_EXACT = {"type": ["number", "string"], "description": "A number, or a text such as 0.1 or 1/3."}
_GIVEN: dict[str, Any] = {
    "GivenBudget": {
        "type": "object",
        "description": "A budget or a price: an epsilon, and a delta or a zeta where there is one.",
        "properties": {
            "currency": {"enum": ["pure", "approximate", "zeta", None]},
            "epsilon": _EXACT,
            **{name: {"anyOf": [_EXACT, {"type": "null"}]} for name in ("delta", "zeta")},
        },
        "required": ["epsilon"],
        "additionalProperties": False,
    },
    "Pay": {
        "type": "object",
        "description": "How an answer is paid: by an accuracy, a price, a noise or a plan; one of them.",
        "properties": {
            **dict.fromkeys(("within", "probability", "delta"), _EXACT),
            "spend": {"$ref": "#/components/schemas/GivenBudget"},
            "noise": {"$ref": "#/components/schemas/GivenNoise"},
            "plan": {"type": "string"},
            **{name: {"type": "integer", "minimum": 1} for name in ("queries", "sensitivity")},
            **{name: {"type": "boolean"} for name in ("clamp", "fresh")},
        },
        "additionalProperties": False,
    },
    "GivenNoise": {
        "type": "object",
        "description": "A noise: its kind and its parameters, which may be numbers.",
        "properties": {"kind": {"type": "string"}},
        "required": ["kind"],
    },
}
_SUCCESS = {
    "200": "It is so.",
    "201": "It was made.",
    "202": "It takes long: look at the Location after Retry-After seconds.",
}
# These take an Idempotency-Key.
CHANGING = frozenset(
    f"/v1/{path}"
    for path in (
        *("datasets", "budgets", "analysts", "keys", "grants", "runs/{public}/answers"),
        *(
            "datasets/{name}/answers",
            "datasets/{name}/plans",
            "datasets/{name}/runs",
            "datasets/{name}/vintages",
        ),
    )
)


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description of an application; kept once made."""
    if app.openapi_schema is None:
        said = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            openapi_version="3.1.0",
        )
        parts = said.setdefault("components", {})
        parts["securitySchemes"] = _SCHEMES
        schemas = parts.setdefault("schemas", {})
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        routes = _routes(app)
        replies, forms = schemas_of(routes)
        schemas = parts["schemas"] = resolved(schemas, {}) | forms | _GIVEN
        schemas["Question"] = {name: value for name, value in json_schema().items() if name != "$schema"}
        parts["responses"] = problem_parts()
        keyed = {route.path for route in routes if isinstance(route, KeyRoute)}
        for path, item in said["paths"].items():
            for method in _METHODS:
                if method in item:
                    _complete(item[method], path, method, path in keyed)
                    _reply(item[method], replies.get((path, method), {}))
        app.openapi_schema = said
    return app.openapi_schema


def _routes(app: FastAPI) -> list[OpenRoute]:
    routes: list[Any] = list(app.routes)
    for router in routes:
        routes.extend(getattr(getattr(router, "original_router", None), "routes", []))
    return [route for route in routes if isinstance(route, OpenRoute) and route.include_in_schema]


def _complete(operation: dict[str, Any], path: str, method: str, keyed: bool) -> None:
    """Add errors, keys, retries and examples to one operation."""
    operation["operationId"] = (
        f"{method}_{path.strip('/').replace('/', '_').replace('{', '').replace('}', '')}"
    )
    changing = method == "post" and path in CHANGING
    operation["responses"].pop("422", None)
    operation["responses"] |= problems(path, "requestBody" in operation, changing)
    if keyed:
        operation["security"] = [{"key": []}, {"cookie": []}]
    if changing:
        operation.setdefault("parameters", []).append(_ONCE)
    examples = REQUESTS.get((method, path), {})
    if examples:
        content = operation["requestBody"]["content"]["application/json"]
        content["examples"] = {name: {"value": value} for name, value in examples.items()}


def _reply(operation: dict[str, Any], replies: dict[str, list[Any]]) -> None:
    """Add what an operation replies when it succeeds."""
    for status, schemas in replies.items():
        at = operation["responses"].setdefault(status, {"description": _SUCCESS[status]})
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        at.setdefault("content", {})["application/json"] = {"schema": schema}
