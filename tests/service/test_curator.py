"""The curator over HTTP: people, keys, grants, datasets, budgets; and what others may not."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import dovetail as dv

PEOPLE = "person,age,region\n" + "".join(
    f"{n},{20 + n % 50},{'north' if n % 3 else 'south'}\n" for n in range(300)
)
CURATORS = [
    ("GET", "/v1/analysts"),
    ("GET", "/v1/keys"),
    ("GET", "/v1/grants"),
    ("GET", "/v1/sources"),
    ("GET", "/v1/overview"),
    ("GET", "/v1/export"),
    # The number of events would show what others do.
    ("GET", "/v1/verify"),
]


@pytest.fixture
def files(tmp_path: Path, started: Any) -> Any:
    root = tmp_path / "data"
    root.mkdir()
    (root / "people.csv").write_text(PEOPLE)
    (tmp_path / "secret.csv").write_text(PEOPLE)
    (root / "link.csv").symlink_to(tmp_path / "secret.csv")
    (root / "circle.csv").symlink_to(root / "circle.csv")
    (root / "circles").mkdir()
    (root / "circles/one.csv").symlink_to(root / "circles/one.csv")
    return started(data_roots={"data": root})


@pytest.mark.parametrize(("method", "path"), CURATORS)
def test_an_analyst_may_not_do_what_curators_do(house: Any, method: str, path: str) -> None:
    assert house.ann.send(method, path).status_code == 403
    assert house.nobody.send(method, path).status_code == 401
    assert house.carl.send(method, path).status_code == 200


def test_from_a_new_analyst_to_a_first_answer(house: Any) -> None:
    made = house.carl.post("/v1/analysts", {"name": "dora", "address": "dora@example.org"}).json()
    key = house.carl.post("/v1/keys", {"person": made["id"]}).json()
    grant = {"person": made["id"], "dataset": "adult", "allotment": {"epsilon": "0.5"}}
    assert house.carl.post("/v1/grants", grant).status_code == 201
    headers = {"Authorization": f"Bearer {key['key']}", "Idempotency-Key": "first"}
    body = {"question": {"ask": "count"}, "pay": {"within": 20}}
    given = house.client.post("/v1/datasets/adult/answers", json=body, headers=headers)
    assert given.status_code == 200, given.text
    assert house.client.get("/v1/me", headers=headers).json()["name"] == "dora"
    (listed,) = house.carl.get(f"/v1/grants?person={made['id']}").json()["grants"]
    assert listed["standing"]["spent"] == given.json()["price"]


@pytest.mark.parametrize("wrong", [{"answers": "everybody"}, {"name": "census"}, {"pacing": -1}])
def test_a_change_that_is_refused_changes_nothing(house: Any, wrong: dict[str, Any]) -> None:
    house.ledger.account("census", budget=dv.Budget.pure(1))
    before = house.ledger.head
    body = {"title": "Another", "public": True, "retired": True} | wrong
    assert house.carl.send("PATCH", "/v1/datasets/adult", json=body).status_code == 400
    assert house.ledger.head == before


@pytest.mark.parametrize("wrong", [{"neighbours": "none"}, {"answers": "everybody"}])
def test_a_dataset_that_is_refused_leaves_no_record(files: Any, wrong: dict[str, Any]) -> None:
    schema = {"columns": [{"name": "age", "type": "integer", "low": 0, "high": 120}]}
    made = {"name": "people", "source": {"root": "data", "path": "people.csv"}, "schema": schema}
    before = files.ledger.head
    refused = files.carl.post("/v1/datasets", made | {"budget": {"epsilon": 1}} | wrong)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid-parameter")
    assert files.ledger.head == before


def test_a_dataset_whose_recording_is_interrupted_leaves_no_record(
    files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows would have had a budget that nobody could serve, and that anybody could ask for."""
    schema = {"columns": [{"name": "age", "type": "integer", "low": 0, "high": 120}]}
    made = {"name": "people", "source": {"root": "data", "path": "people.csv"}, "schema": schema}
    before = files.ledger.head
    for step in ("dovetail.ledger.catalogue.set_policy", "dovetail.ledger.catalogue._describe"):
        with monkeypatch.context() as stopped:
            stopped.setattr(step, lambda *_: 1 / 0)
            assert files.carl.post("/v1/datasets", made | {"budget": {"epsilon": 1}}).status_code == 500
        assert files.ledger.head == before
    assert files.carl.post("/v1/datasets", made | {"budget": {"epsilon": 1}}).status_code == 201
    assert files.ledger.catalogue.entry("people").access == "granted"
    files.ledger.verify()


def test_of_two_who_serve_the_same_rows_at_once_one_is_refused(
    files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both looked before either had recorded; the second then described the dataset of the first anew."""
    monkeypatch.setattr("dovetail.service.registration._check_new", lambda *_: None)
    schema = {"columns": [{"name": "age", "type": "integer", "low": 0, "high": 120}]}
    made = {"source": {"root": "data", "path": "people.csv"}, "schema": schema, "budget": {"epsilon": 1}}
    replies = [files.carl.post("/v1/datasets", made | {"name": name}) for name in ("people", "folk")]
    assert [each.status_code for each in replies] == [201, 409]
    assert "folk" not in files.ledger.sources()


def test_a_former_name_does_not_put_other_rows_in_the_place_of_a_dataset(files: Any) -> None:
    assert files.carl.send("PATCH", "/v1/datasets/adult", json={"name": "census"}).status_code == 200
    before = files.ledger.head
    schema = {"columns": [{"name": "age", "type": "integer", "low": 0, "high": 120}]}
    made = {"name": "adult", "source": {"root": "data", "path": "people.csv"}, "schema": schema}
    refused = files.carl.post("/v1/datasets", made | {"budget": {"epsilon": 3}})
    assert (refused.status_code, refused.json()["code"]) == (409, "budget-mismatch")
    assert files.ledger.head == before
    assert files.ledger.catalogue.entry("census").said["source"] == {"shipped": "adult"}


def test_an_expiry_says_its_zone(house: Any) -> None:
    refused = house.carl.post("/v1/keys", {"person": house.ann.id, "expires": "2127-01-31"})
    assert refused.status_code == 400
    assert "2027-01-31T00:00:00+00:00" in refused.json()["detail"]


def test_a_key_is_shown_once_and_revoked_at_the_next_request(house: Any) -> None:
    first = house.carl.post("/v1/keys", {"person": house.ann.id}, key="k")
    assert first.json()["key"].startswith("dvt_")
    again = house.carl.post("/v1/keys", {"person": house.ann.id}, key="k")
    assert again.status_code == 409
    assert again.json()["made"] == first.json()["id"]
    assert first.json()["key"] not in again.text
    other = house.carl.post("/v1/keys", {"person": house.bob.id}, key="k")
    assert other.status_code == 422
    headers = {"Authorization": f"Bearer {first.json()['key']}"}
    assert house.client.get("/v1/me", headers=headers).status_code == 200
    assert house.carl.send("DELETE", f"/v1/keys/{first.json()['id']}").status_code == 204
    assert house.client.get("/v1/me", headers=headers).status_code == 401
    assert "dvt_" not in house.carl.get("/v1/keys").text


def test_a_grant_that_is_revoked_hides_the_dataset(house: Any) -> None:
    assert house.ann.get("/v1/datasets/adult").status_code == 200
    assert house.carl.send("DELETE", f"/v1/grants/{house.ann.id}/adult").status_code == 204
    assert house.ann.get("/v1/datasets/adult").status_code == 404
    assert house.ann.get("/v1/datasets").json()["datasets"] == []


def test_a_retry_adds_nobody_twice(house: Any) -> None:
    first = house.carl.post("/v1/analysts", {"name": "dora"}, key="k")
    assert house.carl.post("/v1/analysts", {"name": "dora"}, key="k").json() == first.json()
    other = house.carl.post("/v1/analysts", {"name": "emil"}, key="k")
    assert other.status_code == 422
    assert house.carl.post("/v1/analysts", {"name": "dora"}).status_code == 400


def test_an_erased_name_is_gone_and_its_keys_with_it(house: Any) -> None:
    assert house.carl.send("DELETE", f"/v1/analysts/{house.bob.id}").status_code == 204
    assert house.bob.get("/v1/me").status_code == 401
    assert "bob" not in house.carl.get("/v1/analysts").text
    assert house.carl.send("DELETE", f"/v1/analysts/{house.carl.id}").status_code == 409


def test_a_budget_is_raised_with_a_reason(house: Any) -> None:
    body = {"question": {"ask": "count"}, "pay": {"within": 20}}
    assert house.ann.post("/v1/datasets/adult/answers", body).status_code == 200
    raised = {"dataset": "adult", "budget": {"epsilon": 4}, "reason": "a second study"}
    said = house.carl.post("/v1/budgets", raised).json()
    assert (said["ex_post"], said["after"]["epsilon"]) == (True, "4")
    assert house.carl.post("/v1/budgets", raised | {"reason": " "}).status_code == 400
    record = house.aud.get("/v1/record?dataset=adult").json()
    assert record["raises"][0]["reason"] == "a second study"
    assert len(record["releases"]) == 1


def test_a_file_is_drafted_served_and_asked(files: Any) -> None:
    source = {"root": "data", "path": "people.csv"}
    assert "people.csv" in files.carl.get("/v1/sources").json()["roots"][0]["files"]
    draft = files.carl.post("/v1/drafts", {"source": source}).json()["columns"]
    assert [each["name"] for each in draft] == ["person", "age", "region"]
    assert all(each["values"] is None and each["low"] is None and each["note"] is None for each in draft)
    shown = files.carl.post("/v1/drafts", {"source": source, "show": ["region"]}).json()["columns"]
    assert shown[2]["values"] == ["north", "south"]
    columns = [
        {"name": "person", "type": "integer"},
        {"name": "age", "type": "integer", "low": 0, "high": 120},
        shown[2] | {"reviewed": True},
    ]
    body = {
        "name": "people",
        "source": source,
        "schema": {"columns": columns},
        "unit": "person",
        "max_rows": 1,
        "budget": {"epsilon": 2},
        "title": "People",
    }
    made = files.carl.post("/v1/datasets", body)
    assert made.status_code == 201, made.text
    assert made.json()["protects"] == "a person ('person') added or removed"
    grant = {"person": files.ann.id, "dataset": "people", "allotment": {"epsilon": 1}}
    assert files.carl.post("/v1/grants", grant).status_code == 201
    asked = {"question": {"ask": "count_distinct", "columns": ["region"]}, "pay": {"within": 10}}
    assert files.ann.post("/v1/datasets/people/answers", asked).status_code == 200
    again = files.carl.post("/v1/datasets", body | {"name": "other"})
    assert (again.status_code, again.json()["code"]) == (409, "budget-mismatch")


@pytest.mark.parametrize(
    "source",
    [
        {"root": "data", "path": "../secret.csv"},
        {"root": "data", "path": "link.csv"},
        {"root": "data", "path": "/etc/passwd"},
        {"root": "nowhere", "path": "people.csv"},
        {"path": "/etc/passwd"},
        {"connection": "clinic", "table": "t"},
        {"root": "data", "path": "people.csv\x00"},
        {"root": "data", "path": "p" * 5000},
        {"root": "data", "path": "circle.csv"},
        {"root": "data", "path": "circles"},
        {"root": "data", "path": ["people.csv"]},
        {"url": "https://example.org/people.csv"},
        {},
    ],
    ids=repr,
)
def test_no_data_outside_of_the_roots(files: Any, source: Any) -> None:
    refused = files.carl.post("/v1/drafts", {"source": source})
    assert refused.status_code in (400, 503)
    assert "secret" not in refused.text.replace(str(source.get("path")), "")


@pytest.mark.parametrize("table", ["/etc/secret.parquet", "./secret.parquet", "file:///etc/secret.parquet"])
def test_a_table_of_spark_s_named_by_a_request_is_no_path(started: Any, table: str) -> None:
    carl = started(connections={"cluster": "local[2]"}).carl
    source = {"connection": "cluster", "table": table}
    body = {"name": "x", "source": source, "schema": {"columns": []}, "budget": {"epsilon": 1}}
    for refused in (carl.post("/v1/drafts", {"source": source}), carl.post("/v1/datasets", body)):
        assert refused.status_code == 400, refused.text
        assert refused.json()["parameter"] == "table", refused.text


def test_a_schema_gains_columns_and_a_change_is_a_version(files: Any) -> None:
    columns = [{"name": "age", "type": "integer", "low": 0, "high": 120}]
    body = {
        "name": "people",
        "source": {"root": "data", "path": "people.csv"},
        "schema": {"columns": columns},
    }
    assert files.carl.post("/v1/datasets", body | {"budget": {"epsilon": 2}}).status_code == 201
    columns.append({"name": "region", "type": "text", "values": ["north", "south"]})
    changed = files.carl.send("PUT", "/v1/datasets/people/schema", json={"columns": columns}).json()
    assert [each["name"] for each in changed["schema"]["columns"]] == ["age", "region"]
    unknown = [{"name": "height", "type": "number"}]
    refused = files.carl.send("PUT", "/v1/datasets/people/schema", json={"columns": unknown})
    assert refused.status_code == 400


def test_what_is_said_of_a_dataset_changes(house: Any) -> None:
    said = house.carl.send("PATCH", "/v1/datasets/adult", json={"title": "Census", "public": True}).json()
    assert (said["title"], said["public"]) == ("Census", True)
    assert house.nobody.get("/v1/record?dataset=adult").json()["title"] == "Census"
    house.carl.send("PATCH", "/v1/datasets/adult", json={"name": "census"})
    assert house.ann.get("/v1/datasets/census").status_code == 200
    body = {"question": {"ask": "count"}, "pay": {"within": 20}}
    assert house.ann.post("/v1/datasets/census/answers", body).status_code == 200
    house.carl.send("PATCH", "/v1/datasets/census", json={"retired": True})
    assert house.ann.post("/v1/datasets/census/answers", body).status_code == 409


def test_the_overview_is_the_ledgers_statement(house: Any) -> None:
    body = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.25"}}}
    house.ann.post("/v1/datasets/adult/answers", body)
    found = house.carl.get("/v1/overview").json()
    (one,) = found["datasets"]
    assert one["standing"]["spent"]["epsilon"] == "0.25"
    assert one["answers"] == 1
    assert found["head"] == str(house.ledger.verify())
    assert {each["person"] for each in one["shares"]} == {"ann", "bob"}


def test_the_overview_says_questions_and_plans_in_words(house: Any) -> None:
    body = {"question": {"ask": "histogram", "columns": ["sex"]}, "pay": {"within": 20}}
    house.ann.post("/v1/datasets/adult/answers", body)
    noise = {"kind": "piecewise-geometric", "rates": ["1/20"], "breaks": []}
    house.ann.post("/v1/datasets/adult/plans", {"noise": noise, "queries": 2})
    told = [each["what"] for each in house.carl.get("/v1/overview").json()["entries"]]
    assert told[:2] == ["plan of answers with PiecewiseGeometric(rates=('0.05',))", "count by sex"]


def test_the_record_is_exported_and_verified(house: Any) -> None:
    assert house.carl.get("/v1/export").json()["schema"].startswith("dovetail.ledger/")
    assert house.carl.get("/v1/export?format=csv").text.startswith("sequence,")
    said = house.aud.get("/v1/verify").json()
    assert (said["ok"], said["head"]) == (True, str(house.ledger.verify()))
    assert said["witness"] is False


def test_a_byte_of_the_past_that_flips_is_found(house: Any) -> None:
    assert house.aud.get("/v1/verify").status_code == 200
    with sqlite3.connect(house.settings.ledger) as edited:
        edited.execute(
            "UPDATE dovetail_events SET content = replace(content, 'own', 'owm') WHERE kind = 'policy'"
        )
    edited.close()
    house.app.service.verified = (-100.0, {})
    refused = house.aud.get("/v1/verify")
    assert (refused.status_code, refused.json()["code"]) == (503, "ledger-corrupt")


def test_a_certificate_of_a_noise(house: Any) -> None:
    noise = dv.GeometricMixture(0.2, 1, 5).to_dict()
    assert house.aud.post("/v1/certificate", {"noise": noise}).json()["certified"] is True
    assert house.aud.post("/v1/certificate", {"noise": {"kind": "none"}}).status_code == 400


@pytest.mark.parametrize("absolute", [True, False])
def test_a_schema_over_http_names_no_file_of_the_machine(
    files: Any, tmp_path: Path, monkeypatch: Any, absolute: bool
) -> None:
    (tmp_path / "wards.csv").write_text("region,ward\nnorth,hidden-ward\n")
    monkeypatch.chdir(tmp_path)
    place = str(tmp_path / "wards.csv") if absolute else "wards.csv"
    columns = dv.Schema([dv.Column("region", "text", values=["north", "south"])]).to_toml()
    toml = f'{columns}\n[lookups.wards]\nfile = "{place}"\nkey = "region"\n'
    body = {
        "name": "people",
        "source": {"root": "data", "path": "people.csv"},
        "schema": {"toml": toml},
        "budget": {"epsilon": 1},
    }
    refused = files.carl.post("/v1/datasets", body)
    assert refused.status_code == 400
    assert "hidden-ward" not in refused.text
    assert str(tmp_path) not in refused.text
