"""A service in this process: the Adult data, a curator, two analysts with allotments, an auditor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import dovetail as dv
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.service.app import create_app
from dovetail.service.registration import seed
from dovetail.service.settings import DeclaredDataset, Settings
from http_replies import check_reply

ADULT = DeclaredDataset("adult", {"shipped": "adult"}, Budget.pure(3), about={"title": "Adult census"})
_numbers = count()


@dataclass
class Desk:
    """One person at the service."""

    client: TestClient
    key: str | None
    id: str = ""
    name: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **more: Any) -> Any:
        return self._send("GET", path, **more)

    def post(self, path: str, json: Any = None, *, key: str | None = "", **more: Any) -> Any:
        """Send a body; each request has an Idempotency-Key of its own unless another is given."""
        headers = dict(more.pop("headers", {}))
        if key is not None:
            headers["Idempotency-Key"] = key or f"test-{next(_numbers)}"
        return self._send("POST", path, json=json, headers=headers, **more)

    def send(self, method: str, path: str, **more: Any) -> Any:
        return self._send(method, path, **more)

    def _send(self, method: str, path: str, **more: Any) -> Any:
        headers = self.headers | dict(more.pop("headers", {}))
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        given = self.client.request(method, path, headers=headers, **more)
        media = given.headers.get("content-type", "")
        body = given.json() if given.content and "json" in media else None
        # Every reply in these tests is one that the OpenAPI describes.
        check_reply(method, path, given.status_code, media, body)
        return given


@dataclass
class House:
    """A running service and whom it knows."""

    settings: Settings
    ledger: Ledger
    client: TestClient
    people: dict[str, Desk]
    app: Any

    def filled(self, body: Any) -> Any:
        """Return an example with the id of a person in it."""
        return {name: self.people["ann"].id if value == "PERSON" else value for name, value in body.items()}

    def __getattr__(self, name: str) -> Desk:
        if name not in self.people:
            raise AttributeError(name)
        return self.people[name]


def open_house(folder: Path, *, declared: tuple[DeclaredDataset, ...] = (ADULT,), **more: Any) -> House:
    """Start a service; `ann` and `bob` are granted epsilon 1 each of the first dataset."""
    ledger = Ledger.create(folder / "service.ledger")
    known = tuple(map(_with_schema, declared))
    settings = Settings(str(folder / "service.ledger"), datasets=known, cookie_secret=b"s" * 32, **more)
    seed(settings, ledger)
    app = create_app(settings, ledger)
    client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
    people = {"nobody": Desk(client, None)}
    for name, role in (
        ("carl", "curator"),
        ("ann", "analyst"),
        ("bob", "analyst"),
        ("eve", "analyst"),
        ("aud", "auditor"),
    ):
        made = ledger.people.add(name, role)
        people[name] = Desk(client, ledger.people.make_key(name).text, made.public, name)
    for name in ("ann", "bob"):
        ledger.people.grant(name, declared[0].name, Budget.pure(1))
    return House(settings, ledger, client, people, app)


def _with_schema(declared: DeclaredDataset) -> DeclaredDataset:
    """Return what is declared; data that ship have a schema of their own."""
    shipped = dv.datasets.adult().schema
    return replace(declared, schema=shipped) if "shipped" in declared.source and shipped else declared


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = open_house(tmp_path)
    with made.client:
        yield made


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., House]]:
    """Return what starts a service with other settings."""
    made: list[House] = []

    def start(**more: Any) -> House:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(open_house(folder, **more))
        made[-1].client.__enter__()
        return made[-1]

    yield start
    for each in made:
        each.client.__exit__(None, None, None)


@pytest.fixture(scope="session")
def opened() -> Callable[..., House]:
    """Return what starts a service in a folder."""
    return open_house


@pytest.fixture
def second(house: House) -> Iterator[Desk]:
    """Return the curator of the house at another worker: another process would share the ledger alone."""
    ledger = Ledger.open(house.settings.ledger)
    app = create_app(house.settings, ledger)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield replace(house.carl, client=client)
