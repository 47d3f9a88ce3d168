"""The designer, plans and online runs over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dovetail as dv
from dovetail.service.settings import DeclaredDataset

ADULT = DeclaredDataset("adult", {"shipped": "adult"}, dv.Budget.pure(3))


def test_a_design_is_the_librarys(house: Any) -> None:
    said = house.ann.post("/v1/design", {"within": 10, "probability": 0.95, "dataset": "adult"}).json()
    found = dv.design(within=10, probability=0.95)
    assert said["noise"] == found.noise.to_dict()
    assert said["density"]["k"][0] == 0
    assert abs(said["density"]["p"][0] - float(found.noise.pmf(0))) < 1e-15
    charge = found.total.charge()
    assert said["answers_left"] == int(1 // charge.epsilon)
    assert house.ann.post("/v1/design", {"within": 10, "estimate": True}).json()["estimate"] is True
    assert house.eve.post("/v1/design", {"within": 10, "dataset": "adult"}).status_code == 404


def test_a_design_is_bounded(house: Any) -> None:
    assert house.ann.post("/v1/design", {"within": 10, "queries": 10**9}).status_code == 413
    assert house.ann.post("/v1/design", {"within": {"a": 1}}).status_code == 400
    assert house.ann.post("/v1/design", {"within": [[1], [2]]}).status_code == 400
    assert house.ann.post("/v1/design", {"within": "nan"}).status_code == 400
    assert house.ann.post("/v1/design", {}).status_code == 400


def test_noises_are_compared(house: Any) -> None:
    noises = {"mixture": dv.GeometricMixture(0.2, 1, 5).to_dict(), "geometric": dv.Geometric(1).to_dict()}
    said = house.ann.post("/v1/compare", {"noises": noises, "at": "zeta"}).json()
    assert [each["asked"] for each in said["rows"]] == ["mixture", "geometric"]
    assert house.ann.post("/v1/compare", {"noises": noises, "at": ["1", "1e-6", 10]}).status_code == 200
    assert house.ann.post("/v1/compare", {"noises": noises, "at": 5}).status_code == 400
    assert house.ann.post("/v1/compare", {"noises": noises, "at": ["1", "1e-6", 10**9]}).status_code == 413


def test_a_plan_is_paid_once_and_belongs_to_its_analyst(house: Any) -> None:
    wish = {"noise": dv.Geometric("0.1").to_dict(), "queries": 4}
    quoted = house.ann.post("/v1/datasets/adult/plans/quotes", wish).json()
    assert quoted["id"] is None
    assert (quoted["affordable"], quoted["remaining"]["epsilon"]) == (True, "0.6")
    assert quoted["remaining_now"]["epsilon"] == "1"
    dear = house.ann.post("/v1/datasets/adult/plans/quotes", wish | {"queries": 11}).json()
    assert (dear["affordable"], dear["remaining"]) == (False, None)
    plan = house.ann.post("/v1/datasets/adult/plans", wish, key="p").json()
    assert plan["price"] == quoted["price"]
    assert house.ann.post("/v1/datasets/adult/plans", wish, key="p").json()["id"] == plan["id"]
    spent = house.ledger.account("adult").spent()
    body = {"question": {"ask": "histogram", "columns": ["sex"]}, "pay": {"plan": plan["id"]}}
    quote = house.ann.post("/v1/datasets/adult/quotes", body).json()
    given = house.ann.post("/v1/datasets/adult/answers", body | {"quote": quote["digest"]})
    assert given.status_code == 200, given.text
    # The number of a plan in the ledger would show how much others do.
    (answer,) = given.json()["answers"]
    assert {quote["plan"]["id"], answer["plan"], answer["paid_by"]["id"]} == {plan["id"]}
    assert house.ledger.account("adult").spent() == spent
    assert house.ann.get("/v1/plans").json()["plans"][0]["left"] == 3
    assert house.bob.get("/v1/plans").json()["plans"] == []
    text = {"sql": "SELECT sex, COUNT(*) FROM adult GROUP BY sex", "pay": body["pay"]}
    table = house.ann.post("/v1/datasets/adult/answers", text).json()["table"]
    assert {table["plan"], table["paid_by"]["id"]} == {plan["id"]}
    assert house.bob.post("/v1/datasets/adult/answers", body).status_code == 400
    history = house.ann.get("/v1/answers").json()["answers"][0]
    assert (history["plan"], history["price"]) == (plan["id"], None)


def test_nobody_plans_the_budget_of_all(house: Any) -> None:
    body = {"question": {"ask": "count"}, "pay": {"queries": 20}}
    assert house.ann.post("/v1/datasets/adult/quotes", body).json()["code"] == "missing-price"


def test_an_online_run_is_paid_once(house: Any) -> None:
    wish = {"columns": ["sex", "race"], "queries": 100, "ways": 2, "spend": {"epsilon": "0.5"}}
    quoted = house.ann.post("/v1/datasets/adult/runs/quotes", wish)
    assert quoted.status_code == 200, quoted.text
    made = house.ann.post("/v1/datasets/adult/runs", wish)
    assert made.status_code == 201, made.text
    run = made.json()
    assert run["price"] == quoted.json()["price"]
    body = {"question": {"ask": "histogram", "columns": ["sex"]}}
    given = house.ann.post(f"/v1/runs/{run['id']}/answers", body)
    assert given.status_code == 200, given.text
    assert len(given.json()["answers"][0]["rows"]) == 2
    assert given.json()["answers"][0]["run"] == run["id"]
    text = "SELECT sex, COUNT(*) FROM adult GROUP BY sex"
    table = house.ann.post(f"/v1/runs/{run['id']}/answers", {"sql": text}).json()["table"]
    assert table["plan"] == run["id"]
    assert house.bob.post(f"/v1/runs/{run['id']}/answers", body).status_code == 404
    assert house.ann.get("/v1/runs").json()["runs"][0]["id"] == run["id"]
    assert house.ann.get("/v1/answers").status_code == 200
    spent = house.ledger.account("adult").spent()
    assert house.ann.post("/v1/datasets/adult/runs", wish).json()["id"] == run["id"]
    assert house.ledger.account("adult").spent() == spent


def test_a_run_is_asked_while_another_dataset_is_retired(started: Any, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("age\n40\n50\n")
    old = DeclaredDataset("old", {"path": str(tmp_path / "old.csv")}, dv.Budget.pure(3))
    house = started(declared=(old, ADULT))
    house.ledger.people.grant("ann", "adult", dv.Budget.pure(1))
    wish = {"columns": ["sex"], "queries": 10, "spend": {"epsilon": "0.5"}}
    run = house.ann.post("/v1/datasets/adult/runs", wish).json()
    assert house.carl.send("PATCH", "/v1/datasets/old", json={"retired": True}).status_code == 200
    body = {"question": {"ask": "count"}}
    assert house.ann.post(f"/v1/runs/{run['id']}/answers", body).status_code == 200
    assert house.ann.post("/v1/runs/unknown/answers", body).status_code == 404
