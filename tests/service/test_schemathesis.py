"""Requests that schemathesis makes from the OpenAPI: to each a documented reply, no fault, nothing spent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from dovetail.privacy import Budget, Charge
from dovetail.service.app import routes
from dovetail.service.settings import Limits

schemathesis = pytest.importorskip("schemathesis", reason="see `make test-http`")
pytestmark = pytest.mark.schemathesis
SCHEMA = schemathesis.openapi.from_dict(routes().openapi())
# Boundary values of fifteen kinds of questions would take minutes.
SCHEMA.config.phases.coverage.enabled = False
QUIET = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
_numbers = count()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, opened: Any) -> Iterator[Any]:
    """Return a service whose analyst may ask, but cannot pay for anything."""
    made = opened(tmp_path_factory.mktemp("http"), limits=Limits(rate="1000000/minute"))
    for name in ("ann", "bob"):
        made.ledger.people.grant(name, "adult", Budget.pure("1e-9"))
    with made.client:
        yield made
        assert made.ledger.account("adult").spent() == Charge.zero()
        made.ledger.verify()


@SCHEMA.parametrize()
@QUIET
def test_every_reply_is_documented(case: Any, served: Any) -> None:
    number = next(_numbers)
    person = ("ann", "carl", "ann", "nobody", "aud")[number % 5]
    sent = case.as_transport_kwargs(base_url="http://localhost")
    headers = {name: value for name, value in sent.pop("headers").items() if name.lower() != "authorization"}
    headers["Idempotency-Key"] = f"case-{number}"
    more = {name: sent[name] for name in ("json", "data", "params") if sent.get(name) is not None}
    if "data" in more:
        more["content"] = more.pop("data")
    path = sent["url"].removeprefix("http://localhost")
    # The desk compares status and members with the description.
    given = served.people[person].send(sent["method"], path, headers=headers, **more)
    assert given.status_code < 500, given.text
