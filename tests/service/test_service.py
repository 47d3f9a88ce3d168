"""What the endpoints share: who may know of which dataset, how often one may ask, and when it is ready."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dovetail.errors import LedgerError
from dovetail.ledger import Ledger, Principal
from dovetail.service import service as module
from dovetail.service.authentication import Caller
from dovetail.service.oidc import Provider
from dovetail.service.problems import Refused
from dovetail.service.service import Service
from dovetail.service.settings import Limits, Settings

CURATOR, ANALYST = (Principal(n, f"p{n}", role, role) for n, role in ((1, "curator"), (2, "analyst")))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    place = tmp_path / "some.ledger"
    settings = Settings(str(place), limits=Limits(rate="2/minute"), log_requests=False)
    made = Service(settings, Ledger.create(place))
    yield made
    made.close()


def request(host: str | None) -> Any:
    return SimpleNamespace(client=None if host is None else SimpleNamespace(host=host))


def test_an_analyst_knows_of_what_was_granted_and_others_of_all(service: Service) -> None:
    known = SimpleNamespace(entry=SimpleNamespace(number=7))
    service.served.find = lambda name: known if name == "visits" else None  # type: ignore[method-assign,assignment,return-value]
    for caller, seen in (
        (Caller(CURATOR, granted=set()), True),
        (Caller(ANALYST, granted={7}), True),
        (Caller(ANALYST, granted={8}), False),
        (Caller(ANALYST, granted=set()), False),
    ):
        if seen:
            assert service.visible(caller, "visits") is known
        else:
            with pytest.raises(Refused) as caught:
                service.visible(caller, "visits")
            assert caught.value.status == 404
        with pytest.raises(Refused):
            service.visible(caller, "other")


def test_grants_that_did_not_come_with_the_key_are_looked_up(service: Service) -> None:
    looked: list[int] = []
    people = SimpleNamespace(granted=lambda number: looked.append(number) or {9})
    service.ledger = SimpleNamespace(people=people, close=service.ledger.close)  # type: ignore[assignment]
    assert service.held(Caller(ANALYST, granted={7})) == {7}
    assert service.held(Caller(ANALYST, granted=set())) == set()
    assert looked == []
    assert service.held(Caller(ANALYST)) == service.granted(Caller(ANALYST)) == {9}
    assert looked == [2, 2]
    assert service.granted(Caller(CURATOR)) is None


def test_each_caller_and_each_address_has_a_rate_of_its_own(service: Service) -> None:
    def asks(caller: Caller | None, host: str | None) -> list[int]:
        statuses = []
        for _ in range(3):
            try:
                service.check_rate(request(host), caller)
                statuses.append(200)
            except Refused as refused:
                statuses.append(refused.status)
        return statuses

    assert asks(Caller(ANALYST), "1.2.3.4") == [200, 200, 429]
    assert asks(Caller(CURATOR), "1.2.3.4") == [200, 200, 429]
    assert asks(None, "1.2.3.4") == asks(None, "5.6.7.8") == asks(None, None) == [200, 200, 429]
    assert asks(Caller(ANALYST), "5.6.7.8") == [429] * 3


def test_readiness_is_looked_at_once_in_two_seconds(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, looked, wrong = [0.0], list[float](), [False]

    def check() -> None:
        looked.append(now[0])
        if wrong[0]:
            raise LedgerError("not now")

    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    service.ledger = SimpleNamespace(check_ready=check, close=service.ledger.close)  # type: ignore[assignment]
    for now[0] in (0, 1, 1.9, 2, 3.9, 4.5):
        service.check_ready()
    assert looked == [0, 2, 4.5]
    wrong[0] = True
    for now[0] in (7, 7.1):  # what failed is looked at each time
        with pytest.raises(LedgerError):
            service.check_ready()
    assert looked[3:] == [7, 7.1]


def test_settings_that_are_read_again_hold_from_then_on(service: Service) -> None:
    assert service.tokens is None
    provider = Provider("https://login.example.org", "dovetail")
    limits = replace(service.settings.limits, rate="1/minute")
    service.reload(replace(service.settings, oidc=provider, limits=limits, threads=3))
    assert service.tokens is not None
    assert service.settings.threads == 16  # only another start changes this
    service.check_rate(request("a"), None)
    with pytest.raises(Refused):
        service.check_rate(request("a"), None)


def test_a_service_that_ends_finishes_answers_before_it_lets_go_of_data_and_ledger(service: Service) -> None:
    closed: list[str] = []
    real = service.pool, service.served, service.ledger
    for name in ("ledger", "served", "pool"):
        setattr(service, name, SimpleNamespace(close=lambda name=name: closed.append(name)))
    service.close()
    assert closed == ["pool", "served", "ledger"]
    service.pool, service.served, service.ledger = real
