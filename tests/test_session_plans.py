"""Plans of a session: a whole budget or a part of it, for a number of answers."""

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import dovetail as dv
from dovetail.errors import (
    BudgetExceeded,
    InvalidParameter,
)

PEOPLE = pyarrow.table({"age": [20, 30, 40, 50], "sex": ["F", "M", "F", "M"]})


def opened(tmp_path: Path, **options: object) -> dv.Session:
    options = {"budget": dv.Budget.pure(10), "ledger": tmp_path / "test.ledger"} | options
    return dv.Session(dv.datasets.adult(), **options)  # type: ignore[arg-type]


def test_who_waits_for_a_plan_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", logger="dovetail")
    for _ in range(2):
        opened(tmp_path, queries=3).close()
    assert [record.message for record in caplog.records if "Planning" in record.message] == [
        "Planning the whole budget of adult for 3 answers: a few seconds, once"
    ]


def test_a_whole_budget_plan_is_kept_when_the_session_opens_again(tmp_path: Path) -> None:
    options = {"budget": dv.Budget.approximate(1, 1e-6), "queries": 3}
    with opened(tmp_path, **options) as session:
        session.count(where="age > 30")
        assert session.remaining.epsilon < Fraction(1, 1000)
    with opened(tmp_path, **options) as session:
        session.count(where="age > 40")
        session.count(where="age > 50")
        assert session.count(where="age > 30").stored
        with pytest.raises(BudgetExceeded):
            session.count(where="age > 60")
    with pytest.raises(InvalidParameter, match="as this budget was planned before"):
        opened(tmp_path, budget=options["budget"], queries=4)


@pytest.mark.parametrize(
    "budget",
    [dv.Budget.pure(1), dv.Budget.approximate(1, "1e-6"), dv.Budget.zeta("0.5", max_epsilon=2)],
    ids=str,
)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_planned_budget_is_spent_whole_and_never_exceeded(
    tmp_path: Path, budget: dv.Budget, neighbours: str
) -> None:
    from dovetail.privacy import privacy_loss

    with opened(tmp_path, budget=budget, queries=5, neighbours=neighbours) as session:
        (plan,) = session.plans
        assert budget.allows(dv.Charge.zero(), plan.charge)
        uses = 5 if neighbours == "add-remove" else 10
        total = privacy_loss(plan.noise).compose(uses)
        if budget.currency == "approximate":
            assert float(budget.delta_limit) * 0.5 < total.delta(1) <= float(budget.delta_limit)
        else:
            limit = budget.zeta_limit or budget.epsilon_limit
            reached = total.epsilon if budget.zeta_limit is None else total.zeta
            assert float(limit) * 0.99 < reached <= limit


def test_a_mean_uses_two_slots_of_a_plan(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        plan = session.plan(dv.Geometric("0.1"), queries=3)
        session.mean("age", low=0, high=100, step=1, plan=plan)
        with pytest.raises(BudgetExceeded):
            session.mean("age", low=0, high=101, step=1, plan=plan)
        session.count(plan=plan)
        with pytest.raises(BudgetExceeded):
            session.count(where="age > 3", plan=plan)


def test_an_answer_says_what_its_plan_cost_and_how_many_are_left(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dv.Budget.pure(3)) as session:
        plan = session.plan(dv.Geometric("0.5"), queries=4)
        answer = session.mean("age", low=0, high=100, step=1, plan=plan)
        said = "2 left of its 4 answers (epsilon 2 in the worst case, zeta 1.08011 on average)"
        assert said in str(answer)
        assert said in answer._repr_html_()
        assert json.loads(answer.to_json())["paid_by"]["left"] == 2
        assert repr(session.plans[0]).startswith(f"<plan {plan.id}: 2 left of 4 answers with ")
        assert session.plans == [plan]


def test_sessions_that_begin_at_once_share_one_plan(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    data.write_text("a\n" + "1\n" * 10)
    place = tmp_path / "a.ledger"

    def begun(_: int) -> int:
        with dv.Session(data, budget=dv.Budget.pure(2), ledger=place, queries=5) as session:
            return session.plans[0].id

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(begun, range(6)))) == 1
    with dv.Session(data, ledger=place) as session:
        assert len(session.plans) == 1
    with dv.Session(data, ledger=tmp_path / "b.ledger", budget=dv.Budget.pure(2)) as session:
        design = dv.Geometric("0.01")
        assert session.plan(design, queries=2).id == session.plan(design, queries=2).id
        assert session.plan(design, queries=2, name="more").id != session.plan(design, queries=2).id
