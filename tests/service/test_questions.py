"""Quotes cost nothing; answers cost what was quoted, to the digit, once."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

import dovetail as dv
from dovetail.query.query_json import to_dict
from dovetail.service.settings import DeclaredDataset, Limits

COUNT = {"question": {"ask": "count", "where": "age >= 40"}, "pay": {"within": 10}}
QUESTIONS: list[Any] = [
    dv.Count(where="age >= 40"),
    dv.Histogram("sex"),
    dv.Histogram("sex", "age", bins={"age": [0, 18, 65, 120]}),
    dv.Sum("age", 0, 100, 1),
    dv.Mean("age", 0, 100, 1),
    dv.Linear("sex", {"Female": 1, "Male": "-1/2"}, "1/4"),
    dv.Variance("age", 0, 100, 1),
    dv.Std("age", 0, 100, 1),
    dv.Ranges("age", 0, 100, 1),
    dv.Quantiles("age", (0.25, 0.5), 0, 100, 1),
    dv.Median("age", 0, 100, 1),
    dv.Minimum("age", 0, 100, 1),
    dv.Maximum("age", 0, 100, 1),
    dv.Sum("age", 0, 100, 1, by=("sex",)),
    dv.Mean("age", 0, 100, 1, by=("sex",)),
    dv.Variance("age", 0, 100, 1, by=("sex",)),
    dv.Quantiles("age", (0.5,), 0, 100, 1, by=("sex",)),
    dv.Ranges("age", 0, 100, 1, by=("sex",)),
    dv.Marginals("sex", "race", "income", way=2),
]


def test_a_quote_spends_nothing_and_an_answer_costs_what_was_quoted(house: Any) -> None:
    quoted = house.ann.post("/v1/datasets/adult/quotes", COUNT).json()
    assert quoted["affordable"] is True
    assert quoted["stored"] is None
    assert house.ledger.account("adult").spent() == dv.Charge.zero()
    given = house.ann.post("/v1/datasets/adult/answers", COUNT | {"quote": quoted["digest"]}).json()
    assert given["price"] == quoted["price"]
    assert given["answers"][0]["charge"] == quoted["charge"]
    assert given["remaining"] == quoted["remaining"]
    assert dv.Charge.from_dict(quoted["charge"]) == house.ledger.account("adult").spent()


@pytest.mark.parametrize("query", QUESTIONS, ids=lambda query: type(query).__name__)
def test_every_kind_of_question_is_charged_as_quoted(house: Any, query: Any) -> None:
    body = {"question": to_dict(query), "pay": {"spend": {"epsilon": "0.5"}}}
    quoted = house.ann.post("/v1/datasets/adult/quotes", body)
    assert quoted.status_code == 200, quoted.text
    given = house.ann.post("/v1/datasets/adult/answers", body | {"quote": quoted.json()["digest"]})
    assert given.status_code == 200, given.text
    assert given.json()["answers"][0]["charge"] == quoted.json()["charge"]
    again = house.ann.get(f"/v1/answers/{given.json()['id']}").json()
    assert again["answers"][0]["rows"] == given.json()["answers"][0]["rows"]
    assert house.ann.post("/v1/datasets/adult/quotes", body).json()["stored"]["stored"] is True


def test_a_workload_is_charged_as_quoted(house: Any) -> None:
    asked = [to_dict(dv.Histogram("sex", "race")), to_dict(dv.Histogram("race")), to_dict(dv.Count())]
    body = {"question": asked, "workload": True, "pay": {"spend": {"epsilon": "0.5"}}}
    quoted = house.ann.post("/v1/datasets/adult/quotes", body).json()
    given = house.ann.post("/v1/datasets/adult/answers", body | {"quote": quoted["digest"]}).json()
    assert given["answers"][0]["charge"] == quoted["charge"]
    assert dv.Charge.from_dict(quoted["charge"]) == house.ledger.account("adult").spent()


def test_questions_about_persons_are_charged_as_quoted(started: Any, tmp_path: Path) -> None:
    rows = "".join(f"p{n % 40},{20 + n % 50}\n" for n in range(100))
    (tmp_path / "visits.csv").write_text("person,age\n" + rows)
    schema = (
        'schema = "dovetail.schema/1"\n[columns.person]\ntype = "text"\nkind = "id"\n'
        '[columns.age]\ntype = "integer"\nlow = 0\nhigh = 120\n'
    )
    source = {"path": str(tmp_path / "visits.csv")}
    visits = DeclaredDataset(
        "visits", source, dv.Budget.pure(3), schema=dv.Schema.from_toml(schema), unit="person", max_rows=3
    )
    house = started(declared=(visits,))
    asked = [dv.CountDistinct(), dv.Contributions(most_rows=5), dv.Sum("age", 0, 100, 1), dv.Count()]
    spent = dv.Charge.zero()
    for query in asked:
        body = {"question": to_dict(query), "pay": {"spend": {"epsilon": "0.2"}}}
        quoted = house.ann.post("/v1/datasets/visits/quotes", body).json()
        given = house.ann.post("/v1/datasets/visits/answers", body | {"quote": quoted["digest"]})
        assert given.status_code == 200, given.text
        assert given.json()["answers"][0]["charge"] == quoted["charge"]
        spent += dv.Charge.from_dict(quoted["charge"])
    assert house.ledger.account("visits").spent() == spent


def test_sql_gives_the_table_of_its_select(house: Any) -> None:
    text = "SELECT sex, COUNT(*) AS n FROM adult GROUP BY sex ORDER BY n DESC LIMIT 1"
    given = house.ann.post("/v1/datasets/adult/answers", {"sql": text, "pay": {"within": 20}}).json()
    assert [each["name"] for each in given["table"]["columns"]] == ["sex", "n"]
    assert given["table"]["rows"][0]["sex"] == "Male"
    assert len(given["answers"][0]["rows"]) == 2


def test_several_questions_are_priced_together(house: Any) -> None:
    body = {"question": [to_dict(each) for each in QUESTIONS[:2]], "pay": {"spend": {"epsilon": "0.5"}}}
    given = house.ann.post("/v1/datasets/adult/answers", body).json()
    assert len(given["answers"]) == 2
    assert float(given["price"]["epsilon"]) <= 0.5


def test_a_retry_and_a_repeat_are_free(house: Any) -> None:
    first = house.ann.post("/v1/datasets/adult/answers", COUNT, key="k1").json()
    spent = house.ledger.account("adult").spent()
    retry = house.ann.post("/v1/datasets/adult/answers", COUNT, key="k1").json()
    repeat = house.ann.post("/v1/datasets/adult/answers", COUNT, key="k2").json()
    assert retry["answers"][0]["rows"] == repeat["answers"][0]["rows"] == first["answers"][0]["rows"]
    assert retry["id"] == repeat["id"] == first["id"]
    assert house.ledger.account("adult").spent() == spent
    fresh = COUNT | {"pay": {"within": 10, "fresh": True}}
    assert house.ann.post("/v1/datasets/adult/answers", fresh).json()["id"] != first["id"]


def test_the_same_key_for_another_body_is_refused(house: Any) -> None:
    assert house.ann.post("/v1/datasets/adult/answers", COUNT, key="k1").status_code == 200
    other = COUNT | {"question": {"ask": "count"}}
    refused = house.ann.post("/v1/datasets/adult/answers", other, key="k1")
    assert (refused.status_code, refused.json()["code"]) == (422, "request-conflict")


def test_an_answer_needs_an_idempotency_key(house: Any) -> None:
    refused = house.ann.post("/v1/datasets/adult/answers", COUNT, key=None)
    assert (refused.status_code, refused.json()["code"]) == (400, "missing-idempotency-key")


def test_a_quote_from_outside_is_only_compared(house: Any) -> None:
    refused = house.ann.post("/v1/datasets/adult/answers", COUNT | {"quote": "0" * 64})
    assert (refused.status_code, refused.json()["code"]) == (409, "quote-changed")
    assert (
        refused.json()["quote"]["digest"]
        == house.ann.post("/v1/datasets/adult/quotes", COUNT).json()["digest"]
    )
    assert house.ledger.account("adult").spent() == dv.Charge.zero()


def test_an_allotment_ends_and_nothing_more_is_spent(house: Any) -> None:
    body = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.7"}}}
    assert house.ann.post("/v1/datasets/adult/answers", body).status_code == 200
    body["pay"] = {"spend": {"epsilon": "0.5"}}
    quoted = house.ann.post("/v1/datasets/adult/quotes", body).json()
    assert quoted["affordable"] is False
    refused = house.ann.post("/v1/datasets/adult/answers", body)
    assert refused.status_code == 409
    problem = refused.json()
    assert problem["code"] == "budget-exceeded"
    assert problem["remaining"] == "epsilon 0.3"
    assert any("pays for ±" in text for text in problem["fix"])
    assert house.ledger.account("adult").spent() == dv.Charge.approximate("0.7")


def test_an_answer_is_a_file_too(house: Any) -> None:
    body = {"question": {"ask": "histogram", "columns": ["sex"]}, "pay": {"within": 10}}
    public = house.ann.post("/v1/datasets/adult/answers", body).json()["id"]
    text = house.ann.get(f"/v1/answers/{public}?format=csv")
    assert text.headers["content-type"].startswith("text/csv")
    assert text.text.splitlines()[0].startswith("sex,value,low,high")
    stream = house.ann.get(f"/v1/answers/{public}", headers={"Accept": "application/vnd.apache.arrow.stream"})
    table = pyarrow.ipc.open_stream(stream.content).read_all()
    assert table.column_names == ["sex", "value", "low", "high"]
    columns = house.ann.get(f"/v1/answers/{public}?format=parquet").content
    assert parquet.read_table(pyarrow.BufferReader(columns)).equals(table)
    wide = house.ann.get(f"/v1/answers/{public}?level=0.999").json()["answers"][0]["rows"][0]
    usual = house.ann.get(f"/v1/answers/{public}").json()["answers"][0]["rows"][0]
    assert float(wide["low"]) < float(usual["low"])


def test_marginals_are_files_of_all_their_tables(house: Any) -> None:
    asked = {"ask": "marginals", "columns": ["sex", "income"], "way": 1}
    body = {"question": asked, "pay": {"spend": {"epsilon": "0.1"}}}
    public = house.ann.post("/v1/datasets/adult/answers", body).json()["id"]
    for kind in ("application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"):
        given = house.ann.get(f"/v1/answers/{public}", headers={"Accept": kind})
        assert given.headers["content-type"] == kind
        read = pyarrow.ipc.open_stream(given.content).read_all if "arrow.stream" in kind else None
        table = parquet.read_table(pyarrow.BufferReader(given.content)) if read is None else read()
        assert table.column_names == ["table", "sex", "income", "value", "low", "high"]
        assert table.num_rows == 4


def test_history_is_ones_own_and_comes_in_pages(house: Any) -> None:
    for age in range(5):
        body = {"question": {"ask": "count", "where": f"age > {age}"}, "pay": {"spend": {"epsilon": "0.01"}}}
        assert house.ann.post("/v1/datasets/adult/answers", body).status_code == 200
    first = house.ann.get("/v1/answers?limit=2").json()
    second = house.ann.get(f"/v1/answers?limit=2&cursor={first['next']}").json()
    third = house.ann.get(f"/v1/answers?limit=2&cursor={second['next']}").json()
    listed = [each["id"] for page in (first, second, third) for each in page["answers"]]
    assert len(set(listed)) == 5
    assert third["next"] is None
    assert first["answers"][0]["words"] == ["count, matching rows only"]
    assert house.bob.get("/v1/answers").json()["answers"] == []
    assert house.bob.get(f"/v1/answers/{listed[0]}").status_code == 404


def test_an_answer_that_takes_long_is_found_later(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    house = started(limits=Limits(patience=0.2))
    release, asked = Event(), house.app.service.served.find("adult").session._engine
    inner = asked.fetch
    monkeypatch.setattr(asked, "fetch", lambda statement: release.wait(20) and inner(statement))
    begun = house.ann.post("/v1/datasets/adult/answers", COUNT, key="slow")
    assert begun.status_code == 202
    place = begun.headers["location"]
    assert begun.headers["retry-after"] == "1"
    assert house.ann.get(place).status_code == 202
    assert house.ann.post("/v1/datasets/adult/answers", COUNT, key="slow").headers["location"] == place
    release.set()
    for _ in range(100):
        found = house.ann.get(place)
        if found.status_code == 200:
            break
        Event().wait(0.05)
    assert found.json()["state"] == "answered"
    assert (
        house.ann.post("/v1/datasets/adult/answers", COUNT, key="slow").json()["id"]
        == place.rpartition("/")[2]
    )


@pytest.mark.parametrize("limit", ["1e399", "1e309", "1e-320", "1e-399"])
def test_limits_beyond_what_floats_hold_are_refused_in_words(house: Any, limit: str) -> None:
    asked = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "1e-3", "zeta": limit}}}
    run = {"columns": ["sex"], "queries": 100, "spend": {"epsilon": limit}}
    for path, body in (("quotes", asked), ("runs/quotes", run)):
        refused = house.ann.post(f"/v1/datasets/adult/{path}", body)
        assert refused.status_code in (400, 409), refused.text


def test_a_level_without_a_finite_decimal_is_replied_as_the_description_says(house: Any) -> None:
    body = {"question": {"ask": "count"}, "pay": {"within": 100, "probability": "1/3"}}
    assert house.ann.post("/v1/datasets/adult/quotes", body).json()["level"] == "1/3"
    given = house.ann.post("/v1/datasets/adult/answers", body).json()
    again = house.ann.get(f"/v1/answers/{given['id']}?level=2/3").json()
    assert (given["answers"][0]["level"], again["answers"][0]["level"]) == ("1/3", "2/3")
