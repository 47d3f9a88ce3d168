"""The interface describes itself: OpenAPI 3.1, every route, and examples that run."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

CURATORS = {f"/v1/{name}" for name in ("analysts", "keys", "grants", "budgets", "drafts", "datasets/{name}")}
DOCS = Path(__file__).parents[2] / "docs"
METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory, opened: Any) -> Any:
    """Return a service that no test of these changes for another."""
    made = opened(tmp_path_factory.mktemp("lasting"))
    with made.client:
        yield made


@pytest.fixture(scope="module")
def described(lasting: Any) -> Any:
    return lasting.nobody.get("/openapi.json").json()


def test_the_description_is_openapi_31(described: Any) -> None:
    assert described["openapi"].startswith("3.1")
    assert set(described["components"]["securitySchemes"]) == {"key", "cookie"}
    for path, item in described["paths"].items():
        for method in METHODS:
            if method in item:
                operation = item[method]
                assert operation["summary"], path
                assert operation["operationId"], path
                assert any(code.startswith("2") for code in operation["responses"]), path
                assert "application/problem+json" in operation["responses"]["default"]["content"], path


def test_every_route_of_the_interface_is_described(described: Any) -> None:
    assert len(described["paths"]) >= 35
    names = [
        item[method]["operationId"]
        for item in described["paths"].values()
        for method in METHODS
        if method in item
    ]
    assert len(set(names)) == len(names)


def test_references_lead_somewhere(described: Any) -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [each for inner in value.values() for each in references(inner)]
        return [each for inner in value for each in references(inner)] if isinstance(value, list) else []

    for reference in references(described):
        found = described
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


def test_the_examples_run(lasting: Any, described: Any) -> None:
    ran = 0
    for path, item in described["paths"].items():
        for method in METHODS:
            content = item.get(method, {}).get("requestBody", {}).get("content", {})
            for example in content.get("application/json", {}).get("examples", {}).values():
                body = lasting.filled(example["value"])
                person = lasting.carl if path in CURATORS else lasting.ann
                headers = {"Idempotency-Key": f"example-{ran}"}
                given = person.send(
                    method.upper(), path.replace("{name}", "adult"), json=body, headers=headers
                )
                assert given.status_code in (200, 201), (path, given.text)
                ran += 1
    assert ran >= 15


def test_the_page_of_the_interface_is_what_it_says() -> None:
    spec = importlib.util.spec_from_file_location("http_interface", DOCS / "http_interface.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "reference" / "http.md").read_text() == module.page(), "run: python docs/http_interface.py"


def test_whoever_writes_wrongly_hears_which_member(lasting: Any) -> None:
    refused = lasting.carl.post("/v1/analysts", {"name": 5, "colour": "red"}).json()
    assert refused["code"] == "invalid-body"
    assert "name" in refused["detail"]
    assert "colour" in refused["detail"]
    assert "red" not in refused["detail"]
