"""Write the page of the HTTP interface from its own description: `python docs/http_interface.py`."""

import json
from pathlib import Path
from typing import Any

from dovetail.service.app import routes

PAGE = Path(__file__).parent / "reference" / "http.md"
_METHODS = ("get", "post", "put", "patch", "delete")
_HEAD = """# HTTP interface

For programmers who ask a [service](../how-to/run-a-service.md) without the Python client. A script can do
everything that the console does. This page is made from the service's own description, `/openapi.json`
(OpenAPI 3.1).

- **Authentication.** Send the key that the curator gave you: `Authorization: Bearer dvt_...`. A key in a URL
  is refused.
- **Exact numbers** are strings in replies. In requests they may be numbers or strings; 0.1 means the decimal
  0.1.
- **Retries.** A request that changes something needs the header `Idempotency-Key`, a random string. If it is
  repeated with the same key, it is not carried out or charged again.
- **Errors** are `application/problem+json`: `code` is for programs, `detail` and `fix` are for people.
- **Long answers.** The reply is 202 with a `Location`; fetch the answer there after `Retry-After` seconds.
- **Pages.** `?limit=` sets the length of a page, and `?cursor=` takes the `next` of the page before. A reply
  with an `ETag` can be checked with `If-None-Match`: 304 means unchanged.

| status | meaning |
|---|---|
| 400 | the question is wrong |
| 401 | no valid key |
| 403 | your role may not do this |
| 404 | unknown, or not yours |
| 408 | the body came too slowly; nothing was done |
| 409 | the budget does not cover it, the offer has changed, or the ledger refuses; nothing more is spent |
| 413 | too large |
| 422 | one Idempotency-Key for two different requests |
| 429, 503 | try again after `Retry-After` seconds |
"""


def page() -> str:
    """Return the page."""
    said = routes().openapi()
    by_tag: dict[str, list[str]] = {}
    for path, item in said["paths"].items():
        for method in _METHODS:
            if method in item:
                operation = item[method]
                by_tag.setdefault(operation["tags"][0], []).append(_described(method, path, operation))
    parts = [_HEAD]
    for tag, found in by_tag.items():
        parts += [f"## {tag}\n", *found]
    parts.append(_questions(said["components"]["schemas"]["Question"]))
    return "\n".join(parts).rstrip() + "\n"


def _described(method: str, path: str, operation: dict[str, Any]) -> str:
    lines = [
        f"### {method.upper()} {path}\n",
        f"{operation['summary']}. {operation.get('description', '')}".strip() + "\n",
    ]
    asked = [each for each in operation.get("parameters", []) if each["in"] == "query"]
    if asked:
        lines.append("Parameters: " + ", ".join(f"`{each['name']}`" for each in asked) + "\n")
    if any(each["name"] == "Idempotency-Key" for each in operation.get("parameters", [])):
        lines.append("Needs an Idempotency-Key.\n")
    examples = (
        operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("examples", {})
    )
    for example in examples.values():
        lines.append(f"```json\n{json.dumps(example['value'])}\n```\n")
    return "\n".join(lines)


def _questions(schema: dict[str, Any]) -> str:
    rows = [
        f"| `{form['title']}` | {form['description'].replace('|', chr(92) + '|')} | {_members(form)} |"
        for form in schema["oneOf"]
    ]
    head = [
        "## Forms of a question\n",
        "The JSON Schema is at `/v1/schemas/question`.\n",
        "| ask | meaning | members |",
    ]
    return "\n".join([*head, "|---|---|---|", *rows]) + "\n"


def _members(form: dict[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in form["properties"] if name != "ask")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
