"""Vintages over HTTP: curators declare them, and a charge goes where the library puts it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.engines.aggregation import true_cells
from dovetail.ledger import Ledger
from dovetail.online.occupied_cells import OccupiedCells
from dovetail.privacy import Budget
from dovetail.service.settings import DeclaredDataset

SCHEMA = dv.Schema([dv.Column("ward", "text", values=["eyes", "heart"])])
LABELS = ("January", "February")
SUBSETS: tuple[tuple[str, ...], ...] = (("January",), ("February",), LABELS, ())
PRICES = dict(zip(SUBSETS, ("0.1", "0.2", "0.4", "0.8"), strict=True))
BUDGETS = {"pure": Budget.pure(3), "approximate": Budget.approximate(3, "1e-6")}
COMPLETE = ((False, False), (True, False), (True, True))
CASES = list(product(BUDGETS, (False, True), COMPLETE))
COUNT = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.1"}}}


def rows(folder: Path, name: str) -> tuple[Path, Path]:
    """Write two months of visits."""
    found = []
    for label, number in zip(LABELS, (4, 7), strict=True):
        place = folder / f"{name}-{label}.csv"
        place.write_text("ward\n" + "eyes\n" * number + "heart\n")
        found.append(place)
    return found[0], found[1]


@pytest.fixture
def clinic(started: Any, tmp_path: Path) -> Any:
    """Return a service with one dataset of two months."""
    root = tmp_path / "data"
    root.mkdir()
    first, _ = rows(root, "visits")
    declared = DeclaredDataset("visits", {"path": str(first)}, Budget.pure(3), schema=SCHEMA)
    return started(declared=(declared,), data_roots={"data": root})


def declare(house: Any, name: str, label: str, **more: Any) -> Any:
    source = {"root": "data", "path": f"{name}-{label}.csv"}
    return house.carl.post(f"/v1/datasets/{name}/vintages", {"label": label, "source": source} | more)


def test_the_place_of_a_vintage_outlives_a_change_by_a_worker_that_has_not_heard_of_it(
    clinic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.service.served_datasets._FRESH", 3600)
    place = {"root": "data", "path": "visits-February.csv"}
    with Ledger.open(clinic.ledger.place) as another_worker:
        another_worker.catalogue.amend("visits", lambda said: {**said, "vintages": {"February": place}})
    assert clinic.carl.send("PATCH", "/v1/datasets/visits", json={"title": "Visits"}).status_code == 200
    said = clinic.ledger.catalogue.entry("visits").said
    assert (said["title"], said["vintages"]) == ("Visits", {"February": place})


@pytest.fixture
def rich(clinic: Any) -> Any:
    """Return the service with an analyst who can pay for answers that are nearly exact."""
    clinic.ledger.set_budget("visits", Budget.pure(200), reason="a test")
    clinic.ledger.people.grant("ann", "visits", Budget.pure(200))
    return clinic


def nearly_exact(house: Any, label: str) -> int:
    body = COUNT | {"vintages": [label], "pay": {"spend": {"epsilon": "60"}}}
    given = house.ann.post("/v1/datasets/visits/answers", body)
    assert given.status_code == 200, given.text
    return int(given.json()["answers"][0]["released"][0][0])


@pytest.mark.parametrize("label", ["fe\u0301vrier", "f\u00e9vrier"], ids=["decomposed", "composed"])
@pytest.mark.parametrize("declared", ["fe\u0301vrier", "f\u00e9vrier"], ids=["decomposed", "composed"])
def test_no_spelling_of_a_label_leads_to_the_rows_of_another_vintage(
    rich: Any, declared: str, label: str
) -> None:
    source = {"root": "data", "path": "visits-February.csv"}
    made = rich.carl.post("/v1/datasets/visits/vintages", {"label": declared, "source": source})
    assert (made.status_code, made.json()["label"]) == (201, "f\u00e9vrier")
    assert nearly_exact(rich, label) == 8


@pytest.mark.parametrize("early", [False, True])
def test_a_worker_that_has_not_heard_of_a_new_vintage_reads_its_own_rows(
    rich: Any, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    monkeypatch.setattr("dovetail.service.served_datasets._FRESH", 3600)
    if early:
        refused = rich.ann.post("/v1/datasets/visits/quotes", COUNT | {"vintages": ["February"]})
        assert (refused.status_code, refused.json()["parameter"]) == (400, "vintage")
    place = {"root": "data", "path": "visits-February.csv"}
    with Ledger.open(rich.ledger.place) as another_worker:
        another_worker.catalogue.declare_vintage(
            "visits", "February", lambda said: {**said, "vintages": {"February": place}}
        )
    assert nearly_exact(rich, "February") == 8


def test_a_name_that_is_refused_leaves_vintages_as_they_were(clinic: Any) -> None:
    clinic.ledger.account("taken", budget=Budget.pure(1))
    body = {"disjoint": True, "name": "taken"}
    assert clinic.carl.send("PATCH", "/v1/datasets/visits", json=body).status_code == 400
    assert clinic.carl.get("/v1/datasets/visits/vintages").json()["disjoint"] is False
    assert clinic.carl.send("PATCH", "/v1/datasets/visits", json=body | {"name": "free"}).status_code == 200
    assert clinic.carl.get("/v1/datasets/free/vintages").json()["disjoint"] is True


def test_a_version_that_is_refused_leaves_no_vintage_and_completes_none(clinic: Any) -> None:
    """Both are for good: a vintage is never taken back, and a complete one is not opened again."""
    assert (
        clinic.carl.post("/v1/datasets/visits/vintages", {"label": "May", "version": "\t"}).status_code == 400
    )
    assert clinic.carl.get("/v1/datasets/visits/vintages").json()["vintages"] == []
    declare(clinic, "visits", "January")
    body = {"complete": True, "version": ""}
    assert clinic.carl.send("PATCH", "/v1/datasets/visits/vintages/January", json=body).status_code == 400
    (january,) = clinic.carl.get("/v1/datasets/visits/vintages").json()["vintages"]
    assert not january["complete"]


def test_a_disjoint_dataset_says_how_a_vintage_is_named(clinic: Any) -> None:
    assert declare(clinic, "visits", "January", complete=True).status_code == 201
    assert clinic.carl.send("PATCH", "/v1/datasets/visits", json={"disjoint": True}).status_code == 200
    refused = clinic.ann.post("/v1/datasets/visits/answers", COUNT)
    assert refused.status_code == 400
    assert refused.json()["fix"] == ['Give "vintages": ["2026-01"].']


def test_a_curator_declares_and_an_analyst_asks_about_one_or_several(clinic: Any) -> None:
    for label in LABELS:
        assert declare(clinic, "visits", label, complete=True).status_code == 201
    assert clinic.ann.get("/v1/datasets/visits").json()["vintages"] == list(LABELS)
    counts = []
    for chosen in SUBSETS[:3]:
        body = COUNT | {"vintages": list(chosen), "pay": {"spend": {"epsilon": "0.3"}}}
        quoted = clinic.ann.post("/v1/datasets/visits/quotes", body).json()
        assert quoted["vintages"] == list(chosen)
        given = clinic.ann.post("/v1/datasets/visits/answers", body | {"quote": quoted["digest"]})
        assert given.status_code == 200, given.text
        assert given.json()["answers"][0]["vintages"] == list(chosen)
        assert given.json()["price"] == quoted["price"]
        counts.append(given.json()["answers"][0]["released"])
        (line, *_) = clinic.ann.get("/v1/answers").json()["answers"]
        assert line["vintages"] == list(chosen)
        again = clinic.ann.get(f"/v1/answers/{line['id']}").json()["answers"][0]
        assert (again["vintages"], again["released"]) == (list(chosen), counts[-1])
    listed = clinic.ann.get("/v1/datasets/visits/vintages").json()
    assert [each["label"] for each in listed["vintages"]] == list(LABELS)
    assert listed["disjoint"] is False


def test_vintages_in_another_order_are_the_same_question_and_free(clinic: Any) -> None:
    for label in LABELS:
        declare(clinic, "visits", label)
    replies = []
    for chosen in (LABELS, LABELS[::-1], (*LABELS, LABELS[0])):
        body = COUNT | {"vintages": list(chosen)}
        assert (clinic.ann.post("/v1/datasets/visits/quotes", body).json()["stored"] is None) == (not replies)
        replies.append(clinic.ann.post("/v1/datasets/visits/answers", body).json())
    assert [each["stored"] for each in replies] == [False, True, True]
    assert len({str(each["answers"][0]["released"]) for each in replies}) == 1


def test_a_plan_says_which_vintages_it_is_for(clinic: Any) -> None:
    for label in LABELS:
        declare(clinic, "visits", label)
    noise = {"kind": "piecewise-geometric", "rates": ["1/20"], "breaks": []}
    body = {"noise": noise, "queries": 2}
    place = "/v1/datasets/visits/plans"
    for chosen in SUBSETS:
        asked = body | {"vintages": list(chosen), "name": str(len(chosen)) + "".join(chosen)}
        assert clinic.ann.post(f"{place}/quotes", asked).json()["vintages"] == list(chosen)
        assert clinic.ann.post(place, asked).json()["vintages"] == list(chosen)
    listed = clinic.ann.get("/v1/plans?dataset=visits").json()["plans"]
    assert sorted(tuple(each["vintages"]) for each in listed) == sorted(SUBSETS)


def test_each_vintage_is_asked_on_its_own_rows(clinic: Any) -> None:
    for label in LABELS:
        declare(clinic, "visits", label)
    found = {}
    for chosen in SUBSETS[:3]:
        session = clinic.app.service.served.find("visits").open_about(chosen)
        question = dv.Count().checked(session._table)
        found[chosen] = [list(map(int, cell)) for cell in true_cells(session._engine, question, b"")]
        session.close()
    assert found == {("January",): [[5]], ("February",): [[8]], LABELS: [[13]]}


def test_only_a_curator_declares(clinic: Any) -> None:
    path, body = "/v1/datasets/visits/vintages", {"label": "March"}
    assert clinic.ann.post(path, body).status_code == 403
    assert clinic.aud.post(path, body).status_code == 403
    assert clinic.eve.get(path).status_code == 404
    assert clinic.ann.send("PATCH", path + "/March", json={"complete": True}).status_code == 403
    assert clinic.ann.send("PATCH", "/v1/datasets/visits", json={"disjoint": True}).status_code == 403
    assert clinic.carl.get(path).json()["vintages"] == []


def test_what_was_not_declared_or_lies_elsewhere_is_refused(clinic: Any, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("ward\neyes\n")
    path = "/v1/datasets/visits/vintages"
    for source in ({"path": str(tmp_path / "other.csv")}, {"root": "data", "path": "../other.csv"}):
        assert clinic.carl.post(path, {"label": "March", "source": source}).status_code == 400
    assert clinic.carl.get(path).json()["vintages"] == []
    assert declare(clinic, "visits", "January").status_code == 201
    assert declare(clinic, "visits", "January").status_code == 400
    refused = clinic.ann.post("/v1/datasets/visits/quotes", COUNT | {"vintages": ["March"]})
    assert (refused.status_code, refused.json()["parameter"]) == (400, "vintage")
    assert clinic.carl.send("PATCH", path + "/March", json={"complete": True}).status_code == 404


def test_a_vintage_is_completed_and_changes_its_version(clinic: Any) -> None:
    declare(clinic, "visits", "January", version="first")
    asked = COUNT | {"vintages": ["January"]}
    clinic.ann.post("/v1/datasets/visits/answers", asked)
    changed = clinic.carl.send(
        "PATCH", "/v1/datasets/visits/vintages/January", json={"complete": True, "version": "second"}
    ).json()
    assert (changed["complete"], changed["version"]) == (True, "second")
    assert clinic.ann.post("/v1/datasets/visits/quotes", asked).json()["stored"]["stale"] is True
    clinic.ledger.verify()


def test_a_quote_of_one_vintage_is_none_of_another(clinic: Any) -> None:
    for label in LABELS:
        declare(clinic, "visits", label)
    quoted = clinic.ann.post("/v1/datasets/visits/quotes", COUNT | {"vintages": ["January"]}).json()
    body = COUNT | {"vintages": ["February"], "quote": quoted["digest"]}
    refused = clinic.ann.post("/v1/datasets/visits/answers", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "quote-changed")


def test_a_plan_is_for_the_vintages_that_it_was_opened_for(clinic: Any) -> None:
    for label in LABELS:
        declare(clinic, "visits", label)
    noise = {"kind": "piecewise-geometric", "rates": ["1/10"], "breaks": []}
    wish = {"noise": noise, "queries": 2, "vintages": ["January"]}
    plan = clinic.ann.post("/v1/datasets/visits/plans", wish).json()["id"]
    asked = {"question": {"ask": "count"}, "pay": {"plan": plan}}
    answers = "/v1/datasets/visits/answers"
    assert clinic.ann.post(answers, asked | {"vintages": ["January"]}).status_code == 200
    assert clinic.ann.post(answers, asked | {"vintages": ["February"]}).status_code == 400


RUN = {"columns": ["ward"], "queries": 5, "base": "histogram", "updates": 0, "spend": {"epsilon": "0.25"}}


def test_a_run_is_about_the_vintages_that_it_was_opened_for(clinic: Any) -> None:
    """Also where both months are read from one file, and after a restart of the run."""
    clinic.ledger.account("visits").declare_disjoint()
    for label in LABELS:
        assert clinic.carl.post("/v1/datasets/visits/vintages", {"label": label}).status_code == 201
    found = {}
    for chosen in SUBSETS[:3]:
        wish = RUN | {"vintages": list(chosen)}
        quoted = clinic.ann.post("/v1/datasets/visits/runs/quotes", wish).json()
        opened = clinic.ann.post("/v1/datasets/visits/runs", wish)
        assert opened.status_code == 201, opened.text
        assert quoted["vintages"] == opened.json()["vintages"] == list(chosen)
        assert quoted["price"] == opened.json()["price"]
        again = clinic.ann.post("/v1/datasets/visits/runs", wish).json()
        assert again["id"] == opened.json()["id"]
        found[chosen] = opened.json()["id"]
    assert len(set(found.values())) == 3
    # Each vintage bears its own run and the one about both.
    listed = clinic.carl.get("/v1/datasets/visits/vintages").json()["vintages"]
    assert [each["all"]["spent"]["epsilon"] for each in listed] == ["0.5", "0.5"]
    clinic.app.service.served.find("visits").runs.clear()
    for chosen, run in found.items():
        asked = {"question": {"ask": "count"}}
        first = clinic.ann.post(f"/v1/runs/{run}/answers", asked)
        assert first.status_code == 200, first.text
        assert first.json()["answers"][0]["vintages"] == list(chosen)
        assert clinic.bob.post(f"/v1/runs/{run}/answers", asked).status_code == 404
    shown = clinic.ann.get("/v1/runs").json()["runs"]
    assert [each["vintages"] for each in shown] == [list(chosen) for chosen in found]
    clinic.ledger.verify()


def test_a_run_reads_the_rows_of_its_vintages(clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read, seen = OccupiedCells.read, list[int]()

    def noted(*given: Any) -> OccupiedCells:
        found = read(*given)
        seen.append(int(found.counts.sum()))
        return found

    monkeypatch.setattr(OccupiedCells, "read", noted)
    for label in LABELS:
        declare(clinic, "visits", label)
    for chosen in SUBSETS[:3]:
        opened = clinic.ann.post("/v1/datasets/visits/runs", RUN | {"vintages": list(chosen)})
        assert opened.status_code == 201, opened.text
    assert seen == [5, 8, 13]
    refused = clinic.ann.post("/v1/datasets/visits/runs", RUN | {"vintages": ["March"]})
    assert (refused.status_code, refused.json()["parameter"]) == (400, "vintage")


def twin(folder: Path, name: str, budget: Budget, first: Path) -> Ledger:
    """Return a ledger in which the library does the same without a service."""
    ledger = Ledger.create(folder / f"{name}.ledger")
    dv.Session(first, name=name, ledger=ledger, budget=budget, schema=SCHEMA).close()
    ledger.account(name, budget=budget, protects="a row added or removed")
    return ledger


@pytest.fixture
def enumerated(started: Any, tmp_path: Path) -> Iterator[tuple[Any, dict[str, Ledger]]]:
    """Return a service with a dataset for each case, and the library's ledger of each."""
    root, twins, declared = tmp_path / "data", {}, []
    root.mkdir()
    for number, (currency, *_) in enumerate(CASES):
        name, budget = f"d{number}", BUDGETS[currency]
        first, _ = rows(root, name)
        declared.append(DeclaredDataset(name, {"path": str(first)}, budget, schema=SCHEMA))
        twins[name] = twin(tmp_path, name, budget, first)
    house = started(declared=tuple(declared), data_roots={"data": root})
    for each in declared:
        assert each.budget is not None
        house.ledger.people.grant("ann", each.name, each.budget)
    yield house, twins
    for ledger in twins.values():
        ledger.close()


def test_a_charge_goes_where_the_library_puts_it(enumerated: Any, tmp_path: Path) -> None:
    """Every budget, shared or disjoint, open or complete vintages, and every choice of them.

    No two choices pay the same, nor do any two sums of choices: what a vintage has borne tells which it was.
    """
    house, twins = enumerated
    for number, (currency, disjoint, complete) in enumerate(CASES):
        name = f"d{number}"
        account = twins[name].account(name)
        if disjoint:
            assert (
                house.carl.send("PATCH", f"/v1/datasets/{name}", json={"disjoint": True}).status_code == 200
            )
            account.declare_disjoint()
        for label, whole in zip(LABELS, complete, strict=True):
            assert declare(house, name, label, complete=whole).status_code == 201
            account.declare_vintage(label, complete=whole)
        for chosen, epsilon in PRICES.items():
            body = COUNT | {"vintages": list(chosen), "pay": {"spend": {"epsilon": epsilon}}}
            given = house.ann.post(f"/v1/datasets/{name}/answers", body)
            assert given.status_code == (400 if disjoint and not chosen else 200), given.text
            if given.status_code == 200:
                _ask(twins[name], name, chosen, epsilon, tmp_path)
        _compare(house, account, name, (currency, disjoint, complete))


def _ask(ledger: Ledger, name: str, chosen: tuple[str, ...], epsilon: str, folder: Path) -> None:
    """Ask the library the same question."""
    files = [folder / "data" / f"{name}-{label}.csv" for label in chosen or LABELS[:1]]
    data: Any = files[0] if len(files) == 1 else files
    with dv.Session(data, name=name, ledger=ledger, schema=SCHEMA, vintage=chosen) as session:
        session.count(spend=Budget.pure(epsilon))


def _compare(house: Any, account: Any, name: str, case: Any) -> None:
    listed = house.carl.get(f"/v1/datasets/{name}/vintages").json()["vintages"]
    for vintage in listed:
        budget, spent = account.position([vintage["label"]])
        shown = vintage["all"]
        assert shown["spent"]["epsilon"] == spent.to_dict()["epsilon"], (case, vintage["label"])
        assert shown["spent"]["delta"] == spent.to_dict()["delta"], (case, vintage["label"])
        assert shown["remaining"] == budget.remaining(spent).to_dict(), (case, vintage["label"])
        mine = house.ann.get(f"/v1/datasets/{name}?vintage={vintage['label']}").json()["mine"]
        assert mine["spent"] == shown["spent"], (case, vintage["label"])
    whole = house.carl.get(f"/v1/datasets/{name}").json()["all"]
    assert whole["spent"]["epsilon"] == account.spent().to_dict()["epsilon"], case
