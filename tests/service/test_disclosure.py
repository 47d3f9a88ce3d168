"""Small things that a service neither tells nor does: keys used up, plans paid in vain, names and links."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from dovetail.errors import LedgerError
from dovetail.privacy import Budget, Charge
from dovetail.query import Schema
from dovetail.release.account import Request, Reservation
from dovetail.service.background import background
from dovetail.service.settings import DeclaredDataset, Settings

COUNT = {"question": {"ask": "count", "where": "age >= 40"}, "pay": {"within": 10}}


def test_a_key_that_is_taken_for_a_code_stays_a_key(house: Any) -> None:
    for expires in (None, datetime.now(UTC) + timedelta(days=1)):
        key = house.ledger.people.make_key("ann", expires=expires).text
        assert house.nobody.post("/v1/sessions", {"code": key}).status_code == 401
        assert house.client.get("/v1/me", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_a_plan_is_not_paid_where_the_key_was_used_for_another_question(house: Any) -> None:
    answers = "/v1/datasets/adult/answers"
    assert house.ann.post(answers, COUNT, key="one").status_code == 200
    spent = house.ledger.account("adult").spent()
    planned = {"question": {"ask": "count"}, "pay": {"within": 30, "queries": 5}}
    assert house.ann.post(answers, planned, key="one").status_code == 422
    assert house.ledger.account("adult").spent() == spent
    assert house.ann.get("/v1/plans").json()["plans"] == []


def test_what_rests_on_columns_that_are_not_reviewed_is_not_named(started: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age,hiv\n30,1\n")
    schema = (
        'schema = "dovetail.schema/1"\n[columns.age]\ntype = "integer"\nlow = 0\nhigh = 120\n'
        '[columns.hiv]\ntype = "integer"\nlow = 0\nhigh = 1\nreviewed = false\n'
        '[derived]\ndecade = "FLOOR(age / 10) * 10"\nill = "CASE WHEN hiv = 1 THEN TRUE ELSE FALSE END"\n'
        '[lookups.wards]\nkey = "code"\non = "hiv"\nrows = [{code = 0, ward = "north"}]\n'
    )
    source = {"path": str(tmp_path / "rows.csv")}
    house = started(
        declared=(DeclaredDataset("rows", source, Budget.pure(1), schema=Schema.from_toml(schema)),)
    )
    refused = [
        house.ann.post("/v1/datasets/rows/quotes", {"question": question, "pay": {"within": 10}})
        for question in (
            {"ask": "count", "where": "nothing = 1"},
            {"ask": "histogram", "columns": ["ill"]},
            {"ask": "histogram", "columns": ["wards.ward"]},
            {"ask": "mean", "column": "i11"},
        )
    ]
    shown = house.ann.get("/v1/datasets/rows")
    for given in (shown, *refused):
        assert "hiv" not in given.text
        assert "north" not in given.text
    assert "wards" not in shown.text
    assert "decade" in refused[0].text
    assert ", ill" not in refused[0].text
    assert [each["name"] for each in shown.json()["schema"]["derived"]] == ["decade"]
    assert "hiv" not in shown.text
    assert "ill" in house.carl.get("/v1/datasets/rows").text


def test_an_answer_that_comes_too_late_names_no_event(house: Any) -> None:
    account = house.ledger.account("adult")
    request = Request("{}", Charge.zero(), "ann")
    held = account.reserve(request)
    assert isinstance(held, Reservation)
    account.settle(held, "{}")
    with pytest.raises(LedgerError) as refused:
        account.settle(held, "{}")
    assert str(held.id) not in str(refused.value)


def test_a_dataset_that_was_taken_away_does_not_tell_its_new_names(house: Any) -> None:
    """One's own answers stay; what happens to the dataset later is as unknown as the dataset."""
    for name in ("ann", "bob"):
        given = house.people[name].post("/v1/datasets/adult/answers", COUNT).json()["id"]
    house.carl.send("DELETE", f"/v1/grants/{house.bob.id}/adult")
    for name, new in (("adult", "layoffs"), ("layoffs", "adult"), ("adult", "merger")):
        assert house.carl.send("PATCH", f"/v1/datasets/{name}", json={"name": new}).status_code == 200
    assert house.ann.get("/v1/answers").json()["answers"][0]["dataset"] == "merger"
    (line,) = house.bob.get("/v1/answers").json()["answers"]
    assert line["dataset"] == "adult"
    assert "merger" not in house.bob.get(f"/v1/answers/{given}").text


def test_a_service_in_this_process_leaves_the_log_of_the_library_alone(tmp_path: Path) -> None:
    before = logging.getLogger("dovetail").level
    settings = Settings(str(tmp_path / "s.ledger"), cookie_secret=b"s" * 32)
    with background(settings):
        assert logging.getLogger("dovetail").level == before


def test_a_folder_with_a_link_that_leads_out_is_not_served(started: Any, tmp_path: Path) -> None:
    root = tmp_path / "data"
    (root / "visits").mkdir(parents=True)
    parquet.write_table(pyarrow.table({"age": [30]}), root / "visits" / "one.parquet")
    house = started(data_roots={"data": root})
    draft = {"source": {"root": "data", "path": "visits"}}
    assert house.carl.post("/v1/drafts", draft).status_code == 200
    parquet.write_table(pyarrow.table({"age": [99]}), tmp_path / "secret.parquet")
    (root / "visits" / "three.parquet").symlink_to(tmp_path / "secret.parquet")
    assert house.carl.post("/v1/drafts", draft).status_code == 400


@pytest.mark.parametrize("linked", ["rows.csv", "months"])
def test_a_file_that_becomes_a_link_out_of_its_root_is_not_read(
    started: Any, tmp_path: Path, linked: str
) -> None:
    """Whoever may write rows there could have had another file counted, which only the service may read."""
    root, secret = tmp_path / "data", tmp_path / "secret.csv"
    (root / "months").mkdir(parents=True)
    for place in (root / "rows.csv", root / "months" / "a.csv", secret):
        place.write_text("ward\neyes\n")
    declared = DeclaredDataset("rows", {"root": "data", "path": linked}, Budget.pure(1))
    house = started(declared=(declared,), data_roots={"data": root})
    count: Any = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.1"}}}
    assert house.ann.post("/v1/datasets/rows/answers", count).status_code == 200
    link = root / "rows.csv" if linked == "rows.csv" else root / "months" / "b.csv"
    link.unlink(missing_ok=True)
    link.symlink_to(secret)
    count["pay"]["fresh"] = True
    refused = house.ann.post("/v1/datasets/rows/answers", count)
    assert refused.status_code == 503
    assert house.ledger.account("rows").spent().epsilon == Fraction("0.1")


def test_the_notes_of_a_draft_show_no_word_of_a_row(started: Any, tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    (root / "rows.csv").write_text("age\n30\nunknown\n40\n" + "50\n" * 50)
    house = started(data_roots={"data": root})
    source = {"root": "data", "path": "rows.csv"}
    assert "unknown" not in house.carl.post("/v1/drafts", {"source": source}).text
