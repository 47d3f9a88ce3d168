"""Error bars cover the noise; what clamping changes is said beside every number that it can change."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.query.field import Field
from dovetail.query.lattice import Lattice

TABLE = {"age": [20, 40, 90], "cost": [0.5, 1.25, 7.0], "sex": ["F", "M", "F"]}
SCHEMA = dv.Schema([dv.Column("age", "integer", low=17, high=30), dv.Column("cost", "number")])
AGES = "Values of age below 17 count as 17, and those above 30 as 30; the error bars do not cover that."
COSTS = (
    "Values of cost below 0.5 count as 0.5, and those above 5 as 5, and all are rounded to multiples of 0.5; "
    "the error bars do not cover that."
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[dv.Session]:
    options: dict[str, Any] = {"budget": dv.Budget.pure(1000), "ledger": tmp_path / "clamped.ledger"}
    with dv.Session(pyarrow.table(TABLE), name="people", schema=SCHEMA, **options) as opened:
        yield opened


@pytest.mark.parametrize("method", ["sum", "mean", "variance", "std"])
def test_a_clamped_number_says_what_its_error_bar_leaves_out(session: dv.Session, method: str) -> None:
    for column, bounds, said in (("age", (17, 30, 1), AGES), ("cost", ("0.5", 5, "0.5"), COSTS)):
        low, high, step = bounds
        answer = getattr(session, method)(column, low=low, high=high, step=step, noise=dv.Geometric(1))
        assert answer.remarks()[0] == said
        assert said in str(answer)
        assert said in answer.to_dict()["remarks"]


def test_counts_and_sums_of_derived_values_have_nothing_to_say(session: dv.Session) -> None:
    assert session.count(noise=dv.Geometric(1)).remarks() == ()
    assert session.sum("CASE WHEN age > 30 THEN 1 ELSE 0 END", noise=dv.Geometric(1)).remarks() == ()


def test_a_select_says_it_once(session: dv.Session) -> None:
    answer = session.sql("SELECT SUM(age), AVG(age), COUNT(*) FROM data", noise=dv.Geometric(1))
    assert str(answer).count(AGES) == 1


def test_bounds_are_said_to_the_last_digit() -> None:
    pay = Lattice(Field("pay", "number"), 0, 12_345_678, Fraction(1, 100))
    assert "those above 123,456.78 as 123,456.78, and all are rounded to multiples of 0.01;" in pay.clamping()
