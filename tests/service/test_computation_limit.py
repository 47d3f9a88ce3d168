"""Long computations leave threads for answers; what outsiders try is counted and tells them nothing."""

from __future__ import annotations

from typing import Any

from dovetail.service import computation_limit
from dovetail.service.settings import Limits


def test_a_design_is_refused_while_all_places_are_taken(house: Any) -> None:
    for _ in range(computation_limit.MOST):
        assert computation_limit._places.acquire(blocking=False)
    try:
        refused = house.ann.post("/v1/design", {"within": 4})
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        assert refused.headers["retry-after"]
        asked = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.1"}}}
        assert house.ann.post("/v1/datasets/adult/answers", asked).status_code == 200
    finally:
        for _ in range(computation_limit.MOST):
            computation_limit._places.release()
    assert house.ann.post("/v1/design", {"within": 4}).status_code == 200


def test_who_tries_keys_out_is_counted(started: Any) -> None:
    house = started(limits=Limits(rate="3/minute"))
    wrong = {"Authorization": "Bearer dvt_wrong_key"}
    found = [house.client.get("/v1/me", headers=wrong).status_code for _ in range(5)]
    assert found == [401, 401, 401, 429, 429]
    assert house.ann.get("/v1/me").status_code == 200


def test_the_head_of_the_ledger_is_for_those_who_keep_watch(house: Any) -> None:
    changed = house.carl.send("PATCH", "/v1/datasets/adult", json={"public": True})
    assert changed.status_code == 200
    for desk in (house.nobody, house.ann):
        assert desk.get("/v1/record?dataset=adult").json()["head"] is None
    for desk in (house.carl, house.aud):
        assert desk.get("/v1/record?dataset=adult").json()["head"] == str(house.ledger.head)
