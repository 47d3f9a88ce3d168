"""One function prices everything: from public columns, queries, a payment and a standing alone."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.answers import Plan
from dovetail.answers.payment import Payment
from dovetail.answers.quote import Quote, Standing
from dovetail.pricing.quote import delta_share, quote
from dovetail.query.schema import Stored, Table

TABLE = Table(
    dv.Schema(
        [
            dv.Column("sex", "text", values=["F", "M"]),
            dv.Column("age", "integer", low=0, high=120),
            dv.Column("city", "text"),
        ]
    ),
    {name: Stored(kind) for name, kind in (("sex", "text"), ("age", "integer"), ("city", "text"))},
)
PURE = Standing(dv.Budget.pure(1))
WAYS: list[dict[str, Any]] = [
    {"within": 20},
    {"within": 20, "probability": "0.99"},
    {"spend": dv.Budget.pure("0.1")},
    {"noise": dv.GeometricMixture("0.05", "0.2", 5)},
    {"within": 20, "queries": 3},
    {"noise": dv.Geometric("0.1"), "queries": 3},
    {"queries": 4},
]


def quoted(query: Any, standing: Standing = PURE, **pay: Any) -> Quote:
    return quote(TABLE, query, Payment.of(**pay), standing)


@pytest.mark.parametrize("pay", WAYS, ids=str)
@pytest.mark.parametrize("query", [dv.Count(), dv.Histogram("sex"), dv.Count("age > 40")], ids=repr)
def test_what_is_charged_is_what_was_quoted_to_the_digit(
    query: Any, pay: dict[str, Any], tmp_path: Path
) -> None:
    people = tmp_path / "people.csv"
    people.write_text("sex,age,city\nF,30,x\nM,50,y\n")
    budget = dv.Budget.pure(1)
    with dv.Session(people, schema=TABLE.schema, budget=budget) as session:
        told = session.quote(query, **pay)
        assert told.charge == quoted(query, **pay).charge == session.price(query, **pay)
        assert told.affordable
        answer = session.answer(told)[0]
        assert session.remaining == told.remaining
        assert budget.remaining(told.charge) == session.remaining
        assert answer.noises == told.asked[0].noises
        assert answer.level == told.level
        (error,) = told.errors()
        assert error is not None
        bar = answer.bars(answer.level)[0]
        assert bar.high - bar.low == 2 * error
        # The same again: a plan that is open pays, or the stored answer is given.
        again = session.quote(query, **pay)
        before = session.remaining
        session.answer(again)
        assert session.remaining == before
        if "queries" in pay:
            assert again.charge == dv.Charge.zero()
            assert again.left == told.left - 1


def test_a_quote_opens_no_engine_and_no_ledger() -> None:
    code = """
import sys
from dovetail.answers import Plan
from dovetail.answers.payment import Payment
from dovetail.answers.quote import Standing
from dovetail.pricing.quote import quote
from dovetail.query import Count, Schema
quote(Schema().table({}), Count(), Payment.of(within=5), Standing())
for name in ("duckdb", "sqlalchemy", "dovetail.ledger", "dovetail.engines"):
    sys.stdout.write(name * (name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_bounds_that_are_left_out_are_those_of_the_schema() -> None:
    spend = dv.Budget.pure(1)
    for kind in (dv.Sum, dv.Mean):
        assert quoted(kind("age"), spend=spend).asked == quoted(kind("age", 0, 120, 1), spend=spend).asked
        assert (
            quoted(kind("age", high=60), spend=spend).asked
            == quoted(kind("age", 0, 60, 1), spend=spend).asked
        )
    undeclared = Table(dv.Schema([dv.Column("age", "number", low=0)]), {"age": Stored("number")})
    with pytest.raises(dv.InvalidQuery, match="high, step"):
        quote(undeclared, dv.Sum("age"), Payment.of(spend=spend), PURE)


def test_without_a_budget_the_currency_is_that_of_the_price() -> None:
    free = Standing()
    assert quoted(dv.Count(), free, within=5).charge == quoted(dv.Count(), within=5).charge
    assert quoted(dv.Count(), free, within=5).affordable is None
    assert quoted(dv.Count(), free, within=5).remaining is None
    found = quoted(dv.Histogram("city", keys="discover"), free, spend=dv.Budget.approximate("0.5", "1e-8"))
    assert found.charge.delta > 0
    assert found.errors(simultaneous=True) == (None,)
    with pytest.raises(dv.InvalidParameter, match="all of it is planned"):
        quoted(dv.Count(), free, queries=5)
    assert (
        quoted(dv.Count(), free, within=5, queries=5).charge == quoted(dv.Count(), within=5, queries=5).charge
    )


def test_a_plan_by_accuracy_is_for_counts_and_says_so() -> None:
    with pytest.raises(dv.InvalidQuery, match="Only counts can be planned"):
        quoted(dv.Sum("age"), within=500, queries=3)
    with pytest.raises(dv.InvalidParameter, match="plan"):
        quoted(dv.Histogram("city", keys="discover"), queries=3)
    approximate = Standing(dv.Budget.approximate(3, "1e-6"))
    many = quoted(dv.Count(), approximate, within=20, queries=20)
    assert many.plan is not None
    assert many.plan.noise == dv.design(within=20, queries=20, delta="1e-6").noise
    assert many.errors() == (20,)


def test_only_a_plan_of_these_data_that_protects_the_same_pays() -> None:
    plan = Plan(1, dv.Geometric("0.1"), 5, dv.Charge.zero(), "add-remove")
    known = Standing(dv.Budget.pure(1), plans=(plan,))
    paid = quoted(dv.Count(), known, plan=plan)
    assert (paid.charge, paid.asked[0].noises) == (dv.Charge.zero(), (plan.noise,))
    # Another ledger's plan of the same number has noise that this one never paid for.
    for other in (replace(plan, noise=dv.Geometric(9)), replace(plan, id=2)):
        with pytest.raises(dv.InvalidParameter, match="a plan of these data"):
            quoted(dv.Count(), known, plan=other)
    with pytest.raises(dv.InvalidParameter, match="protects the same: replace"):
        quote(TABLE, dv.Count(), Payment.of(plan=plan), known, neighbours="replace")


def test_an_accuracy_is_not_taken_from_a_plan_of_another_noise_or_of_the_whole_budget() -> None:
    pay: dict[str, Any] = {"within": 20, "queries": 3}
    sketch = quoted(dv.Count(), **pay)
    assert sketch.plan is not None
    other = Plan(1, dv.Geometric("0.05"), 3, dv.Charge.zero(), "add-remove")
    whole, own = replace(sketch.plan, id=2, session=True), replace(sketch.plan, id=3)
    assert (
        quoted(dv.Count(), Standing(dv.Budget.pure(1), plans=(other, whole)), **pay).charge == sketch.charge
    )
    paid = quoted(dv.Count(), Standing(dv.Budget.pure(1), plans=(other, whole, own)), **pay)
    assert (paid.plan, paid.charge, paid.errors()) == (own, dv.Charge.zero(), (20,))


def test_the_errors_of_all_cells_at_once_are_wider() -> None:
    found = quoted(dv.Histogram("sex"), within=20)
    assert found.errors() == (20,)
    assert found.errors("0.9") < found.errors() < found.errors(simultaneous=True)
    assert found.errors(simultaneous=True) == (found.asked[0].noises[0].error_bound(Fraction(1, 20), 2),)
    assert quoted(dv.Mean("age"), spend=dv.Budget.pure(1)).errors() == (None,)


NEVER_NEGATIVE = [dv.Histogram("sex"), dv.Sum("age"), dv.Variance("age"), dv.Std("age"), dv.Ranges("age")]


@pytest.mark.parametrize(
    ("query", "clamped"),
    [
        *((query, True) for query in (*NEVER_NEGATIVE, dv.Marginals("sex", way=1))),
        *((query, False) for query in (dv.Sum("age", low=-1), dv.Mean("age"), dv.Median("age"))),
        (dv.Linear("sex", {"F": 1, "M": -1}, step=1), False),
        ([dv.Count(), dv.Sum("age", low=-1)], False),
    ],
    ids=repr,
)
def test_only_what_cannot_be_negative_is_cut_off_at_0(query: Any, clamped: bool) -> None:
    pay: dict[str, Any] = {"noise": dv.Geometric("0.1")}
    if clamped:
        assert quoted(query, clamp=True, **pay).charge == quoted(query, **pay).charge
    else:
        with pytest.raises(dv.InvalidQuery, match="can be cut off at 0"):
            quoted(query, clamp=True, **pay)


@pytest.mark.parametrize("shares", [1, 3, 7])
def test_the_shares_of_a_delta_add_up_to_no_more_than_it(shares: int) -> None:
    each = delta_share(Payment(delta=Fraction(1, 10**8)), shares)
    assert each * shares <= 10**10 < (each + 1) * shares


@pytest.mark.parametrize("wrong", [5, [], None, ["SELECT"], iter(())])
def test_what_is_no_query_is_refused(wrong: Any) -> None:
    with pytest.raises(dv.InvalidParameter, match="queries"):
        quoted(wrong, within=5)


def test_a_quote_reads_well_and_goes_through_json() -> None:
    told = quoted([dv.Count(), dv.Mean("age")], spend=dv.Budget.pure(2))
    assert told.affordable is False
    assert told.remaining is None
    assert "affordable  no" in repr(told)
    assert "depends on the rows" in str(told)
    assert "<td>no</td>" in told._repr_html_()
    found = json.loads(told.to_json())
    assert found["schema"] == "dovetail.quote/2"
    assert found["errors"] == ["3", None]
    assert (found["affordable"], found["remaining"], found["plan"]) == (False, None, None)
    assert dv.Charge.from_dict(found["charge"]) == told.charge
    assert [each["question"] for each in found["asked"]] == [each.question.to_dict() for each in told.asked]
    other = quoted([dv.Count(), dv.Mean("age")], spend=dv.Budget.pure("1.9"))
    assert told.digest == quoted([dv.Count(), dv.Mean("age")], spend=dv.Budget.pure(2)).digest
    assert told.digest != other.digest


def test_a_quote_of_another_kind_of_neighbour_is_not_answered(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,age,city\nF,30,x\n")
    with dv.Session(tmp_path / "people.csv", schema=TABLE.schema, budget=dv.Budget.pure(1)) as session:
        other = quote(TABLE, dv.Count(), Payment.of(within=5), PURE, neighbours="replace")
        for wrong in (other, None, dv.Count()):
            with pytest.raises(dv.InvalidParameter, match="quote"):
                session.answer(wrong)  # type: ignore[arg-type]
        assert not session.begun
