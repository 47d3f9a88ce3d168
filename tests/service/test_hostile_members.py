"""Every member of every body, in turn, is something that nobody should have sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

import dovetail as dv
from dovetail.service.openapi_examples import REQUESTS
from dovetail.service.settings import Limits

# What stands between the signs is sent without quotation marks: JSON can say numbers that Python cannot.
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 2**63, "", "1/0", "\N{RIGHT-TO-LEFT OVERRIDE}", [], {"a": 1}),
    *("<1e400>", "<1e9999999999999999999>", "<-1e-9999999999999999999>"),
)
_COLUMN = {"name": "sex", "type": "text", "values": ["f"], "low": 1, "reviewed": True}
_TABLES = {"ask": "marginals", "tables": [["sex", "race"], ["race", "income"]]}
BODIES: tuple[tuple[str, str, Any], ...] = (
    *(
        (method.upper(), path.replace("{name}", "adult"), body)
        for (method, path), bodies in REQUESTS.items()
        for body in bodies.values()
        # What is answered or opened would be paid for; its quote reads the same body.
        if not path.endswith(("/answers", "/plans", "/runs"))
    ),
    ("POST", "/v1/datasets/adult/quotes", {"question": _TABLES, "pay": {"spend": {"epsilon": "0.1"}}}),
    (
        "POST",
        "/v1/datasets/adult/runs/quotes",
        {"columns": ["sex"], "queries": 9, "updates": 1, "promise": 1},
    ),
    ("POST", "/v1/compare", {"noises": {"a": dv.Geometric(1).to_dict()}, "at": ["1", "1e-6", 10]}),
    ("POST", "/v1/sessions", {"key": "dvt_", "code": None}),
    ("PUT", "/v1/datasets/adult/schema", {"columns": [_COLUMN]}),
    ("POST", "/v1/drafts", {"source": {"root": "data", "path": "people.csv"}, "show": ["sex"]}),
    ("POST", "/v1/datasets/adult/vintages", {"label": "2026-01", "complete": True, "version": "1"}),
)


def places(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the members of a body are, itself included; of lists, the first one stands for all."""
    yield path
    members = (
        body.items() if isinstance(body, dict) else enumerate(body[:1]) if isinstance(body, list) else ()
    )
    for name, value in members:
        yield from places(value, (*path, name))


def put(body: Any, path: tuple[Any, ...], value: Any) -> bytes:
    """Return the text of a body with something else at a place."""
    made = {"body": deepcopy(body)}
    inner: Any = made
    for name in ("body", *path)[:-1]:
        inner = inner[name]
    inner[("body", *path)[-1]] = value
    return re.sub(r'"<([^">]*)>"', r"\1", json.dumps(made["body"])).encode()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, opened: Any) -> Any:
    made = opened(tmp_path_factory.mktemp("hostile"), limits=Limits(rate="1000000/second"))
    with made.client:
        yield made


@pytest.mark.parametrize(("method", "path", "body"), BODIES, ids=range(len(BODIES)))
def test_no_member_of_a_body_is_a_fault_of_the_service(house: Any, method: str, path: str, body: Any) -> None:
    """Five were: a number with a long exponent, losses beyond every float, a column without a name."""
    desk = house.ann if path.startswith(("/v1/datasets/adult/", "/v1/design", "/v1/compare")) else house.carl
    if method in ("PUT", "PATCH") or path.endswith("/vintages"):
        desk = house.carl
    filled = house.filled(body)
    for number, place in enumerate(places(filled)):
        for other, hostile in enumerate(HOSTILE):
            headers = {"Content-Type": "application/json", "Idempotency-Key": f"{path}-{number}-{other}"}
            given = desk.send(method, path, content=put(filled, place, hostile), headers=headers)
            assert given.status_code < 500, (place, hostile, given.text)
    assert house.ledger.account("adult").spent() == dv.Charge.zero()
