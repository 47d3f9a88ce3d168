"""The datasets of a process follow the registry, which other processes change too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

import dovetail as dv
from dovetail.service import served_datasets
from dovetail.service.settings import DeclaredDataset


def test_what_another_worker_changes_is_seen(
    house: Any, second: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_datasets, "_FRESH", 0.0)
    assert house.ann.get("/v1/datasets/adult").status_code == 200
    assert second.send("PATCH", "/v1/datasets/adult", json={"name": "census"}).status_code == 200
    assert house.ann.get("/v1/datasets/census").status_code == 200
    assert house.ann.get("/v1/datasets/adult").status_code == 404
    assert second.send("PATCH", "/v1/datasets/census", json={"retired": True}).status_code == 200
    body = {"question": {"ask": "count"}, "pay": {"within": 10}}
    assert house.ann.post("/v1/datasets/census/quotes", body).status_code == 409


def test_the_registry_is_asked_once_in_a_while_and_read_when_it_has_changed(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, now = house.app.service.served, [1000.0]
    read: list[float] = []
    entries = house.ledger.catalogue.entries
    monkeypatch.setattr(served_datasets, "monotonic", lambda: now[0])
    monkeypatch.setattr(type(house.ledger.catalogue), "entries", lambda _: read.append(now[0]) or entries())
    held.refresh()
    now[0] += 0.6
    held.refresh()
    assert read == []
    house.carl.send("PATCH", "/v1/datasets/adult", json={"name": "census"})
    now[0] += 0.6
    held.refresh()
    assert read


def test_a_service_that_closes_lets_go_of_all_rows(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    held, closed = house.app.service.served, list[Any]()
    served = held.find("adult")
    served.by_vintages["2026",] = whole = object.__new__(dv.Session)
    with monkeypatch.context() as patch:
        patch.setattr(dv.Session, "close", lambda session: closed.append(session))
        held.close()
    served.by_vintages.clear()
    assert closed == [whole, served.session]


def test_many_runs_are_kept_at_once_and_the_oldest_are_let_go(house: Any) -> None:
    served, caller = house.app.service.served.find("adult"), SimpleNamespace(principal=SimpleNamespace(id=1))

    class Slow(dict[Any, Any]):
        """Lets others in between finding the oldest and letting it go."""

        def __iter__(self) -> Any:
            oldest = super().__iter__()
            sleep(0.001)
            return oldest

    served.runs = Slow()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: served.keep_run(caller, str(number), None), range(64)))
    assert len(served.runs) == served_datasets._MOST_RUNS
    served.runs.clear()


def test_a_reload_reads_where_the_settings_say_now_and_never_other_rows(started: Any, tmp_path: Path) -> None:
    for name, number in (("before", 4), ("other", 7)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "visits.csv").write_text("ward\n" + "eyes\n" * number)
    (tmp_path / "linked").symlink_to(tmp_path / "before")
    schema = dv.Schema([dv.Column("ward", "text", values=["eyes", "heart"])])
    place = {"root": "data", "path": "visits.csv"}
    declared = DeclaredDataset("visits", place, dv.Budget.pure(3), schema=schema)
    house = started(declared=(declared,), data_roots={"data": tmp_path / "before"})
    service = house.app.service
    body = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.1"}}}
    opened, statuses = [service.served.find("visits")], []
    for roots in ({"data": "before"}, {"data": "linked"}, {"data": "other"}, {}, {"data": "before"}):
        said = {name: tmp_path / folder for name, folder in roots.items()}
        service.reload(replace(house.settings, data_roots=said))
        opened.append(service.served.find("visits"))
        statuses.append(house.ann.post("/v1/datasets/visits/answers", body).status_code)
    assert [one is other for one, other in pairwise(opened)] == [True, False, False, False, False]
    assert statuses == [200, 200, 503, 503, 200]
