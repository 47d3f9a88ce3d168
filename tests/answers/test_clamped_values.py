"""Error bars cover the noise; what clamping changes is said beside every number that it can change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.query.field import Field
from dovetail.query.lattice import Lattice

DAYS = [date(2024, 1, day) for day in (3, 10, 28)]
TIMES = [datetime(2024, 1, 1, hour) for hour in (3, 4, 5)]
TABLE: dict[str, list[Any]] = {
    "age": [20, 40, 90],
    "cost": [0.5, 3.0, 5.0],
    "sex": ["F", "M", "F"],
    "day": DAYS,
    "at": TIMES,
}
SCHEMA = dv.Schema(
    [
        dv.Column("age", "integer", low=17, high=30),
        dv.Column("cost", "number", low=0, high=6),
        dv.Column("day", "date"),
    ],
    derived={
        "fee": "CASE WHEN age < 30 THEN 2 WHEN age < 50 THEN 10 ELSE 90 END",
        "half": "FLOOR(cost / 2.5) * 2.5",
        "thirds": "FLOOR(cost / 1.5) * 1.5",
    },
)
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


@pytest.mark.parametrize("method", ["sum", "mean", "variance", "std", "median", "ranges"])
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


def test_quantiles_of_rounded_days_and_times_say_so(session: dv.Session) -> None:
    """Of the days 3, 10 and 28 the median by weeks is the 8th: ± 0 would be wrong without a word."""
    weeks = session.median("day", low="2024-01-01", high="2024-01-22", step=7, noise=dv.Geometric(40))
    assert weeks.interval() == (date(2024, 1, 8), date(2024, 1, 8))
    assert weeks.remarks()[0] == (
        "Values of day before 2024-01-01 count as 2024-01-01, and those after 2024-01-22 as 2024-01-22, and "
        "all are rounded to steps of 7 days; the error bars do not cover that."
    )
    days = session.quantiles("day", [0.5, 0.75], low="2024-01-01", high="2024-01-31", noise=dv.Geometric(9))
    assert days.remarks()[0] == (
        "Values of day before 2024-01-01 count as 2024-01-01, and those after 2024-01-31 as 2024-01-31; the "
        "error bars do not cover that."
    )
    whole: dict[str, Any] = {"low": "2024-01-01 00:00", "high": "2024-01-02 12:00", "step": 43_200}
    times = session.median("at", **whole, noise=dv.Geometric(9)).remarks()[0]
    assert "after 2024-01-02 12:00:00 as 2024-01-02 12:00:00, and all" in times
    assert "rounded to steps of 43,200 seconds;" in times


@pytest.mark.parametrize("method", ["sum", "mean", "variance", "median"])
def test_bounds_that_change_derived_values_are_said_and_others_are_not(
    session: dv.Session, method: str
) -> None:
    ask = getattr(session, method)
    noise = dv.Geometric(9)
    said = "Values of fee below 2 count as 2, and those above 10 as 10; the error bars do not cover that."
    narrow = ask("fee", low=2, high=10, step=1, noise=noise)
    assert narrow.remarks() == (said,)
    (kept,) = type(narrow).from_json(narrow.to_json()).remarks()
    assert "below 2 count as 2, and those above 10 as 10;" in kept
    (coarse,) = ask("fee", low=0, high=100, step=20, noise=noise).remarks()
    assert "rounded to multiples of 20" in coarse
    assert (
        ask("fee", noise=noise).remarks() == ask("fee", low=0, high=90, step=2, noise=noise).remarks() == ()
    )


def test_bins_of_any_width_are_added_up_as_they_are(session: dv.Session) -> None:
    """By steps of 1, a bin that begins at 2.5 was counted as 2, or refused."""
    # The noise is stretched twelvefold: at a rate of 25 it is 0 but for a chance of 3e-11.
    for column in ("half", "thirds"):
        answer = session.sum(column, noise=dv.Geometric(300))
        assert answer.value == 7.5
        assert answer.remarks() == ()
    by_text = session.sql("SELECT SUM(FLOOR(cost / 2.5) * 2.5) FROM data", noise=dv.Geometric(300))
    assert by_text.value == 7.5


def test_rounded_weights_are_said_and_others_are_not(session: dv.Session) -> None:
    """A weight of 1/3 that counts as 1/4 makes the sum over two rows 0.5 ± 0, where it is 0.667."""
    answer = session.linear("sex", {"F": "1/3", "M": 0}, step="1/4", noise=dv.Geometric(40))
    assert answer.interval() == (0.5, 0.5)
    (said,) = answer.remarks()
    assert said == "Weights were rounded to multiples of 0.25; the error bars do not cover that."
    assert dv.Answer.from_json(answer.to_json()).remarks() == (said,)
    assert session.linear("sex", {"F": "1/2", "M": -1}, step="1/4", noise=dv.Geometric(9)).remarks() == ()


def test_tables_that_leave_out_rows_of_other_columns_say_so(tmp_path: Path) -> None:
    """Two of three rows have no cell of `ward`, so that a table of `sex` counts one, ± 0."""
    rows = pyarrow.table({"sex": ["F", "F", "M"], "ward": ["eye", "ear", None], "hall": ["a", "b", "c"]})
    columns = [
        dv.Column("sex", "text", values=["F", "M"], other="else"),
        dv.Column("ward", "text", values=["eye"]),
        dv.Column("hall", "text", values=["a"], other="else"),
    ]
    options: dict[str, Any] = {"budget": dv.Budget.pure(1000), "ledger": tmp_path / "wards.ledger"}
    with dv.Session(rows, name="wards", schema=dv.Schema(columns), protects="rows", **options) as session:
        noise = dv.Geometric(40)
        tables = session.marginals("sex", "ward", way=1, noise=noise)
        assert tables.table("sex").column("value").to_pylist() == [1, 0, 0]
        (said,) = tables.remarks()
        assert said == (
            "A row counts if it has a cell in every column: rows beyond the cells of ward are in no table."
        )
        assert said in str(tables)
        assert said in tables.to_dict()["remarks"]
        assert tables.consistent().remarks()[0] == said
        # Every row has a cell, or every table shows which rows it is about.
        assert session.marginals("sex", "hall", way=1, noise=noise).remarks() == ()
        assert session.marginals("sex", "ward", way=2, noise=noise).remarks() == ()


def test_runs_say_which_rows_they_leave_out(tmp_path: Path) -> None:
    rows = pyarrow.table({"who": ["p", "p", "q"], "sex": ["F", "F", "M"], "ward": ["eye", "ear", "eye"]})
    columns = [
        dv.Column("sex", "text", values=["F", "M"], other="else"),
        dv.Column("ward", "text", values=["eye", "ear"]),
    ]
    told = {}
    for name, who in {"rows": {"protects": "rows"}, "persons": {"unit": "who", "max_rows": 2}}.items():
        given: dict[str, Any] = {**who, **({"max_cells": 1} if name == "persons" else {})}
        with dv.Session(
            rows,
            name=name,
            schema=dv.Schema(columns),
            budget=dv.Budget.pure(100),
            ledger=tmp_path / f"{name}.ledger",
            **given,
        ) as session:
            run = session.online("sex", "ward", queries=10, spend=dv.Budget.pure(10))
            answer = run.count(where="sex = 'F'")
            told[name] = answer.bounded
            assert answer.to_dict()["bounded"] == answer.bounded
            assert str(answer.bounded) in str(answer)
    assert told["rows"] == "rows beyond the cells of ward are left out"
    assert told["persons"] == (
        "at most 2 rows and 1 cell per person are used; counts of rows are at most the true ones; rows "
        "without who are left out; rows beyond the cells of ward are left out"
    )


def test_a_select_says_it_once(session: dv.Session) -> None:
    answer = session.sql("SELECT SUM(age), AVG(age), COUNT(*) FROM data", noise=dv.Geometric(1))
    assert str(answer).count(AGES) == 1


def test_bounds_are_said_to_the_last_digit() -> None:
    pay = Lattice(Field("pay", "number"), 0, 12_345_678, Fraction(1, 100))
    (said,) = pay.clamping()
    assert "those above 123,456.78 as 123,456.78, and all are rounded to multiples of 0.01;" in said
