"""HAVING, ORDER BY and LIMIT act on the noisy table, and chosen rows keep error bars that hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom

import dovetail as dv
from dovetail.answers import Answer
from dovetail.answers.formula_values import box_of, value_of
from dovetail.answers.select_layout import laid_out
from dovetail.answers.table import TableAnswer
from dovetail.ledger import Ledger
from dovetail.privacy import Charge
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Bar
from dovetail.query.sql import Selection, read_select
from dovetail.query.sql.formula import Aggregate, Computed, Formula, Number

NOISE = dv.Geometric("0.5")
CELLS, TRUE, RUNS = 100, 50, 200
SCHEMA = dv.Schema(
    [
        dv.Column("k", "integer", values=list(range(CELLS))),
        dv.Column("x", "integer", low=0, high=10),
    ]
)
TABLE = SCHEMA.table()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[dv.Session]:
    with dv.Session(dv.datasets.adult(), budget=dv.Budget.pure(1000), ledger=tmp_path / "a.ledger") as found:
        yield found


@cache
def asked(text: str) -> tuple[Selection, list[CheckedQuery]]:
    selection = read_select(text, TABLE)
    return selection, [query.checked(TABLE) for query in selection.queries]


def drawn(text: str, true: tuple[int, ...]) -> TableAnswer:
    """Return the answer to a SELECT where every cell truly holds the same integers."""
    selection, questions = asked(text)
    answers = []
    for question in questions:
        noises = tuple(NOISE for _ in question.measure.components())
        columns = [NOISE.sample(CELLS) + value for value in true[: len(noises)]]
        cells = tuple(zip(*(map(int, column) for column in columns), strict=True))
        paid = (Charge.zero(), "add-remove", datetime.now(UTC), dv.Budget.pure(1), Charge.zero())
        answers.append(Answer("d", question, noises, cells, *paid))
    return laid_out(text, selection, answers)


def coverage(text: str, name: str, truth: Fraction, true: tuple[int, ...], *, naive: bool) -> tuple[int, int]:
    """Return in how many runs all chosen rows were covered, of those in which some row was chosen."""
    held = made = 0
    for _ in range(RUNS):
        answer = drawn(text, true)
        if naive:
            answer = TableAnswer(answer.text, answer.columns, answer.answers, answer.places, frozenset())
        (column,) = (each for each in answer.columns if each.name == name)
        bars = answer.bars(column, "0.9")
        made += bool(bars)
        held += bool(bars) and all(bar is not None and bar.low <= truth <= bar.high for bar in bars)
    return held, made


SELECTED = [
    ("SELECT k, COUNT(*) AS n FROM data GROUP BY k ORDER BY n DESC LIMIT 1", Fraction(TRUE), (TRUE,)),
    (f"SELECT k, COUNT(*) AS n FROM data GROUP BY k HAVING n > {TRUE + 8}", Fraction(TRUE), (TRUE,)),
    ("SELECT k, 9 * COUNT(*) AS n FROM data GROUP BY k ORDER BY COUNT(*) LIMIT 2", Fraction(450), (TRUE,)),
    # COUNT(x) decides, and the sum is read from the same integers: 2x - 10 in all -50, 50 rows, so 225.
    (
        "SELECT k, AVG(x), SUM(x) AS n FROM data GROUP BY k ORDER BY COUNT(x) DESC LIMIT 1",
        Fraction(225), (-50, 50),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "truth", "true"), SELECTED, ids=range(len(SELECTED)))
def test_bars_of_chosen_rows_hold_as_often_as_they_say(
    text: str, truth: Fraction, true: tuple[int, ...]
) -> None:
    held, made = coverage(text, "n", truth, true, naive=False)
    # So few would be seen once in 10^9 times, were the coverage 90 %.
    assert made > 50
    assert held >= binom.ppf(1e-9, made, 0.9)


@pytest.mark.parametrize(("text", "truth", "true"), SELECTED, ids=range(len(SELECTED)))
def test_bars_that_ignore_the_choice_are_found_out(text: str, truth: Fraction, true: tuple[int, ...]) -> None:
    held, made = coverage(text, "n", truth, true, naive=True)
    assert held < binom.ppf(1e-9, made, 0.9)


def test_what_is_stored_is_the_table_before_the_selection(session: dv.Session, tmp_path: Path) -> None:
    text = "SELECT education, COUNT(*) AS n FROM data GROUP BY education"
    cut = session.sql(f"{text} HAVING n > 1000 ORDER BY n DESC LIMIT 3", noise=NOISE)
    assert len(cut.value) == 3
    assert [len(answer.cells) for answer in cut.answers] == [16]
    whole = session.sql(text, noise=NOISE)
    assert whole.stored
    assert sorted(whole.value, reverse=True)[:3] == cut.value
    with Ledger.open(tmp_path / "a.ledger") as book:
        events = [json.loads(event["content"]) for event in json.loads(book.export("json"))["events"]]
    (stored,) = [json.loads(each["answer"])["cells"] for each in events if each.get("answer")]
    assert [len(cells) for cells in stored] == [16]


def test_arithmetic_between_aggregates(session: dv.Session) -> None:
    answer = session.sql(
        "SELECT sex, COUNT(*) AS n, SUM(age) / COUNT(*) AS mean, 100 * COUNT(*) / 32561 AS share, "
        "-COUNT(*) + 1 AS less FROM data GROUP BY sex ORDER BY mean DESC", noise=NOISE,
    )  # fmt: skip
    rows = answer.table.to_pylist()
    assert [row["sex"] for row in rows] == ["Male", "Female"]
    assert abs(rows[0]["mean"] - 39.43) < 0.5
    assert abs(rows[1]["share"] - 33.08) < 0.5
    for row in rows:
        assert row["less"] == 1 - row["n"]
        assert row["share"] == pytest.approx(100 * row["n"] / 32561)
        for name in ("mean", "share", "less"):
            assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    again = TableAnswer.from_json(answer.to_json())
    assert str(again) == str(answer)
    assert again.table.equals(answer.table)
    assert answer.to_csv().splitlines()[0].startswith("sex,n,n_low,n_high,mean,mean_low,mean_high,share")
    assert answer.plot()


def test_what_divides_by_zero_is_unknown_and_comes_last(session: dv.Session) -> None:
    odd, wide = "1 / (COUNT(*) - COUNT(*)) AS odd", "COUNT(*) / (COUNT(*) - 10000) AS wide"
    text = f"SELECT sex, {odd}, {wide} FROM data GROUP BY sex"
    answer = session.sql(text, noise=NOISE)
    for row in answer.table.to_pylist():
        assert row["odd"] is row["odd_low"] is row["odd_high"] is None
        assert row["wide_low"] < row["wide"] < row["wide_high"]
    assert "unknown" in str(answer)
    assert TableAnswer.from_json(answer.to_json()).value["odd"] == [None, None]
    assert session.sql(f"{text} HAVING odd > 1 OR NOT odd > 1", noise=NOISE).value["odd"] == []
    assert len(session.sql(f"{text} ORDER BY odd DESC", noise=NOISE).value["odd"]) == 2
    narrow = session.sql(
        "SELECT COUNT(*) / (COUNT(*) - COUNT(*)) + 1 AS x, 5 / COUNT(*) AS y FROM data", noise=NOISE
    )
    assert narrow.value["x"] is None
    assert narrow.value["y"] > 0


SMALL = st.fractions(-5, 5, max_denominator=4)


@st.composite
def bars(draw: st.DrawFn) -> Bar:
    low, high = sorted((draw(SMALL), draw(SMALL)))
    return Bar(low, high)


FORMULAS = st.recursive(
    st.builds(Number, SMALL) | st.builds(Aggregate, st.integers(0, 2)),
    lambda inner: st.builds(Computed, st.sampled_from("+-*/"), inner, inner),
    max_leaves=5,
)


@given(
    FORMULAS, st.lists(bars(), min_size=3, max_size=3), st.lists(st.fractions(0, 1), min_size=3, max_size=3)
)
def test_whatever_lies_in_the_bars_gives_a_value_in_the_bar_of_the_formula(
    formula: Formula, around: list[Bar], shares: list[Fraction]
) -> None:
    found = {Aggregate(n): [bar] for n, bar in enumerate(around)}
    points: dict[Aggregate, Any] = {
        Aggregate(n): [bar.low + share * (bar.high - bar.low)]
        for n, (bar, share) in enumerate(zip(around, shares, strict=True))
    }
    bar, value = box_of(formula, found, 0), value_of(formula, points, 0)
    assume(bar is not None)
    assert value is not None
    assert bar.low <= value <= bar.high
