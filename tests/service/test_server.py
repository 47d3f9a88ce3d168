"""Real processes: start and stop, several workers, a worker that dies, a ledger on a server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.ledger import Ledger
from kill_campaign import Campaign
from running_service import Running, analyst, configured


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def start(*words: str) -> Running:
        running.append(Running(tmp_path, list(words)))
        return running[-1]

    yield start
    for each in running:
        each.stop()


def test_a_service_starts_answers_reloads_and_stops(run: Any, tmp_path: Path) -> None:
    service = run("adult", "--budget", "epsilon=3", "--ledger", "a.ledger")
    key = analyst(service, service.key, "1")
    body = {"question": {"ask": "count"}, "pay": {"within": 10}}
    first = service.ask("POST", "/v1/datasets/adult/answers", key, body)
    assert first.status_code == 200
    service.process.send_signal(signal.SIGHUP)
    assert service.ask("GET", "/v1/me", key).status_code == 200
    assert service.stop() in (0, -signal.SIGTERM)
    said = service.output.read_text() + service.errors.read_text()
    assert "Traceback" not in said
    again = run("adult", "--ledger", "a.ledger")
    assert "Curator key" not in again.output.read_text()
    stored = again.ask("POST", "/v1/datasets/adult/answers", key, body).json()
    assert stored["stored"] is True
    assert stored["answers"][0]["rows"] == first.json()["answers"][0]["rows"]


def test_a_file_without_a_schema_waits_for_its_curator(run: Any, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{20 + n % 50}\n" for n in range(300)))
    (tmp_path / "secret.csv").write_text("age\n1\n")
    service = run("people.csv", "--budget", "epsilon=3,delta=1e-6")
    key = service.key
    assert "people has no schema yet" in service.output.read_text()
    said = service.ask("GET", "/v1/sources", key).json()
    first = said["first"]
    assert (first["name"], first["budget"]["epsilon"]) == ("people", "3")
    assert "secret.csv" not in json.dumps(said)
    column = service.ask("POST", "/v1/drafts", key, {"source": first["source"]}).json()["columns"][0]
    age = column | {"low": "0", "high": "120", "reviewed": True}
    made = {name: first[name] for name in ("name", "source", "budget")} | {"schema": {"columns": [age]}}
    assert service.ask("POST", "/v1/datasets", key, made).status_code == 201
    assert service.ask("GET", "/v1/sources", key).json()["first"] is None
    service.stop()
    again = run("people.csv")
    assert again.ask("GET", "/v1/sources", key).json()["first"] is None
    assert again.ask("GET", "/v1/datasets/people", key).json()["schema"]["columns"][0]["high"] == "120"


def test_a_difference_to_the_record_stops_the_start(run: Any, tmp_path: Path) -> None:
    run("adult", "--budget", "epsilon=3", "--ledger", "a.ledger").stop()
    with pytest.raises(AssertionError, match="differ in budget"):
        run("adult", "--budget", "epsilon=4", "--ledger", "a.ledger")


def test_another_address_needs_tls_or_a_proxy(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "dovetail",
        "serve",
        "adult",
        "--budget",
        "epsilon=3",
        "--host",
        "0.0.0.0",
    ]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "sent unencrypted" in refused.stderr


def race(service: Running, key: str, clients: int) -> list[int]:
    """Let many ask for the last unit at once; return the statuses."""

    def ask(number: int) -> int:
        body = {
            "question": {"ask": "count", "where": f"age > {number}"},
            "pay": {"spend": {"epsilon": "0.2"}},
        }
        return int(service.ask("POST", "/v1/datasets/adult/answers", key, body).status_code)

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(ask, range(clients)))


@pytest.mark.slow
def test_one_of_a_hundred_wins_the_last_unit_of_four_workers(run: Any, tmp_path: Path) -> None:
    service = run("adult", "--budget", "epsilon=3", "--ledger", "a.ledger", "--workers", "4")
    found = race(service, analyst(service, service.key, "0.2"), 100)
    assert found.count(200) == 1
    assert set(found) <= {200, 409, 503}
    service.stop()
    with Ledger.open(tmp_path / "a.ledger") as ledger:
        assert ledger.account("adult").spent() == dv.Charge.approximate("0.2")
        ledger.verify()


@pytest.mark.slow
def test_workers_share_a_ledger_on_a_server(run: Any, postgres_url: str) -> None:
    service = run("adult", "--budget", "epsilon=3", "--ledger", postgres_url, "--workers", "2")
    curator = service.key
    found = race(service, analyst(service, curator, "0.2"), 30)
    assert found.count(200) == 1
    assert set(found) <= {200, 409, 503}
    assert service.ask("GET", "/v1/verify", curator).json()["ok"] is True
    assert service.stop() in (0, -signal.SIGTERM)


@pytest.mark.slow
def test_workers_that_die_under_load_lose_nothing_that_was_shown(run: Any, tmp_path: Path) -> None:
    """Two cycles of the campaign of `tests/faults`."""
    service = run(*configured(tmp_path, "a.ledger", workers=2, lease=2))
    campaign = Campaign(service, str(tmp_path / "a.ledger"))
    for _ in range(2):
        campaign.cycle(campaign.kill_a_worker)
    campaign.end()
