"""SIGHUP: what the file says now holds on every worker, or, after a mistake, what held before."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from dovetail.errors import DataError
from dovetail.ledger import Ledger
from dovetail.service.reloading import Renewal, reload
from dovetail.service.settings import Limits, Settings
from running_service import PATIENCE, Running, analyst


def written(folder: Path, *, service: str = "", limits: str = "", dataset: str = "") -> list[str]:
    """Write a file of settings; return the words that start a service with it."""
    (folder / "service.toml").write_text(
        f'[service]\nledger = "a.ledger"\n{service}\n[limits]\nrate = "100000/second"\n{limits}\n'
        f'[datasets.adult]\nsource = "adult"\nbudget = {{ epsilon = "3" }}\n{dataset}\n'
    )
    return ["--config", "service.toml"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def start(words: list[str]) -> Running:
        running.append(Running(tmp_path, words))
        return running[-1]

    yield start
    for each in running:
        each.stop()


def hang_up(service: Running) -> None:
    """Send SIGHUP, and wait until no worker of before is left."""
    before = set(service.workers)
    service.process.send_signal(signal.SIGHUP)
    until = monotonic() + PATIENCE
    while before & set(service.workers) or len(service.workers) != len(before):
        assert monotonic() < until, service.errors.read_text()
        sleep(0.1)


def batch_of(service: Running, key: str, number: int) -> set[int]:
    """Return the statuses of a batch of questions, asked often enough to reach every worker."""
    body = {"question": [{"ask": "count"}] * number, "pay": {"spend": {"epsilon": "0.01"}}}
    return {service.ask("POST", "/v1/datasets/adult/quotes", key, body).status_code for _ in range(30)}


@pytest.mark.slow
def test_two_workers_take_all_that_a_reload_promises(run: Any, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    fixed = f"workers = 2\nmetrics_port = {port}"
    service = run(written(tmp_path, service=fixed))
    curator = service.key
    key = analyst(service, curator, "1")
    assert service.ask("GET", "/v1/datasets/adult", curator).json()["pacing"] is None
    written(
        tmp_path,
        service=f'{fixed}\nhosts = ["counts.example.org"]',
        limits="batch = 2",
        dataset="pacing = 0.25",
    )
    hang_up(service)
    assert service.ask("GET", "/v1/datasets/adult", curator).json()["pacing"] == 0.25
    assert batch_of(service, key, 3) == {413}
    named = {httpx2.get(f"{service.address}/healthz", headers={"Host": "counts.example.org"}).status_code}
    assert named == {200}
    # Each of the two has a port for its figures again.
    until = monotonic() + PATIENCE
    for each in (port, port + 1):
        while _figures(each) != 200:
            assert monotonic() < until
            sleep(0.2)
    # A mistake leaves what held before, on workers that begin later too.
    (tmp_path / "service.toml").write_text("[service\n")
    workers = service.workers
    service.process.send_signal(signal.SIGHUP)
    for each in workers:
        os.kill(each, signal.SIGKILL)
    until = monotonic() + PATIENCE
    while set(workers) & set(service.workers) or len(service.workers) < 2:
        assert monotonic() < until
        sleep(0.1)
    service.wait()
    assert batch_of(service, key, 3) == {413}
    assert "TOMLDecodeError" not in service.errors.read_text()
    assert service.stop() in (0, -signal.SIGTERM)


def _figures(port: int) -> int:
    with suppress(httpx2.HTTPError):
        return int(httpx2.get(f"http://127.0.0.1:{port}/metrics").status_code)
    return 0


FIXED = {"ledger", "host", "port", "behind_proxy", "cookie_secret", "first", "log_requests"}
FIXED |= {"workers", "threads", "lease", "metrics_port"}
TAKEN = {"hosts", "tls_certificate", "tls_key", "data_roots", "connections", "datasets", "limits", "oidc"}


def test_every_setting_either_stays_or_is_taken() -> None:
    """A new setting has to be put on one of the two lists, here and in the reference."""
    assert {each.name for each in fields(Settings)} == FIXED | TAKEN
    assert not FIXED & TAKEN
    one = Settings("a.ledger", tls_certificate=Path("a.pem"), tls_key=Path("a.key"), cookie_secret=b"s" * 32)
    other = Settings(
        "b.ledger",
        "127.0.0.2",
        9000,
        ("b",),
        Path("b.pem"),
        Path("b.key"),
        True,
        2,
        3,
        4.0,
        5000,
        {"b": Path("b")},
        {"b": "postgresql://b"},
        (SimpleNamespace(name="b"),),  # type: ignore[arg-type]
        SimpleNamespace(name="b"),  # type: ignore[arg-type]
        Limits(batch=7),
        False,
        SimpleNamespace(name="b"),  # type: ignore[arg-type]
        b"t" * 32,
    )
    renewed = one.renewed(other)
    for name in FIXED:
        assert getattr(renewed, name) == getattr(one, name) != getattr(other, name), name
    for name in TAKEN:
        assert getattr(renewed, name) == getattr(other, name) != getattr(one, name), name


def test_a_service_without_tls_does_not_begin_to_speak_of_it() -> None:
    plain = Settings("a.ledger")
    certified = replace(plain, tls_certificate=Path("a.pem"), tls_key=Path("a.key"))
    assert not plain.renewed(certified).tls
    assert certified.renewed(plain) == certified


def test_one_worker_keeps_all_that_it_has_after_a_mistake(house: Any, tmp_path: Path) -> None:
    service = house.app.service
    before = service.settings
    wrong = replace(
        before,
        tls_certificate=tmp_path / "nowhere.pem",
        tls_key=tmp_path / "nowhere.key",
        limits=Limits(batch=7),
    )
    service.settings = replace(before, tls_certificate=tmp_path / "old.pem", tls_key=tmp_path / "old.key")
    held = service.settings
    reload(house.app, SimpleNamespace(ssl=None), lambda: wrong)  # type: ignore[arg-type]
    assert service.settings == held


def test_one_worker_takes_a_new_certificate(
    house: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.service.reloading.check_certificate", lambda _: None)
    old = {"tls_certificate": tmp_path / "old.pem", "tls_key": tmp_path / "old.key"}
    new = {"tls_certificate": tmp_path / "new.pem", "tls_key": tmp_path / "new.key"}
    house.app.service.settings = replace(house.settings, **old)
    loaded: list[tuple[Path, Path]] = []
    config: Any = SimpleNamespace(ssl=SimpleNamespace(load_cert_chain=lambda *files: loaded.append(files)))
    reload(house.app, config, lambda: replace(house.settings, **new, limits=Limits(batch=7)))
    assert loaded == [(tmp_path / "new.pem", tmp_path / "new.key")]
    assert house.app.service.settings.limits.batch == 7


def test_workers_begin_with_a_new_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.service.reloading.check_certificate", lambda _: None)
    Ledger.create(tmp_path / "a.ledger").close()
    place = str(tmp_path / "a.ledger")
    begun, now = (
        Settings(place, workers=2, tls_certificate=Path(f"{name}.pem"), tls_key=Path(f"{name}.key"))
        for name in ("old", "new")
    )
    config: Any = SimpleNamespace(ssl_certfile="old.pem", ssl_keyfile="old.key")
    assert Renewal(begun, lambda settings: settings, lambda: now)(config)
    assert (config.ssl_certfile, config.ssl_keyfile) == ("new.pem", "new.key")


def test_workers_begin_with_the_last_settings_that_had_no_mistake(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "a.ledger").close()
    begun = Settings(str(tmp_path / "a.ledger"), port=9000, workers=2, cookie_secret=b"s" * 32)
    said: list[Any] = [Settings("another.ledger", port=0, workers=2, limits=Limits(batch=7))]

    def reread() -> Settings:
        if isinstance(said[0], Exception):
            raise said[0]
        return said[0]  # type: ignore[no-any-return]

    config: Any = SimpleNamespace(app=None)
    renewal = Renewal(begun, lambda settings: settings, reread)
    assert renewal(config)
    taken = config.app()
    assert taken.limits.batch == 7
    assert (taken.ledger, taken.port, taken.cookie_secret) == (begun.ledger, 9000, begun.cookie_secret)
    said[0] = DataError("The configuration is not TOML.")
    assert not renewal(config)
    assert config.app() == taken
