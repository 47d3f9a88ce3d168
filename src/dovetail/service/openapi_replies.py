"""The replies of the OpenAPI: schemas from the types that the endpoints are annotated with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args, get_origin, get_type_hints

from dovetail.answers import json_schema

from .reply_types import PUBLISHED, Problem, Reply, Running
from .routing import OpenRoute

_PLACE = "#/components/schemas/"
# These would be taken for something else among the forms of the service.
_RENAMED = {"question": "CanonicalQuestion", "key": "CellKey", "row": "AnswerRow", "offer": "StoredOffer"}
_PROBLEMS = {
    400: "The request cannot be understood, or asks for something that there is not.",
    401: "The key or cookie is missing, wrong, revoked or over.",
    403: "This is not for your role, or another site sent it.",
    404: "There is nothing here that you may see.",
    408: "The body took too long.",
    409: "The budget does not cover it, or things have changed; nothing is spent.",
    413: "Too large: the body, the SQL, the number of questions or cells.",
    415: "The body is not JSON.",
    422: "The Idempotency-Key was used for another request.",
    429: "Too many requests; try again after Retry-After seconds.",
    500: "A fault of the service.",
    503: "The ledger or the data cannot be reached; try again after Retry-After seconds.",
}
_ALWAYS, _WITH_BODY = (400, 401, 403, 404, 409, 429, 500, 503), (408, 413, 415)
_HEALTH = (400, 401, 429, 500, 503)


def schemas_of(routes: Iterable[OpenRoute]) -> tuple[dict[Any, dict[str, Any]], dict[str, Any]]:
    """Return the successful replies of each route by path and method, and the schemas they refer to."""
    # Only needed here, and it takes a while.
    from pydantic import TypeAdapter

    kinds = [(route, status, kind) for route in routes for status, kind in _kinds(route)]
    wanted: list[Any] = [((i,), "serialization", TypeAdapter(kind)) for i, (_, _, kind) in enumerate(kinds)]
    wanted.append((("problem",), "serialization", TypeAdapter(Problem)))
    by_key, rest = TypeAdapter.json_schemas(wanted, ref_template=_PLACE + "{model}")
    parts = resolved(json_schema()["$defs"], {})
    own = {_named(name): part for name, part in parts.items()}
    own |= resolved(rest["$defs"], own)
    replies: dict[Any, dict[str, Any]] = {}
    for i, (route, status, _) in enumerate(kinds):
        schema = resolved(by_key[((i,), "serialization")], own)
        for method in route.methods or ():
            at = replies.setdefault((route.path, method.lower()), {}).setdefault(str(status), [])
            at.append(schema)
    return replies, own


def problems(path: str, has_body: bool, changing: bool) -> dict[str, Any]:
    """Return the problems that an operation may reply with."""
    codes = {*(_ALWAYS if path.startswith("/v1") else _HEALTH), *(_WITH_BODY if has_body else ())}
    codes |= {422} if changing else set()
    return {str(code): {"$ref": f"#/components/responses/problem{code}"} for code in sorted(codes)}


def problem_parts() -> dict[str, Any]:
    """Return every kind of problem, by the name under which operations refer to it."""
    content = {"application/problem+json": {"schema": {"$ref": _PLACE + "Problem"}}}
    return {f"problem{code}": {"description": text, "content": content} for code, text in _PROBLEMS.items()}


def _kinds(route: OpenRoute) -> list[tuple[int, Any]]:
    """Return the status and the type of each reply that an endpoint is annotated with."""
    said = get_type_hints(route.endpoint, include_extras=True)["return"]
    listed = [said] if get_origin(said) is Reply else get_args(said)
    kinds = [get_args(each)[0] for each in listed if get_origin(each) is Reply]
    return [(202 if kind is Running else route.status_code or 200, kind) for kind in kinds]


def _named(name: str) -> str:
    return _RENAMED.get(name, name[0].upper() + name[1:])


def resolved(value: Any, forms: dict[str, Any]) -> Any:
    """Return a schema whose references lead into the description.

    What the library publishes and the members beside it get one name; it is added to the `forms`.
    """
    if isinstance(value, list):
        return [resolved(each, forms) for each in value]
    if not isinstance(value, dict):
        return value
    both = [str(each.get("$ref")) for each in value.get("allOf", ())]
    if len(both) == 2 and both[0].startswith(PUBLISHED) and both[1].endswith("Members"):
        name = both[1].removeprefix(_PLACE).removesuffix("Members") + "Form"
        forms[name] = {"allOf": [{"$ref": _led(each)} for each in both]}
        return {"$ref": _PLACE + name}
    led = {name: resolved(each, forms) for name, each in value.items()}
    return led | {"$ref": _led(value["$ref"])} if isinstance(value.get("$ref"), str) else led


def _led(reference: str) -> str:
    """Return where something stands in the description."""
    if reference.startswith(_PLACE):
        return reference
    return _PLACE + _named(reference.removeprefix(PUBLISHED).removeprefix("#/$defs/"))
