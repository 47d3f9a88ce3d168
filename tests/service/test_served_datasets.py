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
from dovetail.errors import DataError
from dovetail.ledger import Entry
from dovetail.privacy import Charge
from dovetail.service import served_datasets
from dovetail.service.settings import DeclaredDataset, Settings


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


class Registry:
    """A registry, a clock and sessions in the hands of a test; what is opened is written down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.changed, self.broken = 1000.0, 1, False
        self.asked, self.opened, self.reported = list[float](), list[Any](), list[str]()
        self.listed = [self.entry(7), self.entry(8, source=None)]
        monkeypatch.setattr(served_datasets, "monotonic", lambda: self.now)
        monkeypatch.setattr(served_datasets, "opened_session", self.session)
        registry = self

        class Catalogue:
            @property
            def changed(self) -> int:
                registry.asked.append(registry.now)
                return registry.changed

            def entries(self) -> list[Any]:
                return registry.listed

        ledger: Any = SimpleNamespace(catalogue=Catalogue())
        roots = {"data": Path("/here"), "other": Path("/there")}
        self.settings = Settings("x.ledger", data_roots=roots, connections={"clinic": "postgresql://a@b/c"})
        self.held = served_datasets.ServedDatasets(ledger, self.settings, self.reported.append)

    @staticmethod
    def entry(number: int, name: str = "visits", **said: Any) -> Any:
        told = {"source": {"root": "data", "path": "a.csv"}, "unit": "person"} | said
        told = {name: each for name, each in told.items() if each is not None}
        return Entry(
            number, name, dv.Budget.pure(1), Charge.zero(), None, "own", "granted", None, False, told
        )

    def session(self, *given: Any) -> Any:
        if self.broken:
            raise DataError("unreadable")
        self.opened.append(given[-1])
        return SimpleNamespace(
            on_behalf_of=lambda name, pacing: (name, pacing, given[-1]), close=lambda: None
        )


def test_the_registry_is_asked_twice_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(monkeypatch)
    for registry.now in (1000.0, 1000.4, 1000.6, 1001.0, 1001.1):
        assert [each.entry.number for each in registry.held.all()] == [7]
    assert registry.asked == [1000.0, 1000.6, 1001.1]
    assert len(registry.opened) == 1
    registry.held.refresh(now=True)
    assert registry.asked[3:] == [1001.1]


def test_a_dataset_is_opened_again_only_where_something_about_its_rows_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = Registry(monkeypatch)
    held, first = registry.held, registry.held.find("visits")
    assert first is not None
    assert held.find("other") is None

    def again(entry: Any) -> Any:
        registry.listed, registry.now, registry.changed = [entry], registry.now + 1, registry.changed + 1
        (found,) = held.all()
        assert found.entry is entry
        return found

    assert again(Registry.entry(7, title="Eins")) is first
    before = first
    for change in (
        {"unit": "visit"},
        {"max_rows": 3},
        {"max_cells": 4},
        {"neighbours": "replace"},
        {"pacing": 2.0},
        {"vintages": {"jan": {"root": "other", "path": "jan.csv"}}},
        {"schema": 'schema = "dovetail.schema/1"\n[columns.ward]\ntype = "text"'},
        {"source": {"root": "other", "path": "a.csv"}},
        {"name": "census"},
    ):
        found = again(Registry.entry(7, **change))
        assert found is not before
        before = found
    assert held.find("census") is before
    assert held.find("visits") is None


def test_a_dataset_that_could_not_be_opened_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(monkeypatch)
    registry.broken = True
    (found,) = registry.held.all()
    with pytest.raises(DataError, match="cannot be read"):
        found.opened()
    assert registry.reported == ["data-error"]
    registry.broken = False
    registry.held.reload(registry.settings)
    (found,) = registry.held.all()
    assert found.opened() is found.session


def test_a_reload_opens_what_lies_elsewhere_now(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(monkeypatch)
    months = {"jan": {"root": "other", "path": "jan.csv"}, "feb": {"connection": "clinic", "table": "feb"}}
    registry.listed = [Registry.entry(7, vintages=months)]
    (first,) = registry.held.all()
    registry.held.reload(replace(registry.settings, data_roots=dict(registry.settings.data_roots)))
    assert registry.held.all() == [first]
    for change in (
        {"data_roots": {"data": Path("/here"), "other": Path("/elsewhere")}},
        {"connections": {"clinic": "postgresql://a@b/d"}},
    ):
        registry.held.reload(replace(registry.settings, **change))
        assert registry.held.all() != [first]
        (first,) = registry.held.all()


def test_each_analyst_has_a_session_for_each_choice_of_vintages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_datasets, "_MOST_SESSIONS", 4)
    monkeypatch.setattr(served_datasets, "_MOST_VINTAGES", 2)
    registry = Registry(monkeypatch)
    registry.listed = [Registry.entry(7, pacing=2.0)]
    (served,) = registry.held.all()
    served.open_about = lambda vintages: registry.session(vintages)
    ann, bob = (
        SimpleNamespace(principal=SimpleNamespace(id=n), name=name) for n, name in ((1, "ann"), (2, "bob"))
    )
    assert served.session_of(ann) == ("ann", 2.0, ())  # type: ignore[arg-type,comparison-overlap]
    assert served.session_of(bob, ("jan",)) == ("bob", 2.0, ("jan",))  # type: ignore[arg-type,comparison-overlap]
    assert served.session_of(ann, ("jan",)) == ("ann", 2.0, ("jan",))  # type: ignore[arg-type,comparison-overlap]
    assert served.session_of(ann) is served.session_of(ann)  # type: ignore[arg-type]
    assert registry.opened == [(), ("jan",)]
    assert len(served.sessions) == 3
    served.session_of(ann, ("feb",))  # type: ignore[arg-type]
    assert (len(served.sessions), len(served.by_vintages)) == (4, 2)
    served.session_of(ann, ("mar",))  # type: ignore[arg-type]
    assert (len(served.sessions), len(served.by_vintages)) == (1, 1)


def test_vintages_of_one_place_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    monkeypatch.setattr(served_datasets, "opened_sources", lambda places, *_: read.append(places))
    monkeypatch.setattr(served_datasets, "Session", lambda _source, **told: told)
    here, there = {"path": "/here"}, {"path": "/there"}
    said = {"source": here, "vintages": {"jan": there, "feb": there}, "unit": "person"}
    told: Any = {}
    for vintages in ((), ("jan",), ("jan", "feb"), ("mar", "jan"), ("mar",)):
        told = served_datasets.opened_session("x", said, dv.Schema(), None, None, vintages)  # type: ignore[arg-type]
    assert read == [[here], [there], [there], [here, there], [here]]
    assert (told["unit"], told["neighbours"], told["vintage"]) == ("person", "add-remove", ("mar",))


def test_no_more_runs_are_kept_than_said(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_datasets, "_MOST_RUNS", 2)
    served, caller = house.app.service.served.find("adult"), SimpleNamespace(principal=SimpleNamespace(id=1))
    for name in "abc":
        served.keep_run(caller, name, None)
    assert list(served.runs) == [(1, "b"), (1, "c")]
    served.runs.clear()


def test_vintages_are_looked_up_before_their_places_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker may have declared one a moment ago, and one that nobody declared has no rows."""
    registry = Registry(monkeypatch)
    (served,) = registry.held.all()
    said, asked = dict(registry.listed[0].said), list[Any]()
    places = {"jan": {"root": "other", "path": "jan.csv"}}

    def about(*vintages: str) -> None:
        asked.append(vintages)
        if vintages != ("jan",):
            raise DataError("undeclared")

    catalogue = registry.held._ledger.catalogue
    monkeypatch.setattr(
        type(catalogue), "account", lambda _self, _name: SimpleNamespace(about=about), raising=False
    )
    entry = SimpleNamespace(said=said | {"vintages": places})
    monkeypatch.setattr(type(catalogue), "entry", lambda _self, _name: entry, raising=False)
    read: list[Any] = []
    monkeypatch.setattr(served_datasets, "opened_session", lambda _name, told, *_rest: read.append(told))
    served.open_about(("jan",))
    assert read == [said | {"vintages": places}]
    with pytest.raises(DataError, match="undeclared"):
        served.open_about(("mar",))
    assert asked == [("jan",), ("mar",)]
