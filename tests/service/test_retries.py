"""A curator's request that is sent again under its key gets the same reply, whichever worker it reaches."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from dovetail.ledger import Ledger
from dovetail.ledger.replies import Claimed, KeyClaim


def test_a_retry_at_another_worker_gets_the_same_reply(house: Any, second: Any) -> None:
    asked: list[tuple[str, Any]] = [
        ("/v1/analysts", {"name": "dora", "address": "dora@example.org"}),
        ("/v1/grants", {"person": house.eve.id, "dataset": "adult", "allotment": {"epsilon": "0.5"}}),
        ("/v1/budgets", {"dataset": "adult", "budget": {"epsilon": 4}, "reason": "More was approved."}),
        ("/v1/datasets/adult/vintages", {"label": "2026"}),
    ]
    for path, body in asked:
        first = house.carl.post(path, body, key="one")
        again = second.post(path, body, key="one")
        assert (again.status_code, again.json()) == (first.status_code, first.json()), path
        assert second.post(path, body | {"reason": "Other."}, key="one").status_code in (400, 422), path
    made = house.carl.post("/v1/keys", {"person": house.ann.id}, key="one").json()
    kept = [each["id"] for each in house.carl.get("/v1/keys").json()["keys"]]
    again = second.post("/v1/keys", {"person": house.ann.id}, key="one")
    assert (again.status_code, again.json()["made"]) == (409, made["id"])
    assert [each["id"] for each in house.carl.get("/v1/keys").json()["keys"]] == kept
    house.ledger.verify()


def test_what_was_refused_may_be_tried_again_under_its_key(house: Any) -> None:
    body = {"person": house.eve.id, "dataset": "census", "allotment": {"epsilon": "0.5"}}
    assert house.carl.post("/v1/grants", body, key="one").status_code == 404
    assert house.carl.send("PATCH", "/v1/datasets/adult", json={"name": "census"}).status_code == 200
    assert house.carl.post("/v1/grants", body, key="one").status_code == 201


def test_one_of_two_workers_has_the_claim(house: Any) -> None:
    claim = KeyClaim(1, "POST /v1/analysts", "one", "digest")
    assert house.ledger.replies.claim(claim) is None
    with Ledger.open(house.settings.ledger) as other:
        assert other.replies.claim(claim) == Claimed("digest", None)


def test_an_erased_name_is_gone_from_replies_too(house: Any) -> None:
    made = house.carl.post("/v1/analysts", {"name": "dora", "address": "dora@example.org"}, key="one").json()
    house.carl.send("DELETE", f"/v1/analysts/{made['id']}")
    raw = Path(house.settings.ledger)
    with closing(sqlite3.connect(raw)) as file:
        assert file.execute("SELECT count(*) FROM dovetail_replies").fetchone() == (0,)
    assert house.carl.post("/v1/analysts", {"name": "dora"}, key="one").status_code == 201
