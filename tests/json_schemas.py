"""Check JSON against the part of JSON Schema that the published formats use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
}
_KNOWN = {
    *("$ref", "$schema", "$defs", "title", "description", "type", "enum", "const", "anyOf", "pattern"),
    *("properties", "required", "additionalProperties", "items", "minItems", "minimum"),
}


def violations(value: Any, schema: dict[str, Any], whole: dict[str, Any] | None = None) -> Iterator[str]:
    """Yield what is wrong with a value; a word of the schema that is not known here is an error."""
    root = whole or schema
    assert set(schema) <= _KNOWN, schema
    if "$ref" in schema:
        target = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        yield from violations(value, target, root)
    if "anyOf" in schema and all(any(violations(value, each, root)) for each in schema["anyOf"]):
        yield f"{value!r} is none of {schema['anyOf']}"
    yield from _own(value, schema)
    if isinstance(value, dict):
        named = schema.get("properties", {})
        yield from (f"{name} is missing" for name in schema.get("required", ()) if name not in value)
        for name, each in value.items():
            more = named.get(name, schema.get("additionalProperties", {}))
            yield from (f"{name}: {found}" for found in violations(each, more, root))
    if isinstance(value, list):
        for each in value:
            yield from violations(each, schema.get("items", {}), root)


def _own(value: Any, schema: dict[str, Any]) -> Iterator[str]:
    types = schema.get("type", [])
    listed = [types] if isinstance(types, str) else types
    fits = any(
        isinstance(value, _TYPES[t])
        and not (t == "integer" and value in (True, False) and isinstance(value, bool))
        for t in listed
    )
    if listed and not fits:
        yield f"{value!r} is no {types}"
    if "const" in schema and value != schema["const"]:
        yield f"{value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{value!r} is none of {schema['enum']}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{value!r} does not match {schema['pattern']}"
    if isinstance(value, list) and len(value) < schema.get("minItems", 0):
        yield "too few items"
    if isinstance(value, int) and value < schema.get("minimum", value):
        yield f"{value} is too small"
