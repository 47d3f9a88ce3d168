"""What a session's answers cost, by each way to pay, and what is quoted before."""

import json
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
    DataError,
    InvalidParameter,
    InvalidQuery,
    MissingPrice,
)

PEOPLE = pyarrow.table({"age": [20, 30, 40, 50], "sex": ["F", "M", "F", "M"]})


def opened(tmp_path: Path, **options: object) -> dv.Session:
    options = {"budget": dv.Budget.pure(10), "ledger": tmp_path / "test.ledger"} | options
    return dv.Session(dv.datasets.adult(), **options)  # type: ignore[arg-type]


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
