"""Describe the interface as OpenAPI 3.1: what FastAPI knows, and what it cannot know of errors and keys."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from dovetail.query.query_json import json_schema

from .openapi_examples import REQUESTS
from .routing import KeyRoute

_METHODS = ("get", "post", "put", "patch", "delete")
_PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "Every error, in the form of RFC 9457.",
    "required": ["type", "title", "status", "detail", "code", "fix", "remedies", "id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, in one sentence."},
        "code": {"type": "string", "description": "The kind of error, such as budget-exceeded."},
        "fix": {"type": "array", "items": {"type": "string"}, "description": "What to do about it."},
        "remedies": {"type": "array", "items": {"type": "object"}, "description": "The same for programs."},
        "parameter": {"type": ["string", "null"]},
        "given": {"type": ["string", "null"]},
        "allowed": {"type": ["string", "null"]},
        "place": {"type": ["object", "null"], "description": "Line and column of a text."},
        "requested": {"type": ["string", "null"]},
        "remaining": {"type": ["string", "null"]},
        "id": {
            "type": ["string", "null"],
            "description": "The request, as the operator finds it in the log.",
        },
    },
}
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
# These take an Idempotency-Key.
CHANGING = frozenset(
    f"/v1/{path}"
    for path in (
        *("datasets", "budgets", "analysts", "keys", "grants", "runs/{public}/answers"),
        *("datasets/{name}/answers", "datasets/{name}/plans", "datasets/{name}/runs"),
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
        schemas["Problem"] = _PROBLEM
        schemas["Question"] = {name: value for name, value in json_schema().items() if name != "$schema"}
        keyed = {(route.path, method.lower()) for route in _key_routes(app) for method in route.methods or ()}
        for path, item in said["paths"].items():
            for method in _METHODS:
                if method in item:
                    _complete(item[method], path, method, (path, method) in keyed)
        app.openapi_schema = said
    return app.openapi_schema


def _key_routes(app: FastAPI) -> list[KeyRoute]:
    found: list[Any] = list(app.routes)
    for router in found:
        found.extend(getattr(getattr(router, "original_router", None), "routes", []))
    return [route for route in found if isinstance(route, KeyRoute)]


def _complete(operation: dict[str, Any], path: str, method: str, keyed: bool) -> None:
    """Add errors, keys, retries and examples to one operation."""
    operation["operationId"] = (
        f"{method}_{path.strip('/').replace('/', '_').replace('{', '').replace('}', '')}"
    )
    replies = operation["responses"]
    replies.pop("422", None)
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    replies["default"] = {"description": "Anything else is a problem.", "content": problem}
    if keyed:
        operation["security"] = [{"key": []}, {"cookie": []}]
    if method == "post" and path in CHANGING:
        operation.setdefault("parameters", []).append(_ONCE)
    if path == "/v1/datasets/{name}/answers":
        replies["202"] = {"description": "It takes long: look at the Location after Retry-After seconds."}
    examples = REQUESTS.get((method, path), {})
    if examples:
        content = operation["requestBody"]["content"]["application/json"]
        content["examples"] = {name: {"value": value} for name, value in examples.items()}
