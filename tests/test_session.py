"""The session as a user meets it, with a real ledger."""

import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import dovetail as dv
from dovetail.answers.payment import Payment
from dovetail.errors import (
    BudgetExceeded,
    BudgetMismatch,
    DataError,
    InvalidParameter,
    InvalidQuery,
    MissingPrice,
    RequestConflict,
)

PEOPLE = pyarrow.table({"age": [20, 30, 40, 50], "sex": ["F", "M", "F", "M"]})


def opened(tmp_path: Path, **options: object) -> dv.Session:
    options = {"budget": dv.Budget.pure(10), "ledger": tmp_path / "test.ledger"} | options
    return dv.Session(dv.datasets.adult(), **options)  # type: ignore[arg-type]


def test_the_first_private_histogram(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dv.Budget.approximate(1, 1e-6), queries=20) as session:
        answer = session.histogram("education")
        text = str(answer)
    assert answer.table.column_names == ["education", "value", "low", "high"]
    assert answer.table.num_rows == 16
    rows = {row["education"]: row for row in answer.table.to_pylist()}
    assert abs(rows["HS-grad"]["value"] - 10_501) < 1_500
    assert rows["HS-grad"]["low"] < rows["HS-grad"]["value"] < rows["HS-grad"]["high"]
    assert text.splitlines()[0].startswith("Preschool")
    assert "row added or removed" in text
    assert "paid by plan" in text


def test_every_way_to_pay_and_what_it_costs(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        goal = session.count(where="age > 30", within=5, probability=0.95)
        assert goal.noise.error_bound("0.05") <= 5
        low, high = goal.interval()
        assert high - low <= 10
        spent = session.sum("age", low=0, high=120, step=1, spend=dv.Budget.pure("0.25"))
        assert spent.charge.epsilon == Decimal("0.25")
        noise = session.count(noise=dv.GeometricMixture("0.2", 1, 5))
        assert noise.charge.epsilon == 1
        assert float(noise.charge.zeta or 0) == pytest.approx(0.328106, abs=1e-5)
        plan = session.plan(dv.Geometric("0.1"), queries=3)
        before = session.remaining
        for number in range(3):
            assert session.count(where=f"age > {number}", plan=plan).plan == plan.id
        assert session.remaining == before
        with pytest.raises(BudgetExceeded):
            session.count(where="age > 3", plan=plan)
        assert session.plans == [plan]
        with pytest.raises(MissingPrice, match=r"within=5.*spend=.*noise=.*plan=.*queries=20"):
            session.count()
        for wrong in (
            {"within": 5, "noise": dv.Geometric(1)},
            {"probability": 0.9},
            {"within": 0},
            {"within": float("nan")},
            {"within": 5, "probability": 1},
            {"noise": dv.Laplace(1)},
            {"noise": 3},
            {"spend": 1},
            {"plan": 1},
            {"fresh": "yes", "within": 5},
            {"request": "", "within": 5},
        ):
            with pytest.raises(InvalidParameter):
                session.count(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("price", ["epsilon", "zeta", "budget"])
def test_a_price_named_as_elsewhere_says_how_it_is_named_here(tmp_path: Path, price: str) -> None:
    with opened(tmp_path) as session:
        for ask in (session.histogram, session.price, session.sql):
            with pytest.raises(InvalidParameter, match=r"spend=Budget\.pure\(0\.1\)"):
                ask("sex", **{price: 0.1})
        with pytest.raises(TypeError, match="seed"):
            session.count(within=5, seed=1)
        assert session.remaining == session.budget.remaining(dv.Charge.zero())


def test_a_goal_counts_in_the_units_of_the_query(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        answer = session.sum("age", low=0, high=100, step="0.5", within=500)
        low, high = answer.interval()
        assert high - low <= 1000
        assert answer.charge.epsilon is not None
        assert 0.5 < answer.charge.epsilon < 0.7  # about 100·ln(20)/500
        with pytest.raises(InvalidQuery, match="number of rows, which is private"):
            session.mean("age", low=0, high=100, step=1, within=1)


def test_a_price_touches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(PEOPLE, path)
    with dv.Session(path, budget=dv.Budget.pure(1)) as session:
        path.unlink()
        charge = session.price(dv.Histogram("sex", keys=["F", "M"]), noise=dv.Geometric("0.5"))
        assert charge.epsilon == Decimal("0.5")
        assert session.price([dv.Count(), dv.Count("age > 3")], noise=dv.Geometric("0.5")).epsilon == 1
        assert str(session.remaining) == "epsilon 1"
        with pytest.raises(DataError):
            session.count(noise=dv.Geometric("0.5"))
        assert str(session.remaining) == "epsilon 0.5"


def test_replacing_a_row_costs_a_histogram_twice(tmp_path: Path) -> None:
    with opened(tmp_path, neighbours="replace") as session:
        noise = dv.Geometric("0.5")
        assert session.price(dv.Histogram("sex"), noise=noise).epsilon == 1
        assert session.price(dv.Count("age > 3"), noise=noise).epsilon == Decimal("0.5")
        assert session.histogram("sex", spend=dv.Budget.pure(1)).noise == noise
        assert "row replaced" in str(session.histogram("sex", noise=noise))
        assert json.loads(session.histogram("sex", noise=noise).to_json())["neighbours"] == "replace"


def test_the_budget_outlives_the_session_and_its_name_is_not_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(PEOPLE, path)
    with dv.Session(path, budget=dv.Budget.pure(1)) as session:
        first = session.count(noise=dv.Geometric("0.6"))
        assert Path(session.ledger_place).parent == tmp_path
    with dv.Session(path, budget=dv.Budget.pure(1)) as session:
        assert str(session.remaining) == "epsilon 0.4"
        again = session.count(noise=dv.Geometric("0.6"))
        assert again.value == first.value
        assert again.stored
        assert "free: given before" in str(again)
        with pytest.raises(BudgetExceeded) as caught:
            session.count(noise=dv.Geometric("0.6"), fresh=True)
        assert str(caught.value.remaining) == "epsilon 0.4"
    with pytest.raises(BudgetMismatch):
        dv.Session(path, budget=dv.Budget.pure(2))


def test_two_files_under_one_name_share_a_budget_but_no_answer(tmp_path: Path) -> None:
    answers = []
    for folder, rows in (("a", PEOPLE), ("b", PEOPLE.slice(0, 0))):
        (tmp_path / folder).mkdir()
        pyarrow.parquet.write_table(rows, tmp_path / folder / "people.parquet")
        with dv.Session(
            tmp_path / folder / "people.parquet",
            budget=dv.Budget.pure(20),
            ledger=tmp_path / "one.ledger",
            same_data=True,
        ) as session:
            answers.append(session.count(noise=dv.Geometric(9)))
            remaining = session.remaining
    assert not any(answer.stored for answer in answers)
    assert str(remaining) == "epsilon 2"


def test_a_session_says_where_its_budget_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(PEOPLE, path)
    with (
        caplog.at_level(logging.INFO, "dovetail.session"),
        dv.Session(path, budget=dv.Budget.pure(1)) as session,
    ):
        assert session.ledger_place in caplog.text
        assert session.ledger_place in repr(session)


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


def test_error_bars_are_shown_at_the_probability_that_was_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dv.Budget.pure(3)) as session:
        answer = session.histogram("sex", within=5, probability="0.8")
        assert "± 5 " in str(answer)
        assert "80 % interval" in answer._repr_html_()
        assert [row["high"] - row["value"] for row in answer.table.to_pylist()] == [5, 5]
        assert "± holds with probability 0.8;" in str(
            session.sql("SELECT COUNT(*) FROM adult", within=9, probability=0.8)
        )


def test_a_retry_returns_the_answer_and_another_question_under_its_key_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        pay = {"noise": dv.Geometric("0.5"), "request": "abc", "fresh": True}
        first = session.count(where="age > 30", **pay)
        assert session.count(where="age > 30", **pay).value == first.value
        assert str(session.remaining) == "epsilon 9.5"
        with pytest.raises(RequestConflict):
            session.count(where="age > 31", **pay)


def test_an_answer_travels_as_json_and_pandas(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        answer = session.histogram("sex", "income", noise=dv.Geometric("0.5"))
        data = json.loads(answer.to_json())
        assert data["schema"] == "dovetail.answer/2"
        assert data["rows"][0]["keys"] == {"sex": "Female", "income": "<=50K"}
        assert [int(row["value"]) for row in data["rows"]] == answer.value
        assert data["noise"] == {"kind": "piecewise-geometric", "rates": ["0.5"], "breaks": []}
        assert datetime.fromisoformat(data["answered_at"]) == answer.answered_at
        assert list(answer.to_pandas().columns) == ["sex", "income", "value", "low", "high"]
        total = session.sum("age", low=0, high=100, step="0.5", noise=dv.Geometric("0.5"))
        row = json.loads(total.to_json())["rows"][0]
        assert Fraction(row["value"]) == Fraction(total.value)
        linear = session.linear("sex", {"Female": 1, "Male": "-1/2"}, step="1/2", noise=dv.Geometric(1))
        assert abs(linear.value - (10_771 - 21_790 / 2)) < 60


def test_hostile_names_stay_text_in_every_display(tmp_path: Path) -> None:
    table = pyarrow.table({"<script>": ["<b>", "$x_1$"]})
    with dv.Session(table, name="x", budget=dv.Budget.pure(9), ledger=tmp_path / "x.ledger") as session:
        answer = session.histogram("<script>", keys=["<b>", "$x_1$"], noise=dv.Geometric(1))
        html = answer._repr_html_()
        assert "<script>" not in html
        assert "<b>" not in html
        assert "&lt;script&gt;" in html
        answer.plot().figure.savefig(tmp_path / "plot.png")


def test_opening_a_session_loads_nothing_heavy_before_it_is_needed() -> None:
    code = (
        "import sys, dovetail; dovetail.Session, dovetail.Count, dovetail.datasets.adult; "
        "heavy = {'duckdb', 'pyarrow', 'pandas', 'sqlglot', 'sqlalchemy', 'matplotlib', 'scipy'}; "
        "sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_quote_says_what_an_answer_costs_and_how_exact_it_is(tmp_path: Path) -> None:
    with dv.Session(dv.datasets.adult(), budget=dv.Budget.pure(1), ledger=tmp_path / "a.ledger") as session:
        level = Fraction(95, 100)
        assert session.quote(dv.Count(), within=7).errors(level) == (7,)
        assert session.quote(dv.Sum("age", 0, 100, 10), noise=dv.Geometric(1)).errors(level) == (300,)
        assert session.quote(dv.Mean("age", 0, 100, 1), noise=dv.Geometric(1)).errors(level) == (None,)
        planned = session.quote(dv.Histogram("sex"), queries=4)
        answer = dv.Geometric("0.25")
        assert (planned.charge.epsilon, planned.asked[0].noises) == (1, (answer,))
        assert session.quote(dv.Count(), queries=2, noise=dv.Geometric("0.1")).charge.epsilon == Decimal(
            "0.2"
        )
        refused = {"alone": {"spend": dv.Budget.pure(1)}, "for one answer": {"delta": "1e-8", "within": 5}}
        for said, pay in refused.items():
            with pytest.raises(dv.InvalidParameter, match=said):
                session.quote(dv.Count(), queries=2, **pay)
        for wrong in (5, [], None, ["SELECT"]):
            with pytest.raises(dv.InvalidParameter, match="queries"):
                session.quote(wrong, queries=2)
        for slots in (0, -1, "nan", 10**7):
            with pytest.raises(dv.InvalidParameter, match="queries"):
                session.quote(dv.Count(), queries=slots)
        assert (session.remaining.epsilon, session.plans) == (1, [])


def test_each_answer_of_a_batch_says_that_its_cost_is_shared(tmp_path: Path) -> None:
    with dv.Session(dv.datasets.adult(), budget=dv.Budget.pure(9), ledger=tmp_path / "a.ledger") as session:
        first, _, third = session.batch([dv.Count(), dv.Count("age > 40"), dv.Count("age > 50")], within=20)
        assert "together with 2 others" in str(first)
        assert json.loads(third.to_json())["together"] == 3
        pair = session.batch([dv.Count("age > 60"), dv.Count("age > 70")], within=20)
        assert "together with 1 other;" in str(pair[0])
        assert "together" not in str(session.count(where="age > 80", within=20))
        assert "together" not in str(
            session.sql("SELECT COUNT(*), SUM(age) FROM data", noise=dv.Geometric(1))
        )


def test_a_price_with_delta_is_charged_as_named_and_only_where_a_delta_can_be_paid(tmp_path: Path) -> None:
    questions = [dv.Count(f"age > {age}") for age in range(20, 60, 2)]
    spend = dv.Budget.approximate(1, "4e-7")
    adult = dv.datasets.adult()
    with dv.Session(adult, budget=dv.Budget.approximate(2, "1e-6"), ledger=tmp_path / "a.ledger") as session:
        answers = session.batch(questions, spend=spend)
        assert answers[0].charge == dv.Charge.approximate(1, "4e-7")
        assert answers[0].noise.variance() < 0.6 * dv.Geometric("0.05").variance()
        assert session.batch(questions, spend=spend)[0].stored
        # Half of delta is for such events: a second point does not fit, its own Rényi curve does.
        again = session.batch(questions[:12], spend=dv.Budget.approximate("0.2", "2e-7"))[0].charge
        assert again.delta == 0
        assert (again.epsilon or 0) > Decimal("0.2")
    with dv.Session(adult, budget=dv.Budget.pure(2), ledger=tmp_path / "b.ledger") as session:
        answers = session.batch(questions, spend=spend)
        assert answers[0].noise == dv.Geometric("0.05")
        assert (answers[0].charge.epsilon, answers[0].charge.delta) == (1, 0)


def test_a_closed_session_refuses_and_spends_nothing(tmp_path: Path) -> None:
    session = opened(tmp_path)
    session.close()
    with pytest.raises(InvalidQuery, match="session is closed"):
        session.count(noise=dv.Geometric(1))
    with pytest.raises(InvalidQuery, match="session is closed"):
        session.plan(dv.Geometric(1), queries=2)
    with opened(tmp_path) as again:
        assert again.remaining.epsilon == 10


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


@pytest.mark.parametrize(
    "budget",
    [dv.Budget.pure(10), dv.Budget.approximate(10, 1e-6), dv.Budget.zeta(3, max_epsilon=10)],
    ids=str,
)
def test_an_order_of_a_given_noise_costs_what_its_quote_says(tmp_path: Path, budget: dv.Budget) -> None:
    """Its price needs no look at the budget; what is refused is refused in the same words."""
    query, found = dv.Count(where="age > 30"), dv.Histogram("occupation", keys="discover")
    payment = Payment.of(noise=dv.GeometricMixture("0.2", 1, 5))
    with opened(tmp_path, budget=budget) as session:
        quoted = session.quote(query, noise=payment.noise)
        ordered = session.quoted([query], payment, stored=False)
        assert ordered.charge == quoted.charge
        assert session.answer(ordered)[0].charge == quoted.charge
        with pytest.raises(dv.errors.DovetailError) as told:
            session.quote(found, noise=payment.noise)
        with pytest.raises(type(told.value)) as refused:
            session.quoted([found], payment, stored=False)
        assert str(refused.value) == str(told.value)
