"""Quantiles, ranges and extremes of days and times: values, rounding, refusals, all forms of an answer."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dv
from dovetail.engines import Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.noise import Geometric
from dovetail.query.times import moment_of, number_of, time_step, value_at

QUIET = Geometric(20)
DAYS = [date(2024, 1, 1) + timedelta(days=number * number % 90) for number in range(400)]
TIMES = [datetime(2024, 1, 1, 6) + timedelta(minutes=37 * number % 900) for number in range(400)]
DATA = pyarrow.table({"born": DAYS, "at": TIMES, "k": ["a", "b"] * 200})
SCHEMA = dv.Schema(
    [
        dv.Column("born", "date", low="2024-01-01", high="2024-04-30"),
        dv.Column("at", "timestamp", low="2024-01-01", high="2024-01-02", step=3600),
        dv.Column("k", "text", values=["a", "b"]),
    ]
)


def opened(folder: Path, **options: Any) -> dv.Session:
    given = {"schema": SCHEMA, "budget": dv.Budget.pure(10**4)} | options
    return dv.Session(DATA, name="rows", ledger=folder / "rows.ledger", **given)


def test_quantiles_of_days_and_times_are_days_and_times(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        middle = session.median("born", noise=QUIET)
        assert middle.value == sorted(DAYS)[199]
        assert middle.interval() == (middle.value, middle.value)
        assert session.min("born", noise=QUIET).value == min(DAYS)
        assert session.max("born", noise=QUIET).value == max(DAYS)
        weeks = session.median("born", high="2024-04-29", step=timedelta(days=7), noise=QUIET)
        assert abs(weeks.value - middle.value) <= timedelta(days=4)
        hours = session.quantiles("at", [0.25, 0.75], by="k", noise=QUIET)
        assert hours.table.schema.field("value").type == pyarrow.timestamp("us")
        assert all(isinstance(each, datetime) and each.minute == 0 for each in hours.value)
        sql = session.sql("SELECT k, MEDIAN(born), MIN(at) FROM data GROUP BY k", noise=QUIET)
        assert sql.value["min_at"] == [datetime(2024, 1, 1, 6)] * 2
        assert sql.table.schema.field("median_born").type == pyarrow.date32()


def test_ranges_of_days_take_days(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        answer = session.cdf("born", noise=QUIET)
        first, last = date(2024, 1, 10), date(2024, 2, 20)
        found = answer.range(first, "2024-02-20", level="0.999999999")
        assert found.low <= sum(first <= day <= last for day in DAYS) <= found.high
        assert answer.quantile(0.5).value == sorted(DAYS)[199]
        assert "2024-02" in str(answer.quantile(0.5))
        assert answer.cdf().column("born").type == pyarrow.date32()
        assert answer.table.schema.field("born up to").type == pyarrow.date32()
        with pytest.raises(dv.InvalidParameter, match="wrong way round"):
            answer.range(last, first)
        answer.plot().figure.canvas.draw()


def test_every_form_of_an_answer_shows_days(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        middle = session.median("born", by="k", noise=QUIET)
        shown = sorted(day for day, k in zip(DAYS, DATA["k"].to_pylist(), strict=True) if k == "a")[99]
        assert json.loads(middle.to_json())["rows"][0]["value"] == shown.isoformat()
        for text in (str(middle), middle._repr_html_()):
            assert str(shown) in text
        ax = middle.plot()
        ax.figure.canvas.draw()
        assert str(shown) in ax.texts[0].get_text()
        sql = session.sql("SELECT k, MAX(at) FROM data GROUP BY k", noise=QUIET)
        assert "2024-01-01 2" in str(sql)
        assert json.loads(sql.to_json())["rows"][0]["max_at"]["value"].startswith("2024-01-01T2")
        sql.plot().figure.canvas.draw()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.datetimes(datetime(1960, 1, 1), datetime(2040, 1, 1)) | st.none(), max_size=20),
    st.datetimes(datetime(1969, 12, 1), datetime(1970, 2, 1)),
    st.integers(1, 10**14),
    st.integers(1, 30),
)
def test_times_are_rounded_to_the_nearest_step_from_low_on(
    rows: list[datetime | None], low: datetime, microseconds: int, steps: int
) -> None:
    step = Fraction(microseconds, 10**6)
    high = low + steps * timedelta(microseconds=microseconds)
    engine = connect(Source.of(pyarrow.table({"t": pyarrow.array(rows, pyarrow.timestamp("us"))}), name="t"))
    question = dv.Ranges("t", low, high, step).checked(dv.Schema().table(engine.columns()))
    cells = [0] * (steps + 1)
    for row in filter(None, rows):
        place = (number_of(row) - number_of(low)) / step
        cells[min(max((2 * place + 1) // 2, 0), steps)] += 1
    (found,) = true_cells(engine, question)
    assert list(found[: steps + 1]) == cells
    engine.close()


@given(st.dates() | st.datetimes())
def test_days_and_times_come_back_from_their_numbers(moment: date) -> None:
    kind = "timestamp" if isinstance(moment, datetime) else "date"
    assert moment_of(kind, number_of(moment)) == moment


def test_a_question_about_days_is_read_back() -> None:
    from dovetail.query.canonical_form import read_question

    question = dv.Median("born").checked(SCHEMA.table())
    again = read_question(question.to_dict())
    assert again.to_dict() == question.to_dict()
    lattice = again.measure.steps.lattice  # type: ignore[attr-defined]
    assert moment_of("date", value_at(lattice, 0)) == date(2024, 1, 1)


def test_texts_that_are_declared_days_are_ranked_and_others_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("day,other\n2024-01-05,\n2024-01-06,\nnever,\n2024-01-06,\n")
    schema = dv.Schema([dv.Column("day", "date", low="2024-01-01", high="2024-01-31")])
    with dv.Session(path, schema=schema, budget=dv.Budget.pure(200), ledger=tmp_path / "l.ledger") as session:
        assert session.max("day", noise=QUIET).value == date(2024, 1, 6)
        assert session.ranges("day", noise=QUIET).range().value == pytest.approx(3)
        with pytest.raises(dv.InvalidQuery, match="as days"):
            session.max("other", low="2024-01-01", high="2024-01-31", noise=QUIET)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (dv.Median("born", high="2024-04-28", step=7), "whole number of steps"),
        (dv.Median("born", low="2024-05-01"), "high='2024-.*wrong way round"),
        (dv.Median("born", step="0.5"), "whole days"),
        (dv.Median("born", step=timedelta(hours=5)), "whole days"),
        (dv.Median("born", low=3), "born"),
        (dv.Median("born", kind="cont"), "between two"),
        (dv.Median("at", step=0), "above 0"),
        (dv.Median("at", step="1e-7"), "0.000001"),
        (dv.Median("at", step=timedelta(milliseconds=1), by=("k",)), "larger step"),
        (dv.Variance("born", "2024-01-01", "2024-02-01", 1), "only numbers"),
        (dv.Sum("at", 0, 1, 1), "only numbers"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_of_times_is_refused_and_spends_nothing(
    tmp_path: Path, query: Any, problem: str
) -> None:
    with opened(tmp_path) as session:
        with pytest.raises(dv.DovetailError, match=problem):
            session.batch([query], noise=Geometric(1))
        assert not session.begun


def test_times_without_a_step_say_what_is_missing(tmp_path: Path) -> None:
    with opened(tmp_path, schema=None) as session:
        with pytest.raises(dv.InvalidQuery, match="seconds"):
            session.median("at", low="2024-01-01", high="2024-01-02", noise=QUIET)
        assert not session.begun


def test_a_step_may_be_a_timedelta() -> None:
    from dovetail.query.field import Field

    assert time_step(Field("d", "date"), timedelta(days=7)) == 7
    assert time_step(Field("t", "timestamp"), timedelta(microseconds=5)) == Fraction(5, 10**6)
