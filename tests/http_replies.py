"""Compare replies of a service with its OpenAPI: a documented status, and the members that are documented."""

from __future__ import annotations

import re
from functools import cache
from threading import Lock
from typing import Any

from jsonschema import Draft202012Validator

from dovetail.service.app import routes

_PLACE = "#/components/schemas/"
_making = Lock()
seen: set[tuple[str, str, str]] = set()
"""Path, method and status of every reply that was compared."""


def check_reply(method: str, path: str, status: int, media: str, body: Any) -> None:
    """Fail where a reply is not what the description says; addresses outside of it are passed over."""
    found = _template(path.partition("?")[0])
    if found is None or method.lower() not in _paths()[found]:
        return
    operation = _paths()[found][method.lower()]
    said = operation["responses"].get(str(status))
    assert said is not None, f"{method} {found}: {status} is not documented: {body}"
    seen.add((found, method.lower(), str(status)))
    if "$ref" in said:
        said = _description()["components"]["responses"][said["$ref"].rpartition("/")[2]]
    media = media.partition(";")[0]
    assert media in said.get("content", {"": None}), f"{method} {found}: {media!r} is not documented"
    if media.endswith("json"):
        errors = list(_validator(found, method.lower(), str(status), media).iter_errors(body))
        assert not errors, f"{method} {path} {status}: {_deepest(errors)}"


def _description() -> dict[str, Any]:
    # Only one thread makes it: making it sets warnings aside, which Python does for all threads at once.
    with _making:
        return _described()


@cache
def _described() -> dict[str, Any]:
    return routes().openapi()


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = _description()["paths"]
    return paths


@cache
def _template(path: str) -> str | None:
    fitting = [each for each in _paths() if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each), path)]
    return min(fitting, key=lambda each: each.count("{"), default=None)


@cache
def _validator(path: str, method: str, status: str, media: str) -> Draft202012Validator:
    said = _paths()[path][method]["responses"][status]
    if "$ref" in said:
        said = _description()["components"]["responses"][said["$ref"].rpartition("/")[2]]
    whole = said["content"][media]["schema"]
    return Draft202012Validator(_closed(whole), format_checker=Draft202012Validator.FORMAT_CHECKER)


@cache
def _closed_part(name: str) -> Any:
    """Return a named schema where it is used: to look names up takes a third of a comparison."""
    return _closed(_description()["components"]["schemas"][name])


def _closed(schema: Any) -> Any:
    """Return a schema that allows no member which it does not name."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _closed_part(_name(schema))
    if "allOf" in schema:
        parts = [_description()["components"]["schemas"][_name(each)] for each in schema["allOf"]]
        named: dict[str, Any] = {}
        for part in parts:
            for name, each in part["properties"].items():
                named[name] = each if name not in named else {"allOf": [named[name], each]}
        needed = sorted({name for part in parts for name in part["required"]})
        return _closed({"type": "object", "properties": named, "required": needed})
    made = {name: _closed(each) for name, each in schema.items() if name != "properties"}
    if isinstance(schema.get("properties"), dict):
        made["properties"] = {name: _closed_member(each) for name, each in schema["properties"].items()}
        made.setdefault("additionalProperties", False)
    return made


def _closed_member(schema: Any) -> Any:
    """Return the schema of a member; of one that two forms name, both count."""
    both = schema.get("allOf") if isinstance(schema, dict) else None
    return {"allOf": [_closed(each) for each in both]} if both else _closed(schema)


def _name(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).removeprefix(_PLACE)


def _deepest(errors: list[Any]) -> str:
    """Return what is wrong, where it is wrong."""
    found = errors[0]
    while found.context:
        found = max(found.context, key=lambda each: len(each.absolute_path))
    where = "/".join(map(str, found.absolute_path))
    return f"{where or 'the reply'}: {found.message[:500]}"
