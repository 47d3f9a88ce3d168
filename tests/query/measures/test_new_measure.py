"""A measure that only a test knows is priced, asked, stored and shown like those of the package."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from statistics import pvariance
from typing import Any

import duckdb
import pyarrow
import pytest

import dovetail as dv
from dovetail.engines import Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.ledger.entry_words import body_in_words
from dovetail.noise import Geometric, PiecewiseGeometric
from dovetail.pricing.sensitivity import moves, units
from dovetail.query import Schema
from dovetail.query.canonical_form import read_question
from dovetail.query.measures import MEASURES
from dovetail.query.neighbours import NEIGHBOURS
from neighbour_changes import changed, lies_below, neighbouring, tables
from toy_measures import AskDeviation, AskLadder, Deviation, Ladder

ROWS = [(number % 7, "ab"[number % 3 == 0]) for number in range(2000)]
DATA = pyarrow.table(
    {
        "x": [x for x, _ in ROWS],
        "k": [k for _, k in ROWS],
        "person": [number % 400 for number in range(len(ROWS))],
    }
)
SCHEMA = Schema([dv.Column("k", "text", values=["a", "b"])])


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for measure in (Ladder, Deviation):
        monkeypatch.setitem(MEASURES, measure.kind, measure)


def opened(folder: Path, **options: Any) -> dv.Session:
    given = {"budget": dv.Budget.pure(100), "schema": SCHEMA} | options
    if "unit" not in given:
        given["protects"] = "rows"
    return dv.Session(DATA, name="rows", ledger=folder / "rows.ledger", **given)


def test_several_numbers_of_one_cell_are_asked_through_a_session(tmp_path: Path) -> None:
    query = AskLadder("x", 0, 6, by=("k",))
    with opened(tmp_path) as session:
        # One row moves one integer of each level.
        assert session.price(query, noise=Geometric("0.5")).epsilon == 1
        (answer,) = session.batch([query], noise=Geometric("0.5"))
        assert [len(cell) for cell in answer.cells] == [7 + 4] * 2
        assert answer.keys[7:9] == [("b", 0), ("b", 1)]
        true = [sum(k == group and x <= top for x, k in ROWS) for group in "ab" for top in range(7)]
        bars = answer.bars("0.999999999", simultaneous=True)
        assert all(bar.low <= count <= bar.high for count, bar in zip(true, bars, strict=True))
        assert answer.table.column_names == ["k", "x up to", "value", "low", "high"]
        again = session.batch([query], noise=Geometric("0.5"))[0]
        assert again.stored
        assert again.cells == answer.cells
        assert len(json.loads(answer.to_json())["rows"]) == 14
        # Text, notebook and picture name all of them.
        assert "b, 6" in str(answer)
        assert "x up to" in answer._repr_html_()


def test_a_measure_of_three_sums_is_asked_through_a_session(tmp_path: Path) -> None:
    query = AskDeviation("x", 0, 10)
    with opened(tmp_path) as session:
        assert session.price(query, noise=Geometric(1)).epsilon == 3
        assert session.quote(query, noise=Geometric(1)).errors(Fraction(19, 20)) == (None,)
        (answer,) = session.batch([query], noise=Geometric(1))
        low, high = answer.interval(0.999999999)
        assert low <= pvariance([x for x, _ in ROWS]) <= high
        assert session.batch([query], spend=dv.Budget.pure("0.3"))[0].charge.epsilon_units == 300_000_000
        with pytest.raises(InvalidQuery, match="The error of a variance depends on the rows"):
            session.batch([query], within=1)


def test_the_noise_for_an_accuracy_is_found_from_the_measure_s_own_error(tmp_path: Path) -> None:
    query = AskLadder("x", 0, 6)
    with opened(tmp_path) as session:
        (answer,) = session.batch([query], within=20, probability=0.9)
    error = answer.query.measure.error
    wider = tuple(Geometric(noise.rates[0] * Fraction(999, 1000)) for noise in answer.noises)  # type: ignore[attr-defined]
    assert error(answer.noises, Fraction(1, 10)) <= 20 < error(wider, Fraction(1, 10))


def test_persons_are_bounded_by_the_cells_of_the_answer_not_by_the_parts_of_the_measure(
    tmp_path: Path,
) -> None:
    """Each person has 5 rows, with 5 values of x; 3 of them count, whatever their x is."""
    query = AskLadder("x", 0, 6, by=("k",))
    with opened(tmp_path, unit="person", max_rows=3, max_cells=1) as session:
        (answer,) = session.batch([query], noise=Geometric(2))
        assert answer.noises == (Geometric(2).stretched(3),) * 2
        assert answer.charge.epsilon_units == 4 * 10**9
        # A person's rows are of both groups, and of the one that is kept there may be one row only.
        total = answer.values()[6] + answer.values()[13]
        assert 400 - 60 <= total <= 1200 + 60
        with pytest.raises(InvalidParameter, match="grow outward"):
            session.batch([query], noise=PiecewiseGeometric([2, "0.5"], [3]))


def test_a_new_measure_is_read_back_from_the_ledger_and_put_in_words() -> None:
    table = Schema([*SCHEMA.columns, dv.Column("x", "integer")]).table()
    for query, words in (
        (AskLadder("x", 0, 2, by=("k",)), "rows up to each x by k"),
        (AskDeviation("x", 0, 9), "variance of x"),
    ):
        question = query.checked(table)
        assert read_question(question.to_dict()).to_dict() == question.to_dict()
        assert body_in_words(json.dumps({"asked": [{"question": question.to_dict()}]})) == words


KINDS: list[tuple[str, Any]] = [(k, x) for k in "ab" for x in (None, 0, 1, 2, 4)]


@pytest.mark.parametrize(
    "query",
    [
        AskLadder("x", 0, 3),
        AskLadder("x", 0, 3, by=("k",)),
        AskDeviation("x", 0, 4),
        AskDeviation("x", 0, 4, by=("k",)),
    ],
    ids=str,
)
def test_no_neighbour_moves_more_than_declared(query: Any) -> None:
    database = duckdb.connect()
    found, question = {}, None
    for number, rows in enumerate(tables(len(KINDS), 2)):
        database.execute(f"CREATE TABLE t{number} (k VARCHAR, x TINYINT)")
        for place in rows:
            database.execute(f"INSERT INTO t{number} VALUES (?, ?)", KINDS[place])
        engine = connect(Source.of(database, name="small", table=f"t{number}"))
        question = query.checked(SCHEMA.table(engine.columns()))
        found[rows] = true_cells(engine, question)
    assert question is not None
    for kind in NEIGHBOURS:
        listed, reached = moves(question, kind), set()
        for one, another in neighbouring(len(KINDS), 2, kind):
            change = changed(question, found[one], found[another])
            assert any(lies_below(change, move) for move in listed), (kind, one, another, change)
            reached |= {(at, abs(by)) for at, seen in enumerate(change) for by in seen}
        # The check has power: a smaller sensitivity of any component would fail.
        for component in range(len(units(question))):
            most = max(shift.by for move in listed for shift in move if shift.component == component)
            assert (component, most) in reached or kind == "replace"
