"""Write the page of the HTTP interface from its own description: `python docs/http_interface.py`."""

import json
from pathlib import Path
from typing import Any

from dovetail.service.app import routes

PAGE = Path(__file__).parent / "reference" / "http.md"
_METHODS = ("get", "post", "put", "patch", "delete")
_HEAD = """# HTTP interface

Made from the service's own description, which it serves at `/openapi.json` (OpenAPI 3.1). A script can do
everything that the console does.

- **Who asks:** `Authorization: Bearer dvt_...`, the key that the curator gave you. A key in an address is
  refused.
- **Exact numbers** are texts in replies; in requests a number or a text. 0.1 means the decimal 0.1.
- **Retries:** a request that changes something takes the header `Idempotency-Key`, a random text. Sent
  again with the same key, it is neither done nor paid twice.
- **Errors** are `application/problem+json`: `code` for programs, `detail` and `fix` for people. 400 a wrong
  question, 401 no valid key, 403 not for your role, 404 unknown or not yours, 409 the budget does not cover
  it or the offer has changed (nothing is spent), 413 too large, 422 one Idempotency-Key for two requests, 429
  and 503 try again after `Retry-After`.
- **Long answers:** 202 with `Location`; look there after `Retry-After` seconds.
- **Pages:** `?limit=` and `?cursor=`, the `next` of the page before. Replies with an `ETag` answer
  `If-None-Match` with 304.
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
    rows = [f"| `{form['title']}` | {form['description']} | {_members(form)} |" for form in schema["oneOf"]]
    head = [
        "## Questions\n",
        "The JSON Schema is at `/v1/schemas/question`.\n",
        "| ask | meaning | members |",
    ]
    return "\n".join([*head, "|---|---|---|", *rows]) + "\n"


def _members(form: dict[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in form["properties"] if name != "ask")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
