"""A remote session asks, quotes, plans and answers as a session on the same data does."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import pytest

import dovetail as dv
from dovetail.client import RemoteSession
from dovetail.client.connection import ServiceConnection
from service.conftest import House, open_house

PAY: dict[str, Any] = {"noise": dv.Geometric("0.05")}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = open_house(tmp_path)
    with made.client:
        yield made


@pytest.fixture
def local(tmp_path: Path) -> Iterator[dv.Session]:
    with dv.Session(
        dv.datasets.adult(), budget=dv.Budget.pure(1), ledger=tmp_path / "local.ledger"
    ) as session:
        yield session


def session_of(house: House, name: str = "ann", dataset: str = "adult", **more: Any) -> RemoteSession:
    desk = house.people[name]
    assert desk.key is not None
    connection = ServiceConnection("http://localhost", desk.key, transport=house.client._transport)
    return RemoteSession(connection, dataset, **more)


QUESTIONS = {
    "count": lambda s: s.count(where="age >= 40", **PAY),
    "histogram": lambda s: s.histogram("sex", where="education = 'Masters'", **PAY),
    "two-way": lambda s: s.histogram("sex", "race", **PAY),
    "bins": lambda s: s.histogram("age", bins=[0, 30, 60, 90], **PAY),
    "sum": lambda s: s.sum("hours_per_week", low=1, high=99, step=1, **PAY),
    "mean": lambda s: s.mean("age", low=17, high=90, step=1, **PAY),
    "sum by": lambda s: s.sum("age", low=17, high=90, step=1, by="sex", **PAY),
    "mean by": lambda s: s.mean("age", low=17, high=90, step=1, by="sex", **PAY),
    "variance by": lambda s: s.variance("age", low=17, high=90, step=1, by="sex", **PAY),
    "linear": lambda s: s.linear("sex", {"Female": 1, "Male": "-1/2"}, step="1/2", **PAY),
    "variance": lambda s: s.variance("age", low=17, high=90, step=1, **PAY),
    "std": lambda s: s.std("age", low=17, high=90, step=1, **PAY),
    "median": lambda s: s.median("age", low=17, high=90, step=1, **PAY),
    "quantiles": lambda s: s.quantiles("age", ["1/4", 0.5], low=17, high=90, step=1, by="sex", **PAY),
    "ranges": lambda s: s.ranges("age", low=17, high=90, step=1, **PAY),
    "min": lambda s: s.min("age", low=17, high=90, step=1, **PAY),
    "max": lambda s: s.max("age", low=17, high=90, step=1, **PAY),
    "sql": lambda s: s.sql(
        "SELECT sex, COUNT(*) AS n FROM adult GROUP BY sex ORDER BY n DESC LIMIT 1", **PAY
    ),
    "marginals": lambda s: s.marginals("sex", "race", "income", way=2, spend=dv.Budget.pure("0.2")),
    "workload": lambda s: s.workload([dv.Histogram("sex", "race"), dv.Count()], spend=dv.Budget.pure("0.2"))[
        0
    ],
    "batch": lambda s: s.batch([dv.Count(), dv.Histogram("sex")], **PAY)[1],
    "within": lambda s: s.count(within=20, probability=0.9),
    "spend": lambda s: s.histogram("sex", spend=dv.Budget.pure("0.1"), clamp=True),
}


@pytest.mark.parametrize("asked", QUESTIONS, ids=str)
def test_a_remote_answer_has_the_form_and_the_price_of_a_local_one(
    house: House, local: dv.Session, asked: str
) -> None:
    with session_of(house) as remote:
        far, near = QUESTIONS[asked](remote), QUESTIONS[asked](local)
        assert type(far) is type(near)
        assert far.charge == near.charge
        assert far.noise == near.noise
        assert list(far.to_pandas().columns) == list(near.to_pandas().columns)
        assert len(far.to_pandas()) == len(near.to_pandas())
        assert far.level == near.level
        again = QUESTIONS[asked](remote)
        assert again.stored
        assert again.value == far.value
        assert house.ledger.verify()


def test_a_quote_is_what_the_answer_is_charged(house: House, local: dv.Session) -> None:
    with session_of(house) as remote:
        for pay in ({"within": 10}, {"spend": dv.Budget.pure("0.05")}, PAY):
            far, near = remote.quote(dv.Histogram("sex"), **pay), local.quote(dv.Histogram("sex"), **pay)
            assert far.charge == near.charge == remote.price(dv.Histogram("sex"), **pay)
            assert far.errors() == near.errors()
            assert far.errors("0.9", simultaneous=True) == near.errors("0.9", simultaneous=True)
        quote = remote.quote(dv.Histogram("sex"), within=10)
        before = remote.remaining
        [answer] = remote.answer(quote)
        assert answer.charge == quote.charge
        assert before.epsilon - remote.remaining.epsilon == quote.charge.epsilon
        with pytest.raises(dv.InvalidParameter, match="a quote of this session"):
            remote.answer(local.quote(dv.Count(), within=10))


def test_what_was_answered_before_is_quoted_as_free(house: House, local: dv.Session) -> None:
    with session_of(house) as remote:
        for session in (remote, local):
            session.histogram("sex", within=10)
            quote = session.quote(dv.Histogram("sex"), within=30)
            assert session.price(dv.Histogram("sex"), within=30) == dv.Charge.zero()
            assert quote.errors() == session.quote(dv.Histogram("sex"), within=10, fresh=True).errors()
            assert quote.words()["cost"].startswith("nothing: answered on")


def test_a_name_for_the_request_pays_once(house: House) -> None:
    with session_of(house) as remote:
        first = remote.count(**PAY, fresh=True, request="monday")
        left = remote.remaining
        again = remote.count(**PAY, fresh=True, request="monday")
        assert again.value == first.value
        assert remote.remaining == left
        remote.count(**PAY, fresh=True, request="tuesday")
        assert remote.remaining != left
        with pytest.raises(dv.RequestConflict):
            remote.count(where="age >= 40", **PAY, request="monday")


def test_refusals_are_the_library_s_own(house: House) -> None:
    with session_of(house) as remote:
        before = remote.remaining
        for ask, error in (
            (lambda: remote.count(where="agee >= 40", **PAY), dv.InvalidQuery),
            (lambda: remote.count(), dv.MissingPrice),
            (lambda: remote.histogram("fnlwgt", **PAY), dv.MissingKeys),
            (lambda: remote.sql("SELECT * FROM adult", **PAY), dv.UnsupportedSQL),
            (lambda: remote.count(within=-1), dv.InvalidParameter),
            (lambda: remote.count(epsilon=1), dv.InvalidParameter),
            (lambda: remote.count(within="0.01"), dv.BudgetExceeded),
        ):
            with pytest.raises(error) as refused:
                ask()
            assert "Traceback" not in str(refused.value)
        assert remote.remaining == before


def test_what_is_known_of_the_data_is_what_is_public(house: House, local: dv.Session) -> None:
    with session_of(house) as remote:
        assert remote.schema.get("sex").values == local.schema.get("sex").values
        assert remote.budget == dv.Budget.pure(1)
        assert "dvt_" not in repr(remote)
        assert "adult" in repr(remote)


def test_who_was_granted_nothing_sees_nothing(house: House) -> None:
    with pytest.raises(dv.DovetailError):
        session_of(house, "eve")


def test_a_plan_pays_for_answers(house: House) -> None:
    with session_of(house) as remote:
        plan = remote.plan(dv.Geometric("0.05"), queries=3)
        left = remote.remaining
        assert remote.count(plan=plan).charge == dv.Charge.zero()
        assert remote.count(where="age < 30", plan=plan).paid_by is not None
        assert remote.remaining == left
        [known] = remote.plans
        assert (known.id, known.left, known.slots) == (plan.id, 1, 3)


def test_an_online_run_over_http(house: House) -> None:
    with session_of(house) as remote:
        design = remote.quote_online("sex", "income", queries=100, spend=dv.Budget.pure("0.5"))
        assert str(design)
        run = remote.online("sex", "income", queries=100, spend=dv.Budget.pure("0.5"))
        one = run.count("sex = 'Female'")
        assert one.origin in ("base", "checked", "measured")
        assert isinstance(one.value, int)
        assert one.interval()[0] <= one.value <= one.interval()[1]
        assert f"{one.value:,} (" in repr(one)
        by_sex = run.histogram("sex")
        assert by_sex.table.to_pydict() == {
            "sex": ["Female", "Male"],
            "value": by_sex.value,
            "low": [low for low, _ in by_sex.interval()],
            "high": [high for _, high in by_sex.interval()],
            "origin": by_sex.origin,
        }
        assert "Male" in repr(by_sex)
        assert remote.online("sex", "income", queries=100, spend=dv.Budget.pure("0.5")).id == run.id


@pytest.mark.parametrize(
    "run", [{"base": None}, {"base": 1}, {"updates": 7}, {"bins": {"age": [Fraction(0), 40, 100]}}]
)
def test_a_run_over_http_is_designed_as_one_of_a_session_is(
    house: House, local: dv.Session, run: dict[str, Any]
) -> None:
    columns = ("sex", "income", *run.get("bins", ()))
    asked = {"queries": 100, "spend": dv.Budget.pure("0.5"), **run}
    with session_of(house) as remote:
        assert repr(remote.quote_online(*columns, **asked)) == local.quote_online(*columns, **asked).explain()


class Dropping(httpx2.BaseTransport):
    """A proxy that loses the first reply to every request, after the service has done what it said."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self.inner, self.seen = inner, set[tuple[str, str | None]]()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        given = self.inner.handle_request(request)
        sent = (f"{request.method} {request.url}", request.headers.get("Idempotency-Key"))
        if sent not in self.seen:
            self.seen.add(sent)
            given.read()
            raise httpx2.ReadError("lost", request=request)
        return given


def test_behind_a_proxy_that_drops_replies_nothing_is_paid_twice(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.client.connection.time.sleep", lambda _: None)
    desk = house.people["ann"]
    assert desk.key is not None
    connection = ServiceConnection("http://localhost", desk.key, transport=Dropping(house.client._transport))
    with RemoteSession(connection, "adult") as remote:
        first = remote.count(**PAY)
        plan = remote.plan(dv.Geometric("0.1"), queries=2)
        second = remote.histogram("sex", plan=plan)
        assert plan.left == 2
        assert house.ledger.account("adult").spent() == first.charge + plan.charge
        assert second.plan == plan.id
        assert [each.left for each in remote.plans] == [1]
    house.ledger.verify()


def test_a_session_about_one_vintage(house: House) -> None:
    account = house.ledger.account("adult")
    account.declare_disjoint()
    for label in ("old", "new"):
        account.declare_vintage(label, complete=True)
    with session_of(house, vintage=["new"]) as remote, session_of(house, vintage=["old"]) as other:
        given = remote.count(**PAY)
        assert given.vintages == ("new",)
        assert remote.remaining != other.remaining
        assert other.remaining == dv.Budget.pure(1).remaining(dv.Charge.zero())
        plan = remote.plan(dv.Geometric("0.1"), queries=2)
        assert remote.histogram("sex", plan=plan).vintages == ("new",)
        with pytest.raises(dv.InvalidParameter, match=f"plan='{plan.id}' must be a plan that you may use"):
            other.count(plan=plan)
