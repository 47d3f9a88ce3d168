"""The interface describes itself: OpenAPI 3.1, every route, and examples that run."""

from __future__ import annotations

import importlib.util
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from http_replies import seen

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
                assert "default" not in operation["responses"], path
                assert {"400", "401", "429", "500", "503"} <= set(operation["responses"]), path


def test_the_description_validates(described: Any) -> None:
    assert list(OpenAPIV31SpecValidator(described).iter_errors()) == []


def test_a_wrong_description_does_not_validate(described: Any) -> None:
    wrong = deepcopy(described)
    wrong["paths"]["/v1/me"]["get"]["responses"]["200"]["content"]["application/json"]["schema"] = "Me"
    assert list(OpenAPIV31SpecValidator(wrong).iter_errors())


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


def test_every_operation_replies_as_it_is_described(tmp_path: Path, opened: Any, described: Any) -> None:
    root = tmp_path / "data"
    root.mkdir()
    (root / "people.csv").write_text("age\n30\n40\n")
    made = opened(tmp_path, data_roots={"data": root})
    with made.client:
        _use_everything(made)
    succeeded = {(path, method) for path, method, status in seen if status < "300"}
    every = {
        (path, method) for path, item in described["paths"].items() for method in METHODS if method in item
    }
    assert every <= succeeded, every - succeeded


def _use_everything(made: Any) -> None:
    """Send one request to every operation; the desks compare each reply with its description."""
    ann, carl, adult = made.ann, made.carl, "/v1/datasets/adult"
    for path in ("/healthz", "/readyz", "/v1/schemas/question", "/v1/record"):
        made.nobody.get(path)
    made.nobody.send("DELETE", "/v1/sessions")
    noise = {"kind": "piecewise-geometric", "rates": ["1/10"], "breaks": []}
    run = {"columns": ["sex"], "queries": 10, "ways": 1, "spend": {"epsilon": "0.1"}}
    asked = {"question": {"ask": "count"}, "pay": {"noise": noise}}
    ann.post(f"{adult}/quotes", asked)
    ann.post(f"{adult}/plans/quotes", {"noise": noise, "queries": 2})
    plan = ann.post(f"{adult}/plans", {"noise": noise, "queries": 2}).json()["id"]
    answer = ann.post(f"{adult}/answers", asked | {"pay": {"plan": plan}}).json()["id"]
    for kind in ("json", "csv", "arrow", "parquet"):
        ann.get(f"/v1/answers/{answer}?format={kind}")
    ann.post(f"{adult}/runs/quotes", run)
    opened = ann.post(f"{adult}/runs", run).json()["id"]
    ann.post(f"/v1/runs/{opened}/answers", {"sql": "SELECT sex, COUNT(*) FROM adult GROUP BY sex"})
    for path in ("me", "datasets", "datasets/adult", "answers", "plans", "runs"):
        ann.get(f"/v1/{path}")
    for more in ({}, {"estimate": True}, {"dataset": "adult", "delta": "1e-6"}):
        ann.post("/v1/design", {"within": 10, "probability": "0.95"} | more)
    ann.post("/v1/compare", {"noises": {"one": noise}})
    ann.post("/v1/certificate", {"noise": noise})
    dora = carl.post("/v1/analysts", {"name": "dora"}).json()["id"]
    key = carl.post("/v1/keys", {"person": dora}).json()["id"]
    carl.post("/v1/grants", {"person": dora, "dataset": "adult", "allotment": {"epsilon": 5}})
    source = {"root": "data", "path": "people.csv"}
    columns = carl.post("/v1/drafts", {"source": source, "show": ["age"]}).json()["columns"]
    columns = [each | {"reviewed": True} for each in columns]
    new = {"name": "people", "source": source, "schema": {"columns": columns}, "budget": {"epsilon": 1}}
    carl.post("/v1/datasets", new)
    carl.send("PATCH", "/v1/datasets/people", json={"title": "People", "public": True})
    carl.send("PUT", "/v1/datasets/people/schema", json={"columns": columns})
    carl.post("/v1/budgets", {"dataset": "people", "budget": {"epsilon": 2}, "reason": "More was allowed."})
    carl.post("/v1/datasets/people/vintages", {"label": "2026"})
    carl.send("PATCH", "/v1/datasets/people/vintages/2026", json={"complete": True})
    carl.get("/v1/datasets/people/vintages")
    for path in ("sources", "analysts", "keys", "grants", "overview", "export", "verify"):
        carl.get(f"/v1/{path}")
    carl.get("/v1/export?format=csv")
    made.nobody.get("/v1/record?dataset=people")
    made.aud.get("/v1/record?dataset=adult")
    carl.send("DELETE", f"/v1/keys/{key}")
    carl.send("DELETE", f"/v1/grants/{dora}/adult")
    carl.send("DELETE", f"/v1/analysts/{dora}")
    made.nobody.post("/v1/sessions", {"key": ann.key})


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
