"""The threats of a service, and what it does about each."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.privacy import Budget
from dovetail.service.cookies import CODE_LIVES, sealed
from dovetail.service.settings import DeclaredDataset, Limits

COUNT = {"question": {"ask": "count", "where": "age >= 40"}, "pay": {"within": 10}}
SCHEMA = dv.Schema([dv.Column("age", "integer")])
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/datasets/{}", None),
        ("POST", "/v1/datasets/{}/quotes", COUNT),
        ("POST", "/v1/datasets/{}/answers", COUNT),
        ("POST", "/v1/datasets/{}/plans", {"noise": dv.Geometric(1).to_dict(), "queries": 2}),
        ("POST", "/v1/datasets/{}/runs", {"columns": ["sex"], "queries": 2}),
        ("GET", "/v1/plans?dataset={}", None),
        ("GET", "/v1/record?dataset={}", None),
    ],
)
def test_a_forbidden_dataset_is_as_unknown_as_none(house: Any, method: str, path: str, body: Any) -> None:
    headers = {"Idempotency-Key": "k"}
    replies = [
        house.eve.send(method, path.format(name), json=body, headers=headers) for name in ("adult", "none")
    ]
    assert [each.status_code for each in replies] == [404, 404]
    assert replies[0].content == replies[1].content
    assert set(replies[0].headers) == set(replies[1].headers)


def test_keys_that_are_missing_wrong_revoked_or_cut_are_refused_alike(house: Any) -> None:
    other = house.ledger.people.make_key("eve")
    house.ledger.people.revoke_key(other.public)
    bodies = set()
    shown = ("Bearer", "Bearer x", f"Bearer {other.text}", f"Bearer {house.ann.key[:-1]}", "Basic YTpi")
    for given in (None, *shown):
        headers = {} if given is None else {"Authorization": given}
        refused = house.client.get("/v1/datasets", headers=headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        bodies.add(json.dumps(refused.json() | {"id": None}))
    assert len(bodies) == 1


def test_neither_keys_nor_counts_nor_questions_get_into_logs_and_figures(started: Any, capfd: Any) -> None:
    house = started()  # here, so that its log is what is captured
    secret = "age >= 40 AND occupation = 'Sales'"
    body = {"question": {"ask": "count", "where": secret}, "pay": {"within": 10}}
    given = house.ann.post("/v1/datasets/adult/answers", body)
    assert given.status_code == 200
    house.ann.get(f"/v1/datasets/adult?key={house.ann.key}")
    house.ann.post("/v1/datasets/adult/quotes", {"sql": "SELECT 1/(age-5) FROM adult", "pay": {"within": 5}})
    house.client.post("/v1/sessions", json={"key": house.ann.key})
    house.app.service.log.warning("a field that is not listed", question=secret)
    logged = "".join(capfd.readouterr())
    assert logged.count('"event": "request"') == 4
    assert "a field that is not listed" in logged
    out = logged + house.app.service.metrics.page().decode()
    released = given.json()["answers"][0]["released"][0][0]
    for planted in (house.ann.key, house.ann.key[4:14], "Sales", "age", "adult", released):
        assert planted not in out, planted


def test_a_key_in_the_address_is_refused(house: Any) -> None:
    refused = house.client.get(f"/v1/me?key={house.ann.key}")
    assert refused.status_code == 400
    assert house.ann.key not in refused.text


def paid(**pay: Any) -> bytes:
    """Return the body of a count that is paid in this way."""
    return json.dumps({"question": {"ask": "count"}, "pay": pay}).encode()


def selected(text: str) -> bytes:
    """Return the body of a SELECT."""
    return json.dumps({"sql": text, "pay": {"within": 5}}).encode()


def asked(question: Any, **more: Any) -> bytes:
    """Return the body of a question."""
    return json.dumps({"question": question, "pay": {"within": 5}} | more).encode()


AT_LEAST = {"column": ["age", "number"], "compare": ">="}
HOSTILE = [
    (b"[" * 200 + b"]" * 200, 413),
    (b'{"pay": ' * 100 + b"1" + b"}" * 100, 413),
    (b'{"question": {"ask": "count"}, "pay": {"within": 5, "within": 1}}', 400),
    (b'{"question": {"ask": "count"}, "pay": {"within": NaN}}', 400),
    (b'{"question": {"ask": "count"}, "pay": {"within": ' + b"9" * 5000 + b"}}", 400),
    (b'{"question": {"ask": "count"}, "pay": {"within": 1e400000000}}', 400),
    (b"\xff\xfe{}", 400),
    (b'{"question": {"ask": "count"}, "pay": {"within": 5}, "quote": "\\ud800"}', 400),
    (b"", 400),
    (b"null", 400),
    (paid(within=True), 400),
    (paid(within="1_0"), 400),
    (paid(within="\N{FULLWIDTH DIGIT FIVE}"), 400),
    (paid(within=5, seed=1), 400),
    (paid(within=5, spend={"epsilon": 1}), 400),
    (paid(spend={"epsilon": -1}), 400),
    (paid(spend={"epsilon": 0}), 400),
    (paid(spend={"epsilon": 1, "rows": 5}), 400),
    (paid(noise={"kind": "truncated-geometric", "epsilon": "1", "bound": 3}), 400),
    (paid(noise={"kind": []}), 400),
    (paid(noise={"kind": "piecewise-geometric", "rates": 5, "breaks": {}}), 400),
    (paid(plan=7), 400),
    (paid(), 400),
    (asked({"ask": "count"}, noise=1), 400),
    (asked({"ask": "count"}, quote=5), 400),
    (asked({"ask": "count"}, sql="SELECT COUNT(*) FROM adult"), 400),
    (asked([]), 400),
    (asked({"ask": "count", "where": "1/(age-5) > 0"}), 400),
    (asked({"ask": "count", "where": "pg_sleep(5) IS NULL"}), 400),
    (asked({"ask": "histogram", "columns": ["occupation"], "keys": "discover"}), 400),
    (asked({"ask": "sum", "column": "age", "low": {"exact": "1e400000000"}, "high": 99}), 400),
    (asked({"ask": "count", "where": AT_LEAST | {"value": "1e400000000"}}), 400),
    (asked({"ask": "count", "where": AT_LEAST | {"value": 0}}).replace(b": 0", b": 1e400000000"), 400),
    (asked([{"ask": "count"}] * 101), 413),
    (selected("SELECT COUNT(*) FROM adult; DROP TABLE adult"), 400),
    (selected("SELECT * FROM adult"), 400),
    (selected("SELECT COUNT(*) FROM read_csv('/etc/passwd')"), 400),
    (selected("x" * 30_000), 413),
]


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory, opened: Any) -> Any:
    """Return a service that no test of these changes."""
    made = opened(tmp_path_factory.mktemp("lasting"))
    with made.client:
        yield made


@pytest.mark.parametrize(("body", "status"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_bodies_get_a_documented_status_and_spend_nothing(
    lasting: Any, body: bytes, status: int
) -> None:
    for door in ("quotes", "answers"):
        headers = JSON | {"Idempotency-Key": "k"}
        refused = lasting.ann.send("POST", f"/v1/datasets/adult/{door}", content=body, headers=headers)
        assert refused.status_code == status, refused.text
        assert refused.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "detail", "code", "fix", "remedies", "id"} <= set(refused.json())
        assert len(refused.content) < 10_000
    assert lasting.ledger.account("adult").spent() == dv.Charge.zero()


def test_a_body_that_is_too_large_is_refused_before_it_is_read(house: Any) -> None:
    refused = house.ann.send("POST", "/v1/datasets/adult/quotes", content=b"x" * (2 << 20), headers=JSON)
    assert refused.status_code == 413
    pieces = (b"x" * 10_000 for _ in range(200))
    assert (
        house.ann.send("POST", "/v1/datasets/adult/quotes", content=pieces, headers=JSON).status_code == 413
    )


def test_only_json_is_read(house: Any) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        refused = house.ann.send(
            "POST", "/v1/datasets/adult/quotes", content=json.dumps(COUNT), headers={"Content-Type": kind}
        )
        assert refused.status_code == 415


def signed_in(house: Any) -> dict[str, str]:
    made = house.client.post("/v1/sessions", json={"key": house.ann.key})
    assert made.status_code == 201
    cookie = made.headers["set-cookie"]
    house.client.cookies.clear()
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert house.ann.key not in cookie
    return {"Cookie": cookie.split(";")[0]}


def test_a_cookie_is_for_the_services_own_pages(house: Any) -> None:
    cookie = signed_in(house)
    assert house.client.get("/v1/me", headers=cookie).json()["name"] == "ann"
    own = {"Sec-Fetch-Site": "same-origin"}
    assert house.client.post("/v1/datasets/adult/quotes", json=COUNT, headers=cookie | own).status_code == 200
    same = {"Origin": "http://localhost"}
    assert (
        house.client.post("/v1/datasets/adult/quotes", json=COUNT, headers=cookie | same).status_code == 200
    )
    for foreign in (
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
    ):
        refused = house.client.post("/v1/datasets/adult/quotes", json=COUNT, headers=cookie | foreign)
        assert (refused.status_code, refused.json()["code"]) == (403, "foreign-origin"), foreign
    split = [*cookie.items(), ("Cookie", "other=1"), ("Sec-Fetch-Site", "cross-site")]
    assert house.client.post("/v1/datasets/adult/quotes", json=COUNT, headers=split).status_code == 403


def test_origins_matter_for_cookies_alone(house: Any) -> None:
    cookie, foreign = signed_in(house), {"Origin": "https://evil.example"}
    assert house.client.get("/v1/me", headers=cookie | foreign).status_code == 200
    key = {"Authorization": f"Bearer {house.ann.key}"}
    for sent, status in ((foreign, 401), (key | foreign, 200), (key | cookie | foreign, 200)):
        reply = house.client.post("/v1/datasets/adult/quotes", json=COUNT, headers=sent)
        assert reply.status_code == status, reply.text


def test_a_cookie_ends_with_its_key_and_cannot_be_made(house: Any) -> None:
    cookie = signed_in(house)
    forged = {"Cookie": f"dovetail_session={sealed(house.carl.key.split('_')[1], b'x' * 32)}"}
    assert house.client.get("/v1/me", headers=forged).status_code == 401
    assert house.client.get("/v1/me", headers={"Cookie": "dovetail_session=."}).status_code == 401
    house.ledger.people.revoke_key(house.ann.key.split("_")[1])
    assert house.client.get("/v1/me", headers=cookie).status_code == 401


def test_a_code_signs_in_once(house: Any) -> None:
    code = house.ledger.people.make_key("carl", expires=datetime.now(UTC) + CODE_LIVES).text
    first = house.client.post("/v1/sessions", json={"code": code})
    house.client.cookies.clear()
    assert first.json()["role"] == "curator"
    assert house.client.post("/v1/sessions", json={"code": code}).status_code == 401
    assert (
        house.client.get("/v1/me", headers={"Cookie": first.headers["set-cookie"].split(";")[0]}).status_code
        == 200
    )


def test_another_name_of_the_host_is_refused(house: Any) -> None:
    for host in ("evil.example", "localhost.evil.example", ""):
        refused = house.client.get("/v1/me", headers={"Host": host})
        assert refused.json()["code"] == "unknown-host"
    assert house.client.get("/healthz", headers={"Host": "127.0.0.1:8321"}).status_code == 200


def test_one_wins_the_last_unit_of_an_allotment(house: Any) -> None:
    house.ledger.people.grant("ann", "adult", Budget.pure("0.1"))

    def ask(number: int) -> int:
        body = {
            "question": {"ask": "count", "where": f"age > {number}"},
            "pay": {"spend": {"epsilon": "0.1"}},
        }
        return int(house.ann.post("/v1/datasets/adult/answers", body).status_code)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(24)))
    assert sorted(found) == [200] + [409] * 23
    assert house.ledger.account("adult").spent() == dv.Charge.approximate("0.1")
    house.ledger.verify()


def test_the_cap_holds_whatever_analysts_do_together(started: Any) -> None:
    house = started()
    house.ledger.set_budget("adult", Budget.pure("0.15"))
    body = {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "0.1"}}}
    assert house.ann.post("/v1/datasets/adult/answers", body).status_code == 200
    quoted = house.bob.post("/v1/datasets/adult/quotes", body).json()
    assert quoted["affordable"] is True
    refused = house.bob.post("/v1/datasets/adult/answers", body)
    assert refused.status_code == 409
    assert refused.json()["remaining"] is None
    assert "0.05" not in refused.text
    assert "pays for" not in refused.text, "what the rest would buy tells what others have spent"
    assert house.bob.get("/v1/datasets/adult").json()["all"] is None
    assert house.carl.get("/v1/datasets/adult").json()["all"]["spent"]["epsilon"] == "0.1"


# So long that no random identifier or time holds them by chance.
SECRET = "row 48151623 holds 47110815 in /srv/private/people.csv: SELECT income"


@pytest.mark.parametrize("layer", ["engine", "ledger", "noise", "pricing", "form"])
def test_a_fault_in_any_layer_shows_nothing(
    started: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    def fault(*_: Any, **__: Any) -> Any:
        raise RuntimeError(SECRET)

    places = {
        "engine": "dovetail.engines.duckdb.DuckDB.fetch",
        "ledger": "dovetail.ledger.account.DatasetAccount.settle_with_standing",
        "noise": "dovetail.release.mechanism.draws",
        "pricing": "dovetail.pricing.quote.charge_of",
        "form": "dovetail.service.forms.answer",
    }
    house = started()  # here, so that its log is what is captured
    monkeypatch.setattr(places[layer], fault)
    failed = house.ann.post("/v1/datasets/adult/answers", COUNT)
    assert failed.status_code in (500, 503)
    assert failed.json()["code"] in ("internal", "data-error")
    logged = "".join(capfd.readouterr())
    assert '"event": "request"' in logged
    out = failed.text + logged
    for word in SECRET.split():
        if word not in ("in", "row", "holds"):
            assert word not in out, word


def test_a_ledger_from_an_old_copy_is_not_ready(started: Any, tmp_path: Path) -> None:
    house = started()
    place = Path(house.settings.ledger)
    house.ledger.start_witness(tmp_path / "head.witness")
    assert house.nobody.get("/readyz").status_code == 200
    house.ledger.close()
    copied = tmp_path / "old.ledger"
    shutil.copy(place, copied)
    assert house.ann.post("/v1/datasets/adult/answers", COUNT).status_code == 200
    house.ledger.close()
    shutil.copy(copied, place)
    for rest in place.parent.glob(place.name + "-*"):
        rest.unlink()
    house.app.service.ready_at = -10.0
    refused = house.nobody.get("/readyz")
    assert (refused.status_code, refused.json()["code"]) == (503, "not-ready")


def test_columns_that_nobody_declared_do_not_exist(started: Any, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,diagnosis\n40,flu\n50,cold\n")
    declared = DeclaredDataset("people", {"path": str(tmp_path / "people.csv")}, Budget.pure(3), SCHEMA)
    house = started(declared=(declared,))
    assert "diagnosis" not in house.ann.get("/v1/datasets/people").text
    bodies = []
    for column in ("diagnosis", "nothing12"):
        body = {"question": {"ask": "count", "where": f"{column} = 'flu'"}, "pay": {"within": 5}}
        refused = house.ann.post("/v1/datasets/people/quotes", body)
        assert refused.status_code == 400
        bodies.append(json.dumps(refused.json() | {"id": None}).replace(column, "…"))
    assert bodies[0].replace("diagnosis", "…") == bodies[1].replace("nothing12", "…")


def test_data_without_a_schema_are_counted_and_nothing_else(started: Any, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,diagnosis\n40,flu\n50,cold\n")
    house = started(
        declared=(DeclaredDataset("people", {"path": str(tmp_path / "people.csv")}, Budget.pure(3)),)
    )
    body = {"question": {"ask": "count"}, "pay": {"within": 5}}
    assert house.ann.post("/v1/datasets/people/answers", body).status_code == 200
    body["question"]["where"] = "age = '40'"
    refused = house.ann.post("/v1/datasets/people/quotes", body)
    assert refused.status_code == 400
    assert refused.json()["fix"] == ["No column is declared yet."]


def test_who_asks_too_often_waits(started: Any) -> None:
    house = started(limits=Limits(rate="3/minute"))
    found = [house.ann.get("/v1/me").status_code for _ in range(5)]
    assert found == [200, 200, 200, 429, 429]
    assert house.bob.get("/v1/me").status_code == 200
    assert "retry-after" in house.ann.get("/v1/me").headers


def test_every_reply_has_the_headers_that_browsers_obey(house: Any) -> None:
    for reply in (house.nobody.get("/"), house.ann.get("/v1/me"), house.nobody.get("/v1/nowhere")):
        policy = reply.headers["content-security-policy"].split("; ")
        for part in ("default-src", "frame-ancestors", "base-uri", "form-action"):
            assert f"{part} 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in reply.headers
        assert len(reply.headers["x-request-id"]) == 16
    refused = house.nobody.get("/v1/me")
    assert refused.headers["x-request-id"] == refused.json()["id"]
