"""What can be made of noisy tables: smaller tables, consistent counts, synthetic rows, pictures, JSON."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import dovetail as dv
from dovetail.answers import marginals
from dovetail.answers.synthetic import LABEL
from dovetail.noise import Geometric
from dovetail.release.stored_answers import recalled

SCHEMA = dv.Schema(
    [
        dv.Column("a", "text", values=["x", "y", None]),
        dv.Column("b", "integer", values=[0, 1], other="else"),
        dv.Column("age", "integer", low=0, high=99),
    ]
)
ROWS = [("xy"[i % 3 == 0] if i % 7 else None, i % 4, i * 31 % 100) for i in range(900)]
DATA = pyarrow.table(dict(zip(("a", "b", "age"), map(list, zip(*ROWS, strict=True)), strict=True)))
ASKED: dict[str, Any] = {"bins": {"age": [0, 30, 60, 100]}}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("tables") / "rows.ledger"
    with dv.Session(DATA, name="rows", ledger=place, budget=dv.Budget.pure(1000), schema=SCHEMA) as opened:
        yield opened


@pytest.fixture(scope="module", params=["plain", "joint", "residuals"])
def answer(session: dv.Session, request: pytest.FixtureRequest) -> dv.MarginalsAnswer:
    return session.marginals("a", "b", "age", strategy=request.param, noise=Geometric("0.3"), **ASKED)


def test_smaller_tables_have_exact_laws_of_their_own(answer: dv.MarginalsAnswer) -> None:
    """A table within others: the interval of its sum of cells is narrower than adding up the cells' own."""
    one = answer.table("b", level=0.99).to_pydict()
    assert one["b"] == ["0", "1", "else"]
    around = answer.table("a", "b", level=0.99).to_pydict()
    cell = around["high"][0] - around["value"][0]
    assert cell < one["high"][0] - one["value"][0] < 3 * cell
    whole = answer.table(level="0.999999999").to_pydict()
    assert whole["low"][0] <= 900 <= whole["high"][0]
    wide = answer.table("b", simultaneous=True).to_pydict()
    assert wide["high"][0] > answer.table("b").to_pydict()["high"][0]


def test_bars_of_a_smaller_table_cover(session: dv.Session) -> None:
    """Over 300 draws an interval of 0.9 that misses more than 0.25 would happen once in 10^9 runs."""
    for strategy in ("plain", "joint", "residuals"):
        asked = dv.Marginals("a", "b", strategy=strategy, way=2).checked(session._table)  # type: ignore[arg-type]
        measure: Any = asked.measure
        noises = [Geometric("0.2")] * len(measure.components())
        half = float(measure.half_width(noises, (1,), Fraction(1, 10)))
        size = sum(component.parts for component in measure.components())
        drawn = np.asarray(Geometric("0.2").sample(300 * size)).reshape(300, size)
        missed = [abs(measure.table(row, noises, (1,))[0]) > half for row in drawn]
        assert np.mean(missed) <= 0.25
        assert np.mean([abs(measure.table(row, noises, (1,))[0]) > half / 5 for row in drawn]) > 0.25


def test_consistent_counts_are_whole_and_agree_exactly(answer: dv.MarginalsAnswer) -> None:
    made = answer.consistent()
    assert made.clamp
    counts = made.values()
    assert all(count >= 0 and count.denominator == 1 for count in counts)
    totals = {sum(made.table(*names)["value"].to_pylist()) for names in made.tables}
    assert len(totals) == 1
    shared = [
        made.table("b", other).to_pandas().groupby("b")["value"].sum().tolist() for other in ("a", "age")
    ]
    assert shared[0] == shared[1] == sorted_counts(made, "b")
    assert "biased" in str(made)
    assert "biased" not in str(answer)
    # Intervals stay around the unbiased counts.
    assert made.table("a", "b")["high"].to_pylist() == pytest.approx(
        np.maximum(answer.table("a", "b")["high"].to_numpy(), 0)
    )


def sorted_counts(answer: dv.MarginalsAnswer, column: str) -> list[Any]:
    return answer.table(column).to_pandas().sort_values(column)["value"].tolist()


def test_synthetic_rows_look_like_the_tables_and_say_what_they_are(
    answer: dv.MarginalsAnswer, tmp_path: Path
) -> None:
    place = tmp_path / "made.parquet"
    rows = answer.synthetic(1000, to=place)
    assert rows.equals(answer.synthetic(1000))
    assert rows.num_rows == 1000
    assert rows.schema.metadata[b"dovetail.synthetic"].decode() == LABEL
    assert pyarrow.parquet.read_table(place).equals(rows)
    assert set(rows["age"].to_pylist()) == {"[0, 30)", "[30, 60)", "[60, 100)"}
    assert set(rows["b"].to_pylist()) == {"0", "1", "else"}
    assert None in rows["a"].to_pylist()
    shares = rows.to_pandas()["b"].value_counts(normalize=True)
    true = [sum(row[1] == value for row in ROWS) / 900 for value in (0, 1)]
    assert [shares["0"], shares["1"]] == pytest.approx(true, abs=0.05)
    # The schema beside the file lets it be asked at once.
    with dv.Session(place, budget=dv.Budget.pure(99), ledger=tmp_path / "made.ledger") as made:
        assert abs(sum(made.histogram("b", "age", noise=Geometric(30)).value) - 1000) <= 3
    assert abs(answer.synthetic().num_rows - 900) < 300


def test_tables_that_count_nothing_make_one_row(answer: dv.MarginalsAnswer) -> None:
    for sign in (0, -1):
        empty = replace(answer, cells=(tuple(sign * abs(number) for number in answer.cells[0]),))
        assert empty.synthetic().num_rows == 1
        assert empty.synthetic(7).num_rows == 7


def test_tables_survive_the_ledger_and_json(session: dv.Session, answer: dv.MarginalsAnswer) -> None:
    """The stored record is the raw released integers; everything else is computed from them again."""
    told = json.loads(answer.to_json())
    assert set(told["rows"][0]["keys"]) == {"a", "b"}
    assert dv.MarginalsAnswer.from_json(answer.to_json()).table("a").equals(answer.table("a"))
    assert len(told["rows"]) == len(answer.values())
    assert answer.to_csv("b", "a").splitlines()[0] == "b,a,value,low,high,stored,answered_at"
    assert len(answer.to_csv().splitlines()) == 1 + len(answer.values())
    asked = {"question": answer.query.to_dict(), "noise": [noise.to_dict() for noise in answer.noises]}
    body = json.dumps({"asked": [asked], "neighbours": "add-remove", "source": ""})
    stored = json.dumps({"cells": [answer.cells], "charge": answer.charge.to_dict()})
    standing = session._account.standing()
    (again,) = recalled("rows", body, stored, answer.answered_at, standing, answer.level)
    assert isinstance(again, dv.MarginalsAnswer)
    assert again.values() == answer.values()
    assert again.table("a", "age").equals(answer.table("a", "age"))


def test_every_line_of_csv_has_a_field_for_each_name(answer: dv.MarginalsAnswer) -> None:
    for text, first in ((answer.to_csv(), "table"), (answer.to_csv("b", "a"), "b")):
        head, *lines = csv.reader(text.splitlines())
        assert head[0] == first
        assert {len(line) for line in lines} == {len(head)}
    values = answer.table("b", "a")["value"].to_pylist()
    assert [float(line[2]) for line in lines] == values


def test_clamped_tables_are_cut_off_at_0_and_nowhere_else(answer: dv.MarginalsAnswer) -> None:
    turned = tuple(-number if place % 2 else number for place, number in enumerate(answer.cells[0]))
    below = replace(answer, cells=(turned,))
    raw, cut = (each.table("a", "b").to_pydict() for each in (below, replace(below, clamp=True)))
    assert min(raw["value"]) < 0 < max(raw["value"])
    for name in ("value", "low", "high"):
        assert cut[name] == [max(end, 0) for end in raw[name]]


def test_all_tables_stand_below_each_other(answer: dv.MarginalsAnswer) -> None:
    long = answer.to_pandas()
    assert list(long.columns) == ["table", "a", "b", "age", "value", "low", "high"]
    assert long["table"].nunique() == 3
    assert len(long) == len(answer.values())
    assert "a × b" in str(answer)
    assert "<td>a × b</td>" in answer._repr_html_()


def test_pictures_are_drawn(answer: dv.MarginalsAnswer) -> None:
    ax = answer.plot("age", "a")
    assert ax.get_ylabel() == "age"
    assert ax.get_xlabel() == "a"
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x", "y", "(missing)"]
    assert len(answer.plot().axes) == 3
    # Ages go down and the values of a across; asked for the other way round, it is the other way round.
    down, across = (np.asarray(each.images[0].get_array()) for each in (ax, answer.plot("a", "age")))
    table = answer.table("a", "age").to_pydict()
    assert down.shape == (3, 3)
    assert np.array_equal(down, across.T)
    assert across.ravel().argmax() == int(np.argmax(table["value"]))


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda answer: answer.table("nobody"), "different columns among"),
        (lambda answer: answer.table("a", "a"), "different columns"),
        (lambda answer: answer.table("a", "b", "age"), "within a table"),
        (lambda answer: answer.table("a", level=2), "level"),
        (lambda answer: answer.synthetic(0), "rows"),
        (lambda answer: answer.synthetic(True), "rows"),
        (lambda answer: answer.synthetic(to="rows.csv"), "parquet"),
        (lambda answer: answer.plot("a"), "two columns"),
    ],
)
def test_what_an_answer_cannot_give_is_refused(answer: dv.MarginalsAnswer, ask: Any, problem: str) -> None:
    with pytest.raises(dv.DovetailError, match=problem):
        ask(answer)


def test_too_many_cells_are_not_fitted(session: dv.Session) -> None:
    wide = {name: list(range(2100)) for name in ("b", "age")}
    answer = session.marginals("a", "b", "age", way=1, bins=wide, noise=Geometric(1))
    for fit in (answer.synthetic, answer.consistent):
        with pytest.raises(dv.InvalidQuery, match="fitted"):
            fit()


def test_as_many_cells_as_are_allowed_are_fitted(
    answer: dv.MarginalsAnswer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = prod(axis.cells for axis in answer._measure.axes)
    monkeypatch.setattr(marginals, "MOST_FITTED", cells)
    assert answer.consistent()
    monkeypatch.setattr(marginals, "MOST_FITTED", cells - 1)
    with pytest.raises(dv.InvalidQuery, match=f"at most {cells - 1:,} can be fitted"):
        answer.consistent()
