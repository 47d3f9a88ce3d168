"""Online runs over HTTP: what was paid for stays what it was, and is never paid for again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.errors import LedgerBusy
from dovetail.noise import Geometric
from dovetail.privacy import Budget
from dovetail.service.settings import DeclaredDataset, Limits
from dovetail.session import Session

SCHEMA = dv.Schema([dv.Column("sex", "text", values=["f", "m"])])
RUN = {"columns": ["sex"], "queries": 100, "updates": 2, "base": None, "spend": {"epsilon": "0.2"}}
COUNT = {"question": {"ask": "count"}}


@pytest.fixture
def house(started: Any, tmp_path: Path) -> Any:
    file = tmp_path / "people.csv"
    file.write_text("sex\n" + "f\nm\n" * 50)
    declared = DeclaredDataset("people", {"path": str(file)}, Budget.pure(3), schema=SCHEMA)
    return started(declared=(declared,))


def change_schema(house: Any) -> None:
    columns = [{"name": "sex", "type": "text", "values": ["f", "m", "x"], "reviewed": True}]
    assert house.carl.send("PUT", "/v1/datasets/people/schema", json={"columns": columns}).status_code == 200


def name_version(house: Any) -> None:
    house.ledger.account("people").set_version("2")
    restart(house)


def restart(house: Any) -> None:
    """Forget the runs that are open here, as another worker never knew them."""
    for served in house.app.service.served.all():
        served.runs.clear()


def spent(house: Any) -> str:
    return str(house.ann.get("/v1/datasets/people").json()["mine"]["spent"]["epsilon"])


@pytest.mark.parametrize("change", [change_schema, name_version], ids=["schema", "version"])
def test_a_question_to_a_run_never_pays_for_another(house: Any, change: Any) -> None:
    """A run that would be another one now was opened anew, for its whole price, by a free question."""
    run = house.ann.post("/v1/datasets/people/runs", RUN).json()["id"]
    restart(house)
    assert house.ann.post(f"/v1/runs/{run}/answers", COUNT).status_code == 200
    paid = spent(house)
    change(house)
    refused = house.ann.post(f"/v1/runs/{run}/answers", {"question": {"ask": "count", "where": "sex = 'm'"}})
    assert refused.status_code == 409
    assert spent(house) == paid
    assert [each["id"] for each in house.ann.get("/v1/runs").json()["runs"]] == [run]


def test_another_name_of_the_data_does_not_end_a_run(house: Any) -> None:
    run = house.ann.post("/v1/datasets/people/runs", RUN).json()["id"]
    house.carl.send("PATCH", "/v1/datasets/people", json={"name": "folk"})
    assert house.ann.post(f"/v1/runs/{run}/answers", COUNT).status_code == 200


def test_a_run_that_is_over_tells_neither_its_number_nor_when_a_row_came(house: Any, tmp_path: Path) -> None:
    """Numbers in the record count what others do, and the time of a write is that of a row."""
    run = house.ann.post("/v1/datasets/people/runs", RUN).json()["id"]
    (tmp_path / "people.csv").write_text("sex\n" + "f\nm\n" * 51)
    restart(house)
    refused = house.ann.post(f"/v1/runs/{run}/answers", COUNT).json()
    assert refused["status"] == 409
    assert not any(letter.isdigit() for letter in refused["detail"])


@pytest.mark.parametrize(
    ("door", "body", "other"),
    [
        ("runs", RUN, RUN | {"queries": 101}),
        ("plans", *({"noise": Geometric("0.1").to_dict(), "queries": number} for number in (2, 3))),
    ],
    ids=["run", "plan"],
)
def test_one_key_opens_one_thing(house: Any, door: str, body: Any, other: Any) -> None:
    """A retry after the data changed opened and paid for another run, and another body for another plan."""
    path = f"/v1/datasets/people/{door}"
    first = house.ann.post(path, body, key="once").json()
    paid = spent(house)
    assert house.ann.post(path, other, key="once").status_code == 422
    change_schema(house)
    name_version(house)
    again = house.ann.post(path, body, key="once")
    assert (again.status_code, again.json()["id"]) == (201, first["id"])
    assert spent(house) == paid


def test_a_retry_that_fails_gives_up_no_key_that_another_request_holds(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gave the key up while the first request was still at work, and another body could have it."""
    path, body = "/v1/datasets/people/plans", {"noise": Geometric("0.1").to_dict(), "queries": 2}
    plan, statuses = Session.plan, list[int]()

    def slow(session: Session, *args: Any, **named: Any) -> Any:
        def failing(*args: Any, **named: Any) -> Any:
            raise LedgerBusy("The ledger is held.")

        monkeypatch.setattr(Session, "plan", failing)
        statuses.append(house.ann.post(path, body, key="once").status_code)
        monkeypatch.setattr(Session, "plan", plan)
        return plan(session, *args, **named)

    monkeypatch.setattr(Session, "plan", slow)
    assert house.ann.post(path, body, key="once").status_code == 201
    assert statuses == [503]
    assert house.ann.post(path, body | {"queries": 3}, key="once").status_code == 422


def test_what_was_refused_may_be_opened_under_its_key_later(house: Any) -> None:
    dear = RUN | {"spend": {"epsilon": "1.5"}}
    assert house.ann.post("/v1/datasets/people/runs", dear, key="later").status_code == 409
    house.ledger.people.grant("ann", "people", Budget.pure(2))
    assert house.ann.post("/v1/datasets/people/runs", dear, key="later").status_code == 201


@pytest.mark.parametrize(
    "asked",
    [
        {"question": {"ask": "histogram", "columns": ["sex", "race"]}},
        {"question": [{"ask": "histogram", "columns": ["sex"]}] * 5},
        {"sql": "SELECT sex, race, COUNT(*) FROM adult GROUP BY sex, race"},
    ],
    ids=["histogram", "several", "SQL"],
)
def test_a_run_tells_no_more_numbers_at_once_than_other_answers(started: Any, asked: Any) -> None:
    """A histogram of 90,720 cells took 8 GB and three minutes; nothing limited it."""
    house = started(limits=Limits(cells=9))
    wish = {"columns": ["sex", "race"], "queries": 9, "base": "histogram", "updates": 0}
    run = house.ann.post("/v1/datasets/adult/runs", wish | {"spend": {"epsilon": "0.1"}}).json()["id"]
    refused = house.ann.post(f"/v1/runs/{run}/answers", asked)
    assert (refused.status_code, refused.json()["code"]) == (413, "too-large")
    fewer = {"question": {"ask": "histogram", "columns": ["sex"]}}
    assert house.ann.post(f"/v1/runs/{run}/answers", fewer).status_code == 200


@pytest.mark.parametrize("door", ["runs", "runs/quotes"])
@pytest.mark.parametrize(
    "long", [{"columns": ["sex", "s" * 100]}, {"bins": {"s" * 100: [1, 2]}}], ids=["columns", "bins"]
)
def test_the_columns_of_a_run_have_the_limit_of_other_questions(started: Any, door: str, long: Any) -> None:
    """Each is read as an expression: a quote of very many long ones took eight seconds of a processor."""
    house = started(limits=Limits(sql=100))
    refused = house.ann.post(f"/v1/datasets/adult/{door}", RUN | long)
    assert (refused.status_code, refused.json()["code"]) == (413, "too-large")
