"""What is not there and what is not yours: same status, same bytes, as many statements of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail.ledger.kept_connections import KeptConnections
from dovetail.privacy import Budget
from dovetail.query import Schema
from dovetail.service import served_datasets
from dovetail.service.settings import DeclaredDataset

NOISE = {"kind": "piecewise-geometric", "rates": ["1/10"], "breaks": []}
COUNT = {"question": {"ask": "count"}, "pay": {"noise": NOISE}}
RUN = {"columns": ["sex"], "queries": 5, "base": "histogram", "updates": 0, "spend": {"epsilon": "0.1"}}
OF_A_DATASET: dict[str, tuple[str, str, Any]] = {
    "dataset": ("GET", "/v1/datasets/{}", None),
    "vintages": ("GET", "/v1/datasets/{}/vintages", None),
    "quote": ("POST", "/v1/datasets/{}/quotes", COUNT),
    "answer": ("POST", "/v1/datasets/{}/answers", COUNT),
    "quote of a plan": ("POST", "/v1/datasets/{}/plans/quotes", {"noise": NOISE, "queries": 2}),
    "plan": ("POST", "/v1/datasets/{}/plans", {"noise": NOISE, "queries": 2}),
    "quote of a run": ("POST", "/v1/datasets/{}/runs/quotes", RUN),
    "run": ("POST", "/v1/datasets/{}/runs", RUN),
    "plans": ("GET", "/v1/plans?dataset={}", None),
    "runs": ("GET", "/v1/runs?dataset={}", None),
}


@pytest.fixture
def house(started: Any, tmp_path: Path) -> Any:
    """Return a service with two datasets: ann and bob may ask about the first only, eve about none."""
    rows = tmp_path / "other.csv"
    rows.write_text("sex\nf\n")
    schema = 'schema = "dovetail.schema/1"\n[columns.sex]\ntype = "text"\nvalues = ["f", "m"]\n'
    other = DeclaredDataset("other", {"path": str(rows)}, Budget.pure(3), schema=Schema.from_toml(schema))
    return started(declared=(DeclaredDataset("adult", {"shipped": "adult"}, Budget.pure(3)), other))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Return what collects the statements that the ledger's connections run."""
    seen: list[str] = []
    take = KeptConnections.take

    def watched(self: KeptConnections) -> Any:
        connection = take(self)
        driver: Any = connection.connection.driver_connection
        driver.set_trace_callback(seen.append)
        return connection

    monkeypatch.setattr(KeptConnections, "take", watched)
    # Whether a setting has changed is asked twice a second, whoever asks what.
    monkeypatch.setattr(served_datasets, "_FRESH", 1e9)

    @contextmanager
    def collected() -> Iterator[list[str]]:
        seen.clear()
        found: list[str] = []
        yield found
        found += seen

    return collected


def both(
    desk: Any, counted: Any, request: tuple[str, str, Any], names: tuple[str, str]
) -> list[tuple[int, str, int]]:
    """Return status, text (without the name and the request's own id) and how many statements, for each."""
    method, path, body = request
    compared: list[tuple[int, str, int]] = []
    for name in (*names, *names):
        with counted() as statements:
            more = {} if body is None else {"json": _filled(body, name)}
            headers = {"Idempotency-Key": f"{path}-{len(compared)}"}
            given = desk.send(method, path.format(name), headers=headers, **more)
        text = given.text.replace(name, "…").replace(given.headers["x-request-id"], "…")
        compared.append((given.status_code, text, len(statements)))
    # The first two may have opened something; it is the second two that are compared.
    return compared[2:]


def _filled(body: Any, name: str) -> Any:
    if isinstance(body, dict):
        return {key: _filled(each, name) for key, each in body.items()}
    return name if body == "NAME" else body


@pytest.mark.parametrize("request_", OF_A_DATASET.values(), ids=OF_A_DATASET)
def test_a_dataset_that_is_not_granted_is_as_unknown_as_one_that_is_not_there(
    house: Any, counted: Any, request_: tuple[str, str, Any]
) -> None:
    for desk, forbidden in ((house.eve, "adult"), (house.eve, "other"), (house.ann, "other")):
        one, other = both(desk, counted, request_, (forbidden, "zebra"))
        assert one == other
        assert one[0] == 404
        assert one[2] > 0


def opened(house: Any) -> dict[str, str]:
    """Return identifiers of what belongs to bob: an answer, a plan and a run."""
    answer = house.bob.post("/v1/datasets/adult/answers", COUNT).json()["id"]
    plan = house.bob.post("/v1/datasets/adult/plans", {"noise": NOISE, "queries": 2}).json()["id"]
    run = house.bob.post("/v1/datasets/adult/runs", RUN).json()["id"]
    return {"answer": answer, "plan": plan, "run": run}


def test_what_belongs_to_another_is_as_unknown_as_what_was_never_made(house: Any, counted: Any) -> None:
    theirs = opened(house)
    by_plan = {"question": {"ask": "count"}, "pay": {"plan": "NAME"}}
    requests: dict[str, list[tuple[str, str, Any]]] = {
        "answer": [("GET", "/v1/answers/{}", None), ("GET", "/v1/answers?cursor={}", None)],
        "run": [("POST", "/v1/runs/{}/answers", {"question": {"ask": "count"}})],
        "plan": [
            ("POST", "/v1/datasets/adult/quotes", by_plan),
            ("POST", "/v1/datasets/adult/answers", by_plan),
        ],
    }
    for kind, identifier in theirs.items():
        never = "0" * len(identifier)
        for request_ in requests[kind]:
            one, other = both(house.ann, counted, request_, (identifier, never))
            assert one == other, (kind, request_)
            assert one[0] in (400, 404)
