"""The session as a user meets it, with a real ledger."""

import json
import logging
import subprocess
import sys
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import dovetail as dv
from dovetail.errors import (
    BudgetExceeded,
    BudgetMismatch,
    InvalidQuery,
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


def test_a_closed_session_refuses_and_spends_nothing(tmp_path: Path) -> None:
    session = opened(tmp_path)
    session.close()
    with pytest.raises(InvalidQuery, match="session is closed"):
        session.count(noise=dv.Geometric(1))
    with pytest.raises(InvalidQuery, match="session is closed"):
        session.plan(dv.Geometric(1), queries=2)
    with opened(tmp_path) as again:
        assert again.remaining.epsilon == 10
